/* SPDX-License-Identifier: MIT */
/* stacks.c - numbers of known stacks: lock-free look-up, insertion by one caller at a time. */
#include "trace/stacks.h"

#include <errno.h>
#include <stdlib.h>

#include "base/bytes.h"
#include "base/table_memory.h"

enum { FIRST_CAPACITY = 256 };

static uint64_t add_frame(uint64_t hash, uint64_t frame)
{
	hash = (hash ^ frame) * 0x9e3779b97f4a7c15u;
	return hash ^ hash >> 29;
}

/*
 * In four chains side by side: one alone would wait for a multiplication at every frame. Each has a
 * beginning and a factor of its own, so that those of a function that calls itself do not cancel
 * out.
 */
uint64_t gt_stack_key(const uint64_t *frames, size_t count)
{
	uint64_t a = 0x243f6a8885a308d3u + count, b = 0x13198a2e03707344u, c = 0xa4093822299f31d0u,
		 d = 0x082efa98ec4e6c89u, key;
	size_t i = 0;

	for (; i + 4 <= count; i += 4) {
		a = add_frame(a, frames[i]);
		b = add_frame(b, frames[i + 1]);
		c = add_frame(c, frames[i + 2]);
		d = add_frame(d, frames[i + 3]);
	}
	for (; i < count; i++)
		a = add_frame(a, frames[i]);
	key = gt_mix64(a * 0x9e3779b97f4a7c15u + b * 0xbf58476d1ce4e5b9u + c * 0x94d049bb133111ebu +
		       d * 0xd6e8feb86659fd93u);
	return key ? key : 1;
}

/* The table may have been cleared and the slot reused: then the number is another stack's. */
static uint32_t number_in(const struct gt_stack_slot *slot, uint64_t key)
{
	uint32_t number = atomic_load_explicit(&slot->number, memory_order_acquire);

	return atomic_load_explicit(&slot->key, memory_order_relaxed) == key ? number : 0;
}

uint32_t gt_stacks_find(struct gt_stacks *s, uint64_t key)
{
	struct gt_stack_table *t = atomic_load_explicit(&s->table, memory_order_acquire);

	if (!t)
		return 0;
	for (size_t i = key & t->mask;; i = (i + 1) & t->mask) {
		uint64_t found = atomic_load_explicit(&t->slots[i].key, memory_order_acquire);

		if (found == key)
			return number_in(&t->slots[i], key);
		if (!found)
			return 0;
	}
}

static void insert(struct gt_stack_table *t, uint64_t key, uint32_t number)
{
	size_t i = key & t->mask;

	while (atomic_load_explicit(&t->slots[i].key, memory_order_relaxed))
		i = (i + 1) & t->mask;
	/* the number first: who finds the key reads it, and must not see an older key then */
	atomic_store_explicit(&t->slots[i].number, number, memory_order_release);
	atomic_store_explicit(&t->slots[i].key, key, memory_order_release);
	t->used++;
}

static struct gt_stack_table *table_new(size_t capacity, struct gt_stack_table *older)
{
	struct gt_stack_table *t = gt_table_alloc(sizeof *t + capacity * sizeof t->slots[0]);

	if (t) {
		t->mask = capacity - 1;
		t->older = older;
	}
	return t;
}

bool gt_stacks_are_full(const struct gt_stacks *s)
{
	const struct gt_stack_table *t = atomic_load_explicit(&s->table, memory_order_relaxed);

	return t && t->used >= GT_STACKS_MAX;
}

int gt_stacks_add(struct gt_stacks *s, uint64_t key, uint32_t number)
{
	struct gt_stack_table *old = atomic_load_explicit(&s->table, memory_order_relaxed);
	struct gt_stack_table *t = old;

	if (gt_stacks_are_full(s))
		return -ENOSPC;
	if (!old || (old->used + 1) * 4 > (old->mask + 1) * 3) {
		t = table_new(old ? (old->mask + 1) * 2 : FIRST_CAPACITY, old);
		if (!t)
			return -ENOMEM;
		for (size_t i = 0; old && i <= old->mask; i++) {
			uint64_t k = atomic_load_explicit(&old->slots[i].key, memory_order_relaxed);

			if (k)
				insert(t, k,
				       atomic_load_explicit(&old->slots[i].number,
							    memory_order_relaxed));
		}
		atomic_store_explicit(&s->table, t, memory_order_release);
	}
	insert(t, key, number);
	return 0;
}

void gt_stacks_clear(struct gt_stacks *s)
{
	struct gt_stack_table *t = atomic_load_explicit(&s->table, memory_order_relaxed);

	/* in place: a program that unloads code for days must not leave a table each time */
	if (!t || !t->used)
		return;
	for (size_t i = 0; i <= t->mask; i++)
		atomic_store_explicit(&t->slots[i].key, 0, memory_order_relaxed);
	t->used = 0;
}

void gt_stacks_free(struct gt_stacks *s)
{
	struct gt_stack_table *t = atomic_exchange(&s->table, NULL);

	while (t) {
		struct gt_stack_table *older = t->older;

		gt_table_free(t);
		t = older;
	}
}
