/* SPDX-License-Identifier: MIT */
/* record.c - the agent's ring of recordings, and those that somebody has asked for. */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "agent/ring.h"
#include "base/process.h"
#include "cli/agent/agent.h"
#include "cli/agent/agent_recording.h"
#include "cli/agent/service.h"

enum {
	FULL_PART = 4,     /* a recording is ended when so much of its share is left */
	TRACES_MOST = 512, /* or when so many processes are in it */
	ASKED_MOST = 1 << 30,
};

#define AGAIN_NS 60000000000ull

static const char ring_name[] = "ring", asked_name[] = "asked";

static void folder_of(const struct gt_agent *a, const char *name, char *path, size_t size)
{
	snprintf(path, size, "%s/%s", a->settings.state, name);
}

static int make_folder(const struct gt_agent *a, const char *name, char *path, size_t size,
		       struct gt_error *error)
{
	/* the folder around it may be there, too */
	mkdir(a->settings.state, 0700);
	folder_of(a, name, path, size);
	if (mkdir(path, 0700) && errno != EEXIST)
		return gt_error_set(error, -errno,
				    "cannot make the folder %s: %s; --state chooses another", path,
				    strerror(errno));
	return 0;
}

/* The words of a stack that an earlier agent has recorded. */
static const struct gt_agent_stack *restored_words(void *context, uint16_t process, uint32_t stack)
{
	const struct gt_agent *a = context;

	return process < a->number_count ?
		       gt_agent_totals_stack_of(a->totals, a->numbers[process], stack) :
		       NULL;
}

static int begin(struct gt_agent *a, struct gt_agent_recording **out, const char *folder,
		 uint32_t pid, uint64_t max_bytes, struct gt_error *error)
{
	char path[PATH_MAX];

	gt_ring_name(folder, path, sizeof path);
	return gt_agent_recording_new(
		out,
		&(struct gt_agent_recorded){ .folder = path,
					     .pid = pid,
					     .max_bytes = max_bytes,
					     .board = a->live.board,
					     .processes = a->live.processes,
					     .process_count = a->live.process_count,
					     .restored = restored_words,
					     .context = a },
		error);
}

/* The next recording of the ring; the oldest make room for it. */
static int turn(struct gt_agent *a, struct gt_error *error)
{
	struct gt_agent_recording *next = NULL;
	uint64_t share = a->settings.keep / GT_RING_PARTS;
	char folder[PATH_MAX];
	int e;

	folder_of(a, ring_name, folder, sizeof folder);
	if (a->ring)
		gt_agent_recording_free(a->ring, 0);
	a->ring = NULL;
	gt_ring_trim(folder, a->settings.keep - share, NULL);
	e = begin(a, &next, folder, 0, share, error);
	a->ring = e ? NULL : next;
	return e;
}

/* What an earlier agent has recorded last. */
static void find_previous(struct gt_agent *a, const char *folder)
{
	char **names;
	size_t count = gt_ring_list(folder, &names);

	if (count)
		snprintf(a->previous, sizeof a->previous, "%s/%s", folder, names[count - 1]);
	gt_ring_list_free(names, count);
}

int gt_agent_record_init(struct gt_agent *a, struct gt_error *error)
{
	char folder[PATH_MAX];
	int e = 0;

	if (a->settings.keep)
		e = make_folder(a, ring_name, folder, sizeof folder, error);
	if (!e && a->settings.keep) {
		find_previous(a, folder);
		e = turn(a, error);
	}
	/* of an agent that was killed meanwhile */
	folder_of(a, asked_name, folder, sizeof folder);
	gt_ring_trim(folder, 0, NULL);
	return e;
}

void gt_agent_record_event(struct gt_agent *a, struct gt_traced *process, const struct gt_event *e)
{
	if (a->ring)
		gt_agent_recording_event(a->ring, process, e);
	for (size_t i = 0; i < GT_AGENT_ASKED; i++)
		if (a->asked[i].recording)
			gt_agent_recording_event(a->asked[i].recording, process, e);
}

void gt_agent_record_ended(struct gt_agent *a, struct gt_traced *process)
{
	if (a->ring)
		gt_agent_recording_ended(a->ring, process);
	for (size_t i = 0; i < GT_AGENT_ASKED; i++)
		if (a->asked[i].recording)
			gt_agent_recording_ended(a->asked[i].recording, process);
}

/* Ends a recording that was asked for; its folder, for whom it was made, or NULL. */
static void finish(struct gt_agent *a, struct gt_agent_asked *asked, char *path, size_t size)
{
	snprintf(path, size, "%s", gt_agent_recording_folder(asked->recording));
	gt_agent_recording_free(asked->recording, gt_tracer_lost(a->tracer) - asked->lost);
	*asked = (struct gt_agent_asked){ 0 };
}

/* True once what was restored has names: a recording that begins now has them, too. */
static bool has_new_names(struct gt_agent *a)
{
	struct gt_agent_key key;
	uint32_t at = 0;

	if (!a->has_restored || a->namer.child || a->fed_ns <= a->turned_ns ||
	    gt_agent_totals_unnamed(a->totals, &at, &key))
		return false;
	a->has_restored = false;
	return true;
}

void gt_agent_record_tick(struct gt_agent *a, uint64_t now_ns)
{
	uint64_t share = a->settings.keep / GT_RING_PARTS;
	struct gt_error error = { "" };
	char path[PATH_MAX];
	size_t traces;

	for (size_t i = 0; i < GT_AGENT_ASKED; i++) {
		struct gt_agent_asked *asked = &a->asked[i];
		struct gt_control_client *client = asked->client;

		if (!asked->recording ||
		    (now_ns < asked->until_ns && !gt_agent_recording_is_over(asked->recording)))
			continue;
		finish(a, asked, path, sizeof path);
		gt_control_answer(client, 0, path);
	}
	if (!a->settings.keep ||
	    (a->ring && !has_new_names(a) && !gt_agent_recording_is_over(a->ring) &&
	     gt_agent_recording_bytes(a->ring, &traces) < share - share / FULL_PART &&
	     traces < TRACES_MOST))
		return;
	/* a disk that is full is not asked all the time */
	if (now_ns < a->turned_ns + (a->ring_failed ? AGAIN_NS : 0))
		return;
	a->turned_ns = now_ns;
	a->ring_failed = turn(a, &error) != 0;
	if (a->ring_failed)
		gt_service_log(GT_LEVEL_WARNING, "%s; nothing is kept until it works again",
			       error.text);
}

/* True if a process with this pid is followed. */
static bool is_followed(const struct gt_agent *a, uint32_t pid)
{
	for (size_t i = 0; i < a->live.process_count; i++)
		if (a->live.processes[i] && a->live.processes[i]->pid == pid)
			return true;
	return false;
}

int gt_agent_record_cut(struct gt_agent *a, uint32_t pid, FILE *out)
{
	struct gt_error error = { "" };
	char path[PATH_MAX];
	int e;

	if (!a->ring || !is_followed(a, pid)) {
		fprintf(out, "process %u is not being recorded", pid);
		return -ESRCH;
	}
	snprintf(path, sizeof path, "%s", gt_agent_recording_folder(a->ring));
	e = turn(a, &error);
	fputs(e ? error.text : path, out);
	return e;
}

int gt_agent_record_ask(struct gt_agent *a, struct gt_control_client *client, uint32_t pid,
			double seconds, FILE *out)
{
	struct gt_error error = { "" };
	struct gt_agent_asked *asked = NULL;
	char path[PATH_MAX];
	int e;

	for (size_t i = 0; i < GT_AGENT_ASKED; i++)
		if (!a->asked[i].recording)
			asked = &a->asked[i];
	if (!is_followed(a, pid)) {
		fprintf(out, "process %u has made no GPU call that the agent has seen", pid);
		return -ESRCH;
	}
	if (!asked) {
		fputs("the agent makes as many recordings as it may: try again later", out);
		return -EBUSY;
	}
	e = make_folder(a, asked_name, path, sizeof path, &error);
	if (!e)
		e = begin(a, &asked->recording, path, pid, ASKED_MOST, &error);
	if (e) {
		fputs(error.text, out);
		return e;
	}
	asked->client = client;
	asked->lost = gt_tracer_lost(a->tracer);
	asked->until_ns = gt_now_ns() + (uint64_t)(seconds * 1e9);
	if (seconds > 0)
		return 1;
	finish(a, asked, path, sizeof path);
	fputs(path, out);
	return 0;
}

void gt_agent_record_left(struct gt_agent *a, const struct gt_control_client *client)
{
	char path[PATH_MAX];

	for (size_t i = 0; i < GT_AGENT_ASKED; i++)
		if (a->asked[i].recording && a->asked[i].client == client) {
			finish(a, &a->asked[i], path, sizeof path);
			gt_ring_remove(path);
		}
}

void gt_agent_record_fini(struct gt_agent *a)
{
	char path[PATH_MAX];

	for (size_t i = 0; i < GT_AGENT_ASKED; i++)
		if (a->asked[i].recording)
			finish(a, &a->asked[i], path, sizeof path);
	if (a->ring)
		gt_agent_recording_free(a->ring, gt_tracer_lost(a->tracer));
	a->ring = NULL;
}
