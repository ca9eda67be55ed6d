/* SPDX-License-Identifier: MIT */
/*
 * stack_tree.h - stacks as a tree of frames: stacks share the frames of their common callers.
 *
 * A node is a frame and its caller's node; a stack is known by the node of its innermost frame. A
 * node takes 16 bytes and 4 to 8 for finding it. For the tool.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* Memory that several trees share. Zeroed: without limit. */
struct gt_stack_budget {
	size_t limit_bytes; /* 0: none */
	size_t used_bytes;
	uint64_t refused; /* stacks that did not fit */
};

struct gt_stack_node {
	uint64_t frame;
	uint32_t parent; /* 0: it is the outermost frame */
	uint32_t next;   /* in its bucket; 0: the last */
};

/* Zeroed is empty. `budget` may be NULL and must outlive the tree. */
struct gt_stack_tree {
	struct gt_stack_budget *budget;
	struct gt_stack_node *nodes; /* nodes[0] is unused */
	size_t count, room;          /* of nodes; `count` includes nodes[0] */
	uint32_t *buckets;
	size_t bucket_count; /* a power of two */
};

void gt_stack_tree_fini(struct gt_stack_tree *t);

/*
 * The node of a stack, given innermost frame first. Equal stacks have the same node. 0 for an empty
 * stack, and for a new one that would exceed the budget: then nothing is added.
 */
uint32_t gt_stack_tree_add(struct gt_stack_tree *t, const uint64_t *frames, size_t count);

/* The node of a frame that `parent` called; 0: it would exceed the budget. */
uint32_t gt_stack_tree_child(struct gt_stack_tree *t, uint32_t parent, uint64_t frame);

/* The frames of a node, innermost first, at most `most`; returns their number, 0 for node 0. */
size_t gt_stack_tree_get(const struct gt_stack_tree *t, uint32_t node, uint64_t *frames,
			 size_t most);

/* Bytes that the tree takes from its budget. */
size_t gt_stack_tree_bytes(const struct gt_stack_tree *t);
