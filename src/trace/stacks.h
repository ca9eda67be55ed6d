/* SPDX-License-Identifier: MIT */
/* stacks.h - which stacks have a number already: lock-free look-up, locked insertion. */
#pragma once

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

struct gt_stack_slot {
	_Atomic uint64_t key; /* hash of the frames; 0: free */
	_Atomic uint32_t number;
};

struct gt_stack_table {
	struct gt_stack_table *older; /* may still be read: kept until the end */
	size_t mask, used;
	struct gt_stack_slot slots[];
};

struct gt_stacks {
	_Atomic(struct gt_stack_table *) table;
};

/* The frames' identity. 64 bits: two stacks of four million share one with odds of 1 in 10^6. */
uint64_t gt_stack_key(const uint64_t *frames, size_t count);

/* 0 when unknown. */
uint32_t gt_stacks_find(struct gt_stacks *s, uint64_t key);
/* One caller at a time. 0, or -ENOMEM. */
int gt_stacks_add(struct gt_stacks *s, uint64_t key, uint32_t number);
/* One caller at a time: from here on nothing is known. Takes no memory. */
void gt_stacks_clear(struct gt_stacks *s);
/* Nobody may be reading any more. */
void gt_stacks_free(struct gt_stacks *s);
