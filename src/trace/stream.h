/* SPDX-License-Identifier: MIT */
/*
 * stream.h - a recording on the inside: recording.c finds its traces and answers questions about
 * them, stream.c merges their events.
 */
#pragma once

#include "base/containers.h"
#include "trace/ends.h"
#include "trace/info.h"
#include "trace/names.h"
#include "trace/numbers.h"
#include "trace/recording.h"

/* One process's trace: opened when the stream reaches its start, closed when it has ended. */
struct gt_source_trace {
	struct gt_process process;
	bool beside; /* no process: what was measured beside them all */
	bool empty;  /* a process that starts just now, or was killed when it did */
	bool beyond; /* more processes than are read */
	bool runs;   /* it went on when its trace was opened */
	char *path;
	struct gt_reader *reader;
	struct gt_numbers_map map;
	struct gt_event next;
	uint64_t key; /* time of `next`; the process's start while it is not open */
};

struct gt_recording {
	char *path;
	struct gt_info *info;
	struct gt_ends *ends;
	struct gt_source_trace *sources;
	size_t source_count, source_room;
	uint32_t pid;            /* of the only process that was asked for; 0: all */
	size_t process_count;    /* of the sources; those after them hold samples alone */
	uint64_t lost_elsewhere; /* by processes that are left out */
	struct gt_heap heap;     /* sources by key */
	struct gt_heap ended;    /* sources without further events, by the end of their process */
	gt_process_end_fn *on_end;
	void *on_end_context;
	gt_sample_fn *on_sample;
	void *on_sample_context;
	struct gt_numbers *numbers;
	struct gt_names *names;
};

/* Lets go of its file; what it said of its process stays. */
void gt_source_trace_close(struct gt_source_trace *s);
