/* SPDX-License-Identifier: MIT */
/* unfinished.c - calls that had not returned when their process ended. */
#include "trace/reader_state.h"

/* Reads the arguments of a lane's unfinished call; false if its trace has none. */
static bool read_arguments(struct gt_reader *r, const struct lane *lane)
{
	struct gt_trace_arguments *a = &r->arguments;
	uint32_t size = r->file.header.arguments_size;
	uint64_t end = lane->blocks[lane->block_count - 1].offset + lane->last_size;

	a->count = 0;
	if (size < sizeof *a || size > lane->last_size - sizeof(struct gt_block_header) ||
	    !gt_trace_file_read(&r->file, a, sizeof *a, end - size))
		return false;
	if (a->count > GT_ARGUMENTS_MAX)
		a->count = 0;
	return true;
}

/* The handle that a call is made on, if it is an argument; a creation's is not known yet. */
static uint64_t subject_of(const struct gt_function *fn, const struct gt_trace_arguments *a)
{
	bool is_argument = fn->effect != GT_CREATE && fn->handle.from == GT_IN;

	return is_argument && fn->handle.arg < a->count ? a->words[fn->handle.arg] : 0;
}

/* An event is recorded before its call is cleared as unfinished: a kill in between leaves both. */
static bool is_recorded(struct gt_reader *r, const struct lane *lane, const struct gt_event *open)
{
	const struct gt_event *last = &lane->ahead[lane->ahead_next ? lane->ahead_next - 1 : 0];

	if (read_arguments(r, lane))
		return lane->blocks[lane->block_count - 1].used > r->arguments.used;
	return last->function == open->function && last->handle == open->handle &&
	       last->time_ns == open->time_ns;
}

int gt_reader_unfinished(struct gt_reader *r, struct gt_event *e)
{
	const struct gt_definitions *d = &r->definitions;

	/* a process whose recording stopped went on, in other calls */
	if (r->file.header.state == GT_TRACE_STOPPED)
		return 0;
	while (r->unfinished_next < r->lane_count) {
		const struct lane *lane = &r->lanes[r->unfinished_next++];
		const struct gt_trace_inflight *in = &lane->inflight;

		if (!in->function || in->function > d->function_count ||
		    in->stack > d->stack_count || d->functions[in->function - 1] == GT_FN_NONE)
			continue;
		*e = (struct gt_event){ .function = d->functions[in->function - 1],
					.handle = in->handle,
					.time_ns = in->time_ns,
					.stack = in->stack,
					.tid = lane->tid,
					.phase = lane->phase,
					.unfinished = 1 };
		if (is_recorded(r, lane, e))
			continue;
		if (!e->handle)
			e->handle = subject_of(&gt_functions[e->function], &r->arguments);
		return 1;
	}
	return 0;
}

size_t gt_reader_arguments(const struct gt_reader *r, const uint64_t **words)
{
	*words = r->arguments.words;
	return r->arguments.count;
}
