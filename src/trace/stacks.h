/* SPDX-License-Identifier: MIT */
/* stacks.h - numbers of known stacks: lock-free look-up, insertion by one caller at a time. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * This hash table is its own because threads of the traced process read it without a lock, because
 * running out of memory must not end the process, and because a stack is known by its hash alone.
 */
enum {
	/* What a traced process pays is bounded: 16 MiB for the last table, as much for the older.
	 */
	GT_STACK_SLOTS_MAX = 1 << 20,
	GT_STACKS_MAX = GT_STACK_SLOTS_MAX / 4 * 3,
};

struct gt_stack_slot {
	_Atomic uint64_t key; /* hash of the frames; 0: free */
	_Atomic uint32_t number;
};

struct gt_stack_table {
	struct gt_stack_table *older; /* may still be read: freed at the end */
	size_t mask, used;
	struct gt_stack_slot slots[];
};

struct gt_stacks {
	_Atomic(struct gt_stack_table *) table;
};

/* A hash that identifies the frames: four million stacks collide with odds of 1 in 10^6. */
uint64_t gt_stack_key(const uint64_t *frames, size_t count);

/* 0 when unknown. */
uint32_t gt_stacks_find(struct gt_stacks *s, uint64_t key);
/* True when there are GT_STACKS_MAX; one caller at a time. */
bool gt_stacks_are_full(const struct gt_stacks *s);
/* One caller at a time. 0, -ENOMEM, or -ENOSPC when it is full. */
int gt_stacks_add(struct gt_stacks *s, uint64_t key, uint32_t number);
/* One caller at a time. Forgets all stacks; allocates nothing. */
void gt_stacks_clear(struct gt_stacks *s);
/* No other thread may be reading. */
void gt_stacks_free(struct gt_stacks *s);
