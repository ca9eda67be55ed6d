/* SPDX-License-Identifier: MIT */
/* model_recording.c - a random program as a recording, as its writers would leave it, and damaged.
 */
#include "model_recording.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/process.h"
#include "trace/info.h"
#include "trace/writer_state.h"

enum { MODEL_BLOCKS = 512, FAR_FUTURE_S = 4000000000 };

enum damage {
	LOSE_TIMED,
	LOSE_UNTIMED,
	LOSE_ELSEWHERE, /* in no process's trace: attach's ring was full */
	ZERO_BLOCKS,
	CUT_OUT_BLOCKS,
	CUT_FILE,
	CHANGE_BYTES,
	ZERO_DEFINITIONS,
	DAMAGES,
};

static const char *const damage_names[DAMAGES] = {
	[LOSE_TIMED] = "lost events",
	[LOSE_UNTIMED] = "lost events, nobody knows when",
	[LOSE_ELSEWHERE] = "events lost by some process",
	[ZERO_BLOCKS] = "zeroed blocks",
	[CUT_OUT_BLOCKS] = "blocks cut out",
	[CUT_FILE] = "a cut file",
	[CHANGE_BYTES] = "changed bytes",
	[ZERO_DEFINITIONS] = "zeroed definitions",
};

static int by_return(const void *a, const void *b)
{
	const struct model_call *x = a, *y = b;

	return x->returned_ns < y->returned_ns ? -1 : x->returned_ns > y->returned_ns;
}

static void put_info(struct gt_writer *w, const char *key, const char *value)
{
	gt_writer_info(w, key, value, strlen(value));
}

static uint32_t stack_number(struct gt_writer *w, uint64_t frame)
{
	uint64_t frames[] = { frame, 0x42 };

	return gt_writer_stack(w, frames, 2);
}

static void damage_from(struct model_process *p, enum damage damage, uint64_t first_ns,
			uint64_t last_ns)
{
	p->damage = damage_names[damage];
	if (!p->loss_first || first_ns < p->loss_first)
		p->loss_first = first_ns;
	if (last_ns > p->loss_last)
		p->loss_last = last_ns;
}

static void lose(struct gt_writer *w, struct model_process *p, struct model_call *call,
		 enum damage damage)
{
	uint64_t time_ns = call->event.time_ns;

	call->is_lost = true;
	if (damage == LOSE_TIMED)
		gt_writer_lose_between(w, 1, time_ns, time_ns);
	else if (damage == LOSE_UNTIMED)
		w->header->lost++;
	if (damage == LOSE_UNTIMED)
		damage_from(p, damage, 0, UINT64_MAX);
	else
		damage_from(p, damage, time_ns, time_ns);
}

/* Writes the calls as they returned; those between two of them may be lost. */
static void write_calls(struct model_program *g, struct model_process *p, struct gt_writer *w,
			struct gt_lane *lanes[], enum damage damage)
{
	int first = (int)model_random(g, (uint64_t)p->call_count + 1);
	int last = first + (int)model_random(g, 40), recorded = 0;

	if (p->is_late)
		recorded = (int)model_random(g, (uint64_t)p->call_count + 1);
	for (int i = 0; i < p->call_count; i++) {
		struct model_call *call = &p->calls[i];
		struct gt_lane *lane = lanes[call->lane];

		if (i < recorded) {
			call->is_lost = true;
			continue;
		}
		if (damage <= LOSE_ELSEWHERE && i >= first && i < last && model_random(g, 2)) {
			lose(w, p, call, damage);
			continue;
		}
		if (!model_random(g, 12) && lane->block)
			gt_block_open(lane);
		if (!model_random(g, 30))
			gt_block_open(&w->definitions);
		call->event.stack = stack_number(w, call->frame);
		gt_lane_event(lane, &call->event);
		if (w->error)
			call->is_lost = true;
		else
			call->block = lane->block->sequence;
	}
}

static void tell_end(const char *folder, const struct model_process *p, const char *how)
{
	char path[256];
	FILE *ends;

	snprintf(path, sizeof path, "%s/" GT_ENDS_FILE, folder);
	ends = fopen(path, "ae");
	assert_non_null(ends);
	if (!ftell(ends))
		fputs(GT_ENDS_MAGIC, ends);
	if (p->end != END_EXIT)
		fprintf(ends, "%" PRIu32 ".trace %" PRIu64 "\n", p->pid, p->end_ns);
	if (how)
		fprintf(ends, "%" PRIu32 ".trace %s\n", p->pid, how);
	fclose(ends);
}

static void end_process(struct model_program *g, struct model_process *p, struct gt_writer *w,
			const char *folder)
{
	switch (p->end) {
	case END_EXIT:
		gt_writer_end_at(w, p->end_ns);
		if (model_random(g, 2))
			tell_end(folder, p, "exit 3");
		break;
	case END_QUICK: tell_end(folder, p, "exit 0"); break;
	case END_EXEC: tell_end(folder, p, "exec 0"); break;
	case END_SIGNAL:
		if (model_random(g, 4))
			tell_end(folder, p, "signal 9");
		else
			put_info(w, "signal", "11");
		break;
	case END_UNKNOWN:
		if (model_random(g, 2))
			tell_end(folder, p, NULL);
		break;
	case END_DETACHED:
		put_info(w, "went_on", "1");
		gt_writer_end_at(w, p->end_ns);
		break;
	case END_RUNNING:
	case END_STOPPED:
	case MODEL_ENDS: break;
	}
}

static struct gt_writer *open_writer(struct model_program *g, struct model_process *p,
				     const char *path)
{
	struct gt_writer_options options = { .pid = p->pid,
					     .ppid = p->ppid,
					     .start_ns = p->start_ns,
					     .start_real_ns = UINT64_C(1000000000) * FAR_FUTURE_S };
	struct gt_writer *w;

	if (p->end == END_STOPPED && model_random(g, 2))
		options.max_bytes = GT_TRACE_HEADER + GT_BLOCK_MIN * (4 + model_random(g, 40));
	else if (p->end == END_STOPPED)
		options.until_ns = p->start_ns + model_random(g, p->end_ns - p->start_ns);
	assert_int_equal(gt_writer_open(&w, path, &options), 0);
	return w;
}

static void write_process(struct model_program *g, struct model_process *p, const char *folder,
			  const char *path, enum damage damage)
{
	struct gt_lane *lanes[MODEL_LANES];
	struct gt_writer *w = open_writer(g, p, path);
	struct utsname system;

	assert_int_equal(uname(&system), 0);
	put_info(w, "program", "/bin/program");
	if (p->end == END_RUNNING) {
		put_info(w, "host", system.nodename);
		put_info(w, "boot", gt_boot_id());
	}
	if (p->is_late)
		put_info(w, "late", "1");
	for (int i = 0; i < p->lane_count; i++) {
		lanes[i] = gt_lane_acquire(w, p->pid + (uint32_t)i, "worker");
		assert_non_null(lanes[i]);
	}
	qsort(p->calls, (size_t)p->call_count, sizeof *p->calls, by_return);
	write_calls(g, p, w, lanes, damage);
	for (int i = 0; i < p->lane_count; i++) {
		if (p->is_open[i]) {
			p->open[i].stack = stack_number(w, p->open_frame[i]);
			gt_lane_enter(lanes[i], &p->open[i], NULL, 0, &lanes[i]);
		} else if (model_random(g, 2)) {
			gt_lane_release(lanes[i]);
			p->has_left[i] = true;
		}
	}
	if (p->damage == damage_names[LOSE_UNTIMED])
		w->header->lost_first_ns = w->header->lost_last_ns = 0; /* an older version */
	end_process(g, p, w, folder);
	/* nothing was left to write: its recording did not stop, but nobody saw its end */
	if (p->end == END_STOPPED && !w->error)
		p->end = END_UNKNOWN;
	gt_writer_free(w);
}

/* A block of a trace's file. */
struct block {
	uint64_t offset;
	struct gt_block_header header;
	bool is_last; /* of its lane */
};

static int find_blocks(struct block blocks[MODEL_BLOCKS], const uint8_t *bytes, size_t size)
{
	int count = 0;

	for (uint64_t at = GT_TRACE_HEADER; at + sizeof blocks[0].header <= size;) {
		struct block *b = &blocks[count];

		memcpy(&b->header, bytes + at, sizeof b->header);
		if (b->header.magic != GT_BLOCK_MAGIC || count == MODEL_BLOCKS - 1)
			break;
		b->offset = at;
		b->is_last = true;
		for (int i = 0; i < count; i++)
			if (blocks[i].header.lane == b->header.lane)
				blocks[i].is_last = false;
		at += b->header.size;
		count++;
	}
	return count;
}

/* The calls of a block are gone; the reader may know from when to when. */
static void lose_block(struct model_process *p, const struct block *b, enum damage damage,
		       bool is_bounded)
{
	uint64_t last_ns = b->header.time_ns;

	for (int i = 0; i < p->call_count; i++) {
		struct model_call *call = &p->calls[i];

		/* lanes are numbered by their first blocks, which all have from their start */
		if (call->lane + 1 != (int)b->header.lane || call->block != b->header.sequence ||
		    call->is_lost)
			continue;
		call->is_lost = true;
		last_ns = call->event.time_ns;
	}
	damage_from(p, damage, b->header.time_ns, is_bounded ? last_ns : UINT64_MAX);
}

/* A random block of events, or of definitions; NULL: there is none left. */
static struct block *pick_block(struct model_program *g, struct block *blocks, int count,
				bool of_events)
{
	struct block *b = &blocks[model_random(g, (uint64_t)count)];

	return of_events == !!b->header.lane && b->offset ? b : NULL;
}

static size_t damage_blocks(struct model_program *g, struct model_process *p, uint8_t *bytes,
			    size_t size, enum damage damage)
{
	struct block blocks[MODEL_BLOCKS];
	int count = find_blocks(blocks, bytes, size), times = 1 + (int)model_random(g, 3);

	while (count && times--) {
		struct block *b = pick_block(g, blocks, count, damage != ZERO_DEFINITIONS);

		if (!b || (damage == CUT_OUT_BLOCKS && b->is_last) ||
		    (damage == CHANGE_BYTES && (!b->header.used || !b->header.hash)))
			continue;
		lose_block(p, b, damage, damage == ZERO_BLOCKS && !b->is_last);
		if (damage == CHANGE_BYTES) {
			bytes[b->offset + sizeof b->header + model_random(g, b->header.used)] ^=
				(uint8_t)(1u << model_random(g, 8));
		} else if (damage == CUT_OUT_BLOCKS) {
			memmove(bytes + b->offset, bytes + b->offset + b->header.size,
				size - b->offset - b->header.size);
			size -= b->header.size;
			break;
		} else {
			memset(bytes + b->offset, 0, b->header.size);
		}
		b->offset = 0;
	}
	return size;
}

static size_t cut_file(struct model_program *g, struct model_process *p, const uint8_t *bytes,
		       size_t size)
{
	struct gt_trace_header h;

	memcpy(&h, bytes, sizeof h);
	if (h.blocks_end > size || h.blocks_end <= GT_TRACE_HEADER)
		return size;
	damage_from(p, CUT_FILE, 0, UINT64_MAX);
	return GT_TRACE_HEADER + model_random(g, h.blocks_end - GT_TRACE_HEADER);
}

static uint8_t *read_file(const char *path, size_t *size)
{
	FILE *in = fopen(path, "re");
	struct stat st;
	uint8_t *bytes;

	assert_non_null(in);
	assert_int_equal(fstat(fileno(in), &st), 0);
	*size = (size_t)st.st_size;
	bytes = malloc(*size);
	assert_non_null(bytes);
	assert_int_equal(fread(bytes, 1, *size, in), *size);
	fclose(in);
	return bytes;
}

static void write_file(const char *path, const uint8_t *bytes, size_t size)
{
	FILE *out = fopen(path, "we");

	assert_non_null(out);
	assert_int_equal(fwrite(bytes, 1, size, out), size);
	fclose(out);
}

static void damage_file(struct model_program *g, struct model_process *p, const char *path,
			enum damage damage)
{
	size_t size;
	uint8_t *bytes = read_file(path, &size);

	size = damage == CUT_FILE ? cut_file(g, p, bytes, size) :
				    damage_blocks(g, p, bytes, size, damage);
	write_file(path, bytes, size);
	free(bytes);
}

/* What the tracer lost of any process, it notes for the whole recording. */
static void write_info(const struct model_program *program, const char *folder)
{
	uint64_t lost = 0, first_ns = UINT64_MAX, last_ns = 0;
	struct gt_info *info = gt_info_new();
	struct gt_error error;
	char path[256];

	for (int i = 0; i < program->process_count; i++) {
		const struct model_process *p = &program->processes[i];

		for (int k = 0; k < p->call_count; k++)
			lost += p->calls[k].is_lost;
		if (p->damage != damage_names[LOSE_ELSEWHERE])
			continue;
		first_ns = p->loss_first < first_ns ? p->loss_first : first_ns;
		last_ns = p->loss_last > last_ns ? p->loss_last : last_ns;
	}
	if (last_ns) {
		gt_info_setf(info, "lost", "%" PRIu64, lost);
		gt_info_setf(info, "lost_first_ns", "%" PRIu64, first_ns);
		gt_info_setf(info, "lost_last_ns", "%" PRIu64, last_ns);
		snprintf(path, sizeof path, "%s/info", folder);
		assert_int_equal(gt_info_write(info, path, &error), 0);
	}
	gt_info_free(info);
}

void model_recording_write(struct model_program *program, const char *folder, bool damages)
{
	bool has_running = false, loses_elsewhere = false;
	uint64_t first_ns = 0, last_ns = 0;

	assert_int_equal(mkdir(folder, 0700), 0);
	for (int i = 0; i < program->process_count; i++) {
		struct model_process *p = &program->processes[i];
		enum damage damage = (enum damage)model_random(program, 2 * DAMAGES);
		char path[256];

		if (p->end == END_RUNNING && !has_running) {
			has_running = true;
			p->pid = (uint32_t)getpid();
		} else if (p->end == END_RUNNING) {
			p->end = END_UNKNOWN;
		}
		p->is_late = damages && !model_random(program, 10);
		if (!damages)
			damage = DAMAGES;
		snprintf(path, sizeof path, "%s/%" PRIu32 ".trace", folder, p->pid);
		write_process(program, p, folder, path, damage);
		if (damage > LOSE_ELSEWHERE && damage < DAMAGES)
			damage_file(program, p, path, damage);
		if (p->damage == damage_names[LOSE_ELSEWHERE]) {
			first_ns = first_ns && first_ns < p->loss_first ? first_ns : p->loss_first;
			last_ns = p->loss_last > last_ns ? p->loss_last : last_ns;
			loses_elsewhere = true;
		}
	}
	write_info(program, folder);
	for (int i = 0; loses_elsewhere && i < program->process_count; i++)
		damage_from(&program->processes[i], LOSE_ELSEWHERE, first_ns, last_ns);
}
