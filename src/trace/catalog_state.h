/* SPDX-License-Identifier: MIT */
/* catalog_state.h - what catalog.c gathers and catalog_query.c answers from. */
#pragma once

#include "base/containers.h"
#include "trace/stream.h"

/* A node of the tree of stacks, once no more are added. */
struct packed_node {
	uint32_t parent, frame;
};

/* A range within the phase `parent`; `frame`: the number of the frame that stands for it. */
struct phase {
	const char *name;
	uint32_t parent, frame;
};

struct gt_catalog {
	struct gt_recorded_module *modules;
	size_t module_count, module_room;
	struct gt_text_frame *text_frames;
	size_t text_frame_count, text_frame_room;
	struct gt_series *series;
	size_t series_count, series_room;
	struct phase *phases; /* number 0 is none */
	size_t phase_count, phase_room;
	const char **names; /* of resources */
	size_t name_count, name_room;
	/* key -> index in the arrays above */
	struct gt_intern *module_ids, *text_frame_ids, *series_ids, *name_ids, *phase_ids;
	/* bytes that are their own key */
	struct gt_intern *frames, *places, *texts;
	struct gt_stack_tree tree; /* of numbers of frames */
	uint32_t *stacks;          /* by number: its node */
	size_t stack_count, stack_room;
	uint32_t *stack_of; /* by node: the number of its stack; 0: none */
	size_t node_count;
	struct gt_intern *part_ids; /* struct part_key -> index in `parts` */
	uint32_t *parts;            /* numbers of stacks */
	size_t part_count, part_room;
	uint32_t *part_of; /* by stack: its index in `parts`, + 1; 0: it is whole */
	size_t part_of_size;
	struct packed_node *packed; /* instead of `tree` and `stack_of`, at a third of the memory */
	size_t packed_count;
	struct gt_trace_frame asked[GT_STACK_FRAMES_MAX]; /* of the latest gt_recording_stack */
};

/* A resource: no padding, as its bytes are interned. */
struct name_key {
	uint64_t process, handle, time_ns;
};

/* A part of a stack, or the stack itself in a phase: no padding, as its bytes are interned. */
struct part_key {
	uint32_t stack;
	struct gt_stack_part part;
	uint32_t ranges; /* the phase whose ranges follow its frames; 0: it is a part */
};
