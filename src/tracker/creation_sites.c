/* SPDX-License-Identifier: MIT */
/* creation_sites.c - where living resources were created: stacks, files and lines. */
#include "tracker/creation_sites.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/table_memory.h"
#include "trace/layout.h"
#include "trace/stacks.h"

enum {
	PAGE = 4096,
	PAGES = 1024, /* numbers up to PAGE * PAGES */
	STORED_MAX = 32 << 20,
};

struct stored {
	size_t count;
	uint64_t frames[];
};

static struct gt_stacks numbers;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static _Atomic(struct stored **) pages[PAGES];
static uint32_t used;
static _Atomic uint32_t outdated; /* the newest stack when a library was last unloaded */
static size_t stored_bytes;

static struct stored **slot_of(uint32_t number)
{
	struct stored **page = atomic_load_explicit(&pages[number / PAGE], memory_order_acquire);

	return page ? &page[number % PAGE] : NULL;
}

/* The caller holds the lock. */
static uint32_t add_stack(uint64_t key, const uint64_t *frames, size_t count)
{
	uint32_t number = used + 1;
	struct stored *stored, **page;

	size_t size = sizeof *stored + count * sizeof *frames;

	if (number / PAGE >= PAGES || stored_bytes + size > STORED_MAX ||
	    gt_stacks_are_full(&numbers))
		return 0;
	if (!slot_of(number)) {
		page = gt_table_alloc(PAGE * sizeof *page);
		if (!page)
			return 0;
		atomic_store_explicit(&pages[number / PAGE], page, memory_order_release);
	}
	stored = gt_table_alloc(size);
	if (!stored)
		return 0;
	stored->count = count;
	memcpy(stored->frames, frames, count * sizeof *frames);
	*slot_of(number) = stored;
	if (gt_stacks_add(&numbers, key, number)) {
		gt_table_free(stored);
		return 0;
	}
	stored_bytes += size;
	return used = number;
}

uint32_t gt_creation_stack_put(const uint64_t *frames, size_t count)
{
	uint64_t key = gt_stack_key(frames, count);
	uint32_t number = gt_stacks_find(&numbers, key);

	if (number)
		return number;
	pthread_mutex_lock(&lock);
	number = gt_stacks_find(&numbers, key);
	if (!number)
		number = add_stack(key, frames, count);
	pthread_mutex_unlock(&lock);
	return number;
}

void gt_creation_stacks_outdate(void)
{
	pthread_mutex_lock(&lock);
	atomic_store(&outdated, used);
	pthread_mutex_unlock(&lock);
}

bool gt_creation_stack_is_outdated(uint32_t number)
{
	return number && number <= atomic_load(&outdated);
}

void gt_creation_stacks_warm(void)
{
	static const uint64_t no_stack[GT_STACK_FRAMES_MAX];

	gt_creation_stack_put(no_stack, GT_STACK_FRAMES_MAX);
}

/* The stack's frames, valid for ever; number 0 has none. */
static size_t get_stack(uint32_t number, const uint64_t **frames)
{
	struct stored **slot = number && number / PAGE < PAGES ? slot_of(number) : NULL;

	if (!slot || !*slot)
		return 0;
	*frames = (*slot)->frames;
	return (*slot)->count;
}

void gt_creation_stacks_restart(void)
{
	pthread_mutex_init(&lock, NULL);
}

struct gt_creation_sites {
	struct gt_symbol_set *set;
	uint32_t *stacks; /* each once, in order */
	size_t stack_count;
	size_t *first; /* by stack: its first address; one more at the end */
	const struct gt_entry *entries;
};

static int in_order(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

/* Collects distinct stacks: many resources come from few. */
static void collect_stacks(struct gt_creation_sites *o, size_t count)
{
	for (size_t i = 0; i < count; i++)
		o->stacks[i] = o->entries[i].stack;
	qsort(o->stacks, count, sizeof *o->stacks, in_order);
	for (size_t i = 0; i < count; i++)
		if (!i || o->stacks[i] != o->stacks[o->stack_count - 1])
			o->stacks[o->stack_count++] = o->stacks[i];
}

/* The addresses of all stacks, one after another. */
static uint64_t *collect_addresses(struct gt_creation_sites *o)
{
	const uint64_t *frames;
	uint64_t *all;

	for (size_t i = 0; i < o->stack_count; i++)
		o->first[i + 1] = o->first[i] + get_stack(o->stacks[i], &frames);
	all = malloc((o->first[o->stack_count] + 1) * sizeof *all);
	for (size_t i = 0; all && i < o->stack_count; i++)
		if (get_stack(o->stacks[i], &frames))
			memcpy(all + o->first[i], frames,
			       (o->first[i + 1] - o->first[i]) * sizeof *all);
	return all;
}

struct gt_creation_sites *gt_creation_sites_new(const struct gt_entry *entries, size_t count)
{
	struct gt_creation_sites *o = calloc(1, sizeof *o);
	uint64_t *all = NULL;

	if (!o)
		return NULL;
	o->entries = entries;
	o->stacks = calloc(count + 1, sizeof *o->stacks);
	o->first = calloc(count + 1, sizeof *o->first);
	if (o->stacks && o->first) {
		collect_stacks(o, count);
		all = collect_addresses(o);
	}
	if (all)
		o->set = gt_symbols_resolve(all, o->first[o->stack_count]);
	free(all);
	if (o->set)
		return o;
	gt_creation_sites_free(o);
	return NULL;
}

size_t gt_creation_sites_get(const struct gt_creation_sites *o, size_t index,
			     const struct gt_symbol **symbols)
{
	const uint32_t *stack = bsearch(&o->entries[index].stack, o->stacks, o->stack_count,
					sizeof *stack, in_order);
	size_t from = o->first[stack - o->stacks], to = o->first[stack - o->stacks + 1];
	const struct gt_symbol *last;

	if (from == to)
		return 0;
	/* the symbols of consecutive addresses are consecutive */
	gt_symbols_get(o->set, from, symbols);
	to = gt_symbols_get(o->set, to - 1, &last);
	return (size_t)(last - *symbols) + to;
}

void gt_creation_sites_free(struct gt_creation_sites *o)
{
	if (!o)
		return;
	gt_symbols_free(o->set);
	free(o->first);
	free(o->stacks);
	free(o);
}
