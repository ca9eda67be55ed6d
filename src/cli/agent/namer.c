/* SPDX-License-Identifier: MIT */
/* namer.c - the words of new call stacks, found by a child of the agent. */
#include "cli/agent/namer.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/containers.h"
#include "base/mem.h"
#include "base/process.h"
#include "cli/agent/agent.h"
#include "cli/agent/restore.h"
#include "replay/place.h"

enum {
	BATCH = 256,          /* stacks that a child names */
	BYTES_MOST = 8 << 20, /* of their words */
	CPU_S = 20,
	SHARE = 20, /* a child at most this part of the time */
	FRAMES = 128,
};

#define TIME_NS  30000000000ull
#define PAUSE_NS 1000000000ull

static const char unnameable[] = "(no names)";

/* A stack's words, from the child to the agent: numbers and texts, each text after its length. */
static void put_number(FILE *out, uint64_t value)
{
	uint8_t bytes[GT_VARINT_MAX];
	const uint8_t *end = gt_put_varint(bytes, value);

	fwrite(bytes, 1, (size_t)(end - bytes), out);
}

static void put_text(FILE *out, const char *text)
{
	size_t size = text ? strnlen(text, GT_AGENT_TEXT) : 0;

	put_number(out, size);
	fwrite(text, 1, size, out);
}

/* What has the frames of a stack, and its number there; NULL: nothing is known. */
static struct gt_frames *frames_of(struct gt_agent *a, uint32_t stack, uint16_t process,
				   uint32_t *number)
{
	struct gt_live_names names = gt_attach_live_names(&a->live);

	if (process == GT_BOARD_ALL)
		return NULL;
	if (gt_stack_is_restored(stack)) {
		*number = stack & ~GT_RESTORED;
		return gt_agent_restored_frames(a, a->live.processes[process]->pid);
	}
	return names.find(names.context, process, stack, number);
}

static void put_stack(struct gt_agent *a, FILE *out, const struct gt_agent_key *key,
		      uint16_t process)
{
	uint32_t number;
	struct gt_frames *f = frames_of(a, key->stack, process, &number);
	const struct gt_frame *frames;
	struct gt_frame at = { 0 };
	size_t count = f ? gt_frames_get(f, number, &frames) : 0;
	/* what has no words is not asked for again */
	char *place = f ? gt_place_text(f, number, true) : gt_strdup(unnameable);

	if (f)
		gt_place_frame(f, number, &at);
	if (count > FRAMES)
		count = FRAMES;
	put_number(out, key->process);
	put_number(out, key->stack);
	put_text(out, place);
	put_text(out, at.function);
	put_text(out, at.file);
	put_number(out, at.line);
	put_number(out, count);
	for (size_t i = 0; i < count; i++) {
		put_text(out, frames[i].function);
		put_text(out, frames[i].file);
		put_number(out, frames[i].line);
		put_text(out, frames[i].module);
		put_number(out, frames[i].offset);
		put_number(out, frames[i].inlined);
	}
	free(place);
	fflush(out);
}

/* The board's number of a process of the totals; GT_BOARD_ALL: it has none. */
static uint16_t on_board(const struct gt_agent *a, uint32_t process)
{
	for (size_t i = 0; i < a->number_count && process; i++)
		if (a->numbers[i] == process && a->live.processes[i])
			return (uint16_t)i;
	return GT_BOARD_ALL;
}

static void limit(int what, rlim_t value)
{
	setrlimit(what, &(struct rlimit){ .rlim_cur = value, .rlim_max = value });
}

static void work(struct gt_agent *a, int to)
{
	FILE *out = fdopen(to, "w");
	struct gt_agent_key key;
	uint32_t at = 0;
	int fd;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	/* whoever asks is not to wait for us */
	if (a->control.listener >= 0)
		close(a->control.listener);
	limit(RLIMIT_CPU, CPU_S);
	limit(RLIMIT_CORE, 0);
	setpriority(PRIO_PROCESS, 0, 10);
	/* it is the first to go where memory is short */
	fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
	if (fd >= 0)
		(void)!write(fd, "1000", 4);
	for (int named = 0; out && named < BATCH && gt_agent_totals_unnamed(a->totals, &at, &key);
	     named++)
		put_stack(a, out, &key, on_board(a, key.process));
	_exit(0);
}

void gt_namer_start(struct gt_agent *a, uint64_t now_ns)
{
	struct gt_namer *n = &a->namer;
	struct gt_agent_key key;
	uint32_t at = 0;
	int ends[2];

	if (!gt_namer_is_free(n, now_ns) || !gt_agent_totals_unnamed(a->totals, &at, &key) ||
	    pipe2(ends, O_CLOEXEC))
		return;
	n->child = fork();
	if (!n->child) {
		close(ends[0]);
		work(a, ends[1]);
	}
	close(ends[1]);
	if (n->child < 0) {
		close(ends[0]);
		n->child = 0;
		n->failures++;
		n->next_ns = now_ns + PAUSE_NS;
		return;
	}
	fcntl(ends[0], F_SETFL, O_NONBLOCK);
	n->pipe = ends[0];
	n->begun_ns = now_ns;
	n->size = 0;
}

/* A text that the child has sent, in `to`. False: it is damaged. */
static bool take_text(struct gt_bytes *b, struct gt_arena *texts, const char **to)
{
	size_t size = gt_get_varint(b);
	char *copy;

	if (b->bad || size > GT_AGENT_TEXT || size > gt_bytes_left(b))
		return false;
	copy = gt_arena_alloc(texts, size + 1);
	memcpy(copy, b->at, size);
	b->at += size;
	*to = size ? copy : NULL;
	return true;
}

/* The words of one stack. */
static bool take_stack(struct gt_agent *a, struct gt_bytes *b, struct gt_arena *texts)
{
	uint32_t process = (uint32_t)gt_get_varint(b), stack = (uint32_t)gt_get_varint(b);
	struct gt_frame frames[FRAMES] = { 0 };
	struct gt_agent_name name = { .frames = frames };

	if (!take_text(b, texts, &name.place) || !take_text(b, texts, &name.function) ||
	    !take_text(b, texts, &name.file))
		return false;
	name.line = (uint32_t)gt_get_varint(b);
	name.count = gt_get_varint(b);
	if (b->bad || name.count > FRAMES)
		return false;
	for (size_t i = 0; i < name.count; i++) {
		if (!take_text(b, texts, &frames[i].function) ||
		    !take_text(b, texts, &frames[i].file))
			return false;
		frames[i].line = (uint32_t)gt_get_varint(b);
		if (!take_text(b, texts, &frames[i].module))
			return false;
		frames[i].offset = gt_get_varint(b);
		frames[i].inlined = gt_get_varint(b);
	}
	if (b->bad)
		return false;
	gt_agent_totals_name(a->totals, process, stack, &name);
	return true;
}

/* The stack that the child did not survive must not stop those behind it. */
static void skip_first(struct gt_agent *a)
{
	struct gt_agent_key key;
	uint32_t at = 0;

	if (gt_agent_totals_unnamed(a->totals, &at, &key))
		gt_agent_totals_name(a->totals, key.process, key.stack,
				     &(struct gt_agent_name){ .place = unnameable });
}

static void finish(struct gt_agent *a, uint64_t now_ns)
{
	struct gt_namer *n = &a->namer;
	struct gt_bytes b = { .at = n->bytes, .end = n->bytes + n->size };
	uint64_t took = now_ns - n->begun_ns;
	int status;

	while (gt_bytes_left(&b)) {
		struct gt_arena texts = { 0 };
		bool is_whole = take_stack(a, &b, &texts);

		gt_arena_fini(&texts);
		if (!is_whole)
			break;
	}
	close(n->pipe);
	kill(n->child, SIGKILL);
	waitpid(n->child, &status, 0);
	if (!WIFEXITED(status)) {
		n->failures++;
		skip_first(a);
	}
	n->child = 0;
	/* what the last one could not name is not tried again at once */
	n->next_ns = now_ns + PAUSE_NS + SHARE * took;
	free(n->bytes);
	n->bytes = NULL;
	n->size = n->room = 0;
}

void gt_namer_take(struct gt_agent *a, uint64_t now_ns)
{
	struct gt_namer *n = &a->namer;

	while (n->child) {
		ssize_t got;

		if (n->size == n->room)
			n->bytes = gt_realloc(n->bytes, n->room = n->room ? n->room * 2 : 1 << 16);
		got = read(n->pipe, n->bytes + n->size, n->room - n->size);
		if (got > 0)
			n->size += (size_t)got;
		if ((got < 0 && (errno == EAGAIN || errno == EINTR)) &&
		    now_ns - n->begun_ns < TIME_NS)
			return;
		if (got <= 0 || n->size > BYTES_MOST)
			finish(a, now_ns);
	}
}

void gt_namer_fini(struct gt_namer *n)
{
	if (n->child) {
		kill(n->child, SIGKILL);
		waitpid(n->child, NULL, 0);
		close(n->pipe);
	}
	n->child = 0;
	free(n->bytes);
}
