/* SPDX-License-Identifier: MIT */
/*
 * traced_stacks.h - the stacks of a traced process, and their numbers.
 *
 * A stack is known by the code it leads through, not by its addresses: one that leads through a
 * library has the same number after the library was unloaded and loaded elsewhere.
 */
#pragma once

#include "capture/ebpf/modules.h"
#include "trace/stack_tree.h"

/* Zeroed is empty, and without a budget. */
struct gt_traced_stacks {
	struct gt_stack_tree tree;
	uint32_t *numbers; /* by node; 0: none */
	size_t number_count;
	uint32_t *nodes; /* by number; 0: none */
	size_t node_count;
	size_t arrays_bytes;            /* of these two, taken from the tree's budget */
	uint32_t last;                  /* the highest number */
	struct gt_recent_stack *recent; /* by hash of addresses, as they mean code now */
	size_t recent_count;            /* a power of two, or 0 */
};

void gt_traced_stacks_fini(struct gt_traced_stacks *s);

/* The number of a stack that was set for these addresses lately; 0: unknown. */
uint32_t gt_traced_stacks_recent(const struct gt_traced_stacks *s, uint64_t key);
/* The same addresses may now mean other code. */
void gt_traced_stacks_moved(struct gt_traced_stacks *s);

/* The node of a stack; 0 if the budget is used up. */
uint32_t gt_traced_stacks_node(struct gt_traced_stacks *s, const struct gt_modules *modules,
			       const uint64_t *addresses, size_t count);
/* The number of a node; 0: it has none yet. */
uint32_t gt_traced_stacks_number(const struct gt_traced_stacks *s, uint32_t node);
/* Gives a number to a node, and remembers it for these addresses. */
void gt_traced_stacks_set(struct gt_traced_stacks *s, uint32_t node, uint64_t key, uint32_t number);

/* A place in the code. */
struct gt_traced_frame {
	struct gt_image *image; /* NULL: unknown */
	uint64_t address;       /* in the image's file; without an image as it was recorded */
	const struct gt_text_frame *text; /* of a frame that is no address; NULL: none */
};

/* The frames of a number, innermost first, at most `most`; returns how many. */
size_t gt_traced_stacks_get(const struct gt_traced_stacks *s, const struct gt_images *images,
			    uint32_t number, struct gt_traced_frame *frames, size_t most);
