/* SPDX-License-Identifier: MIT */
/* depot.c - stacks kept in the traced process. */
#include "tracker/depot.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "trace/layout.h"
#include "trace/stacks.h"

enum { PAGE = 4096, PAGES = 1024 }; /* numbers up to PAGE * PAGES */

struct kept {
	size_t count;
	uint64_t frames[];
};

static struct gt_stacks known;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static _Atomic(struct kept **) pages[PAGES];
static uint32_t used;

static struct kept **place_of(uint32_t number)
{
	struct kept **page = atomic_load_explicit(&pages[number / PAGE], memory_order_acquire);

	return page ? &page[number % PAGE] : NULL;
}

/* The caller holds the lock. */
static uint32_t add(uint64_t key, const uint64_t *frames, size_t count)
{
	uint32_t number = used + 1;
	struct kept *kept, **page;

	if (number / PAGE >= PAGES)
		return 0;
	if (!place_of(number)) {
		page = calloc(PAGE, sizeof *page);
		if (!page)
			return 0;
		atomic_store_explicit(&pages[number / PAGE], page, memory_order_release);
	}
	kept = malloc(sizeof *kept + count * sizeof *frames);
	if (!kept)
		return 0;
	kept->count = count;
	memcpy(kept->frames, frames, count * sizeof *frames);
	*place_of(number) = kept;
	if (gt_stacks_add(&known, key, number)) {
		free(kept);
		return 0;
	}
	return used = number;
}

uint32_t gt_depot_put(const uint64_t *frames, size_t count)
{
	uint64_t key = gt_stack_key(frames, count);
	uint32_t number = gt_stacks_find(&known, key);

	if (number)
		return number;
	pthread_mutex_lock(&lock);
	number = gt_stacks_find(&known, key);
	if (!number)
		number = add(key, frames, count);
	pthread_mutex_unlock(&lock);
	return number;
}

void gt_depot_warm(void)
{
	uint64_t no_stack[GT_STACK_FRAMES_MAX] = { 0 };

	gt_depot_put(no_stack, GT_STACK_FRAMES_MAX);
}

size_t gt_depot_get(uint32_t number, const uint64_t **frames)
{
	struct kept **place = number && number / PAGE < PAGES ? place_of(number) : NULL;

	if (!place || !*place)
		return 0;
	*frames = (*place)->frames;
	return (*place)->count;
}

void gt_depot_restart(void)
{
	pthread_mutex_init(&lock, NULL);
}
