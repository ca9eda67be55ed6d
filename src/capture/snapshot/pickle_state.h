/* SPDX-License-Identifier: MIT */
/* pickle_state.h - the stack machine of a pickle: values, objects under construction, the memo. */
#pragma once

#include "base/containers.h"
#include "capture/snapshot/pickle.h"
#include "capture/snapshot/pickle_input.h"
#include "capture/snapshot/pickle_memo.h"

/* Structures within each other: snapshots have six. */
enum { GT_PICKLE_MARKS = 256 };

/* A list or dictionary under construction. */
struct gt_pickle_object {
	size_t position; /* on the stack */
	uint64_t memo;   /* + 1; 0: it has no number */
	uint32_t next;   /* of the free ones: + 1 */
};

struct gt_pickle_dict {
	struct gt_pickle_object o;
	struct gt_dict dict;
};

struct gt_pickle_list {
	struct gt_pickle_object o;
	struct gt_list list;
};

struct gt_pickle {
	struct gt_pickle_options options;
	struct gt_pickle_input in;
	struct gt_error *error;
	struct gt_intern *texts;
	struct gt_pickle_memo memo;
	struct gt_value *stack;
	size_t depth, room;
	size_t marks[GT_PICKLE_MARKS]; /* the stack's depth at each */
	size_t mark_count;
	struct gt_pickle_dict **dicts;
	struct gt_pickle_list **lists;
	size_t dict_count, dict_room, list_count, list_room;
	uint32_t free_dict, free_list; /* + 1 */
};

/* What opcodes do. Each returns 0, or -errno and the error. */
int gt_pickle_push(struct gt_pickle *p, struct gt_value v);
int gt_pickle_push_dict(struct gt_pickle *p);
int gt_pickle_push_list(struct gt_pickle *p);
int gt_pickle_push_mark(struct gt_pickle *p);
/* Gives the value on top a number, and pushes what has one. */
int gt_pickle_put(struct gt_pickle *p, uint64_t number);
int gt_pickle_get(struct gt_pickle *p, uint64_t number);
/* Builds something of the values after the top mark, or of the last `count`. */
typedef int gt_pickle_build_fn(struct gt_pickle *p, size_t from);
gt_pickle_build_fn gt_pickle_append, gt_pickle_set_items, gt_pickle_tuple;
int gt_pickle_after_mark(struct gt_pickle *p, gt_pickle_build_fn *build);
int gt_pickle_of_last(struct gt_pickle *p, size_t count, gt_pickle_build_fn *build);
/* The pickle has ended: completes the only value that may be left. */
int gt_pickle_finish(struct gt_pickle *p);
void gt_pickle_free_values(struct gt_pickle *p);
