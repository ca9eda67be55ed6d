/* SPDX-License-Identifier: MIT */
/* heap.c - the recorder's own memory in the traced process. */
#include "guest/heap.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

#include "base/cancellation.h"
#include "base/table_memory.h"

enum {
	PAGE = 4096,
	REGION = 256 << 10, /* mapped at once; pages that were never touched cost nothing */
	SMALL = 32 << 10,   /* larger blocks are mapped one by one */
	STEPS = 4,          /* sizes for each power of two */
	FIRST_SHIFT = 5,
	CLASSES = 44,
};

/* In front of each block; the memory behind it is aligned as malloc's is. */
struct block {
	union {
		size_t size; /* with this head */
		struct block *next;
	};
	size_t class; /* CLASSES: it is a mapping of its own */
};
_Static_assert(sizeof(struct block) == 16, "the alignment of malloc");

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct block *unused[CLASSES];
static char *region, *region_end;

/* Sizes: 32, 40, 48, 56, 64, 80, 96, 112, 128, … */
static size_t size_of_class(size_t class)
{
	return (size_t)(STEPS + class % STEPS) << (FIRST_SHIFT - 2 + class / STEPS);
}

static size_t class_of(size_t size)
{
	size_t class = 0;

	while (size_of_class(class) < size)
		class ++;
	return class;
}

static void *map(size_t size)
{
	void *pages = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return pages == MAP_FAILED ? NULL : pages;
}

/* The caller holds the lock. */
static struct block *take_small(size_t class)
{
	/* multiples of 16, so that all blocks are aligned */
	size_t size = (size_of_class(class) + 15) & ~(size_t)15;
	struct block *b = unused[class];

	if (b) {
		unused[class] = b->next;
		return memset(b, 0, size);
	}
	if ((size_t)(region_end - region) < size) {
		char *fresh = map(REGION);

		if (!fresh)
			return NULL;
		region = fresh;
		region_end = fresh + REGION;
	}
	b = (struct block *)region;
	region += size;
	return b;
}

void *gt_heap_alloc(size_t size)
{
	struct block *b;
	size_t class;

	if (size > SIZE_MAX / 2)
		return NULL;
	size += sizeof *b;
	if (size > SMALL) {
		size = (size + PAGE - 1) & ~(size_t)(PAGE - 1);
		class = CLASSES;
		b = map(size);
	} else {
		class = class_of(size);
		size = size_of_class(class);
		gt_cancellation_hold();
		pthread_mutex_lock(&lock);
		b = take_small(class);
		pthread_mutex_unlock(&lock);
	}
	if (!b)
		return NULL;
	b->size = size;
	b->class = class;
	return b + 1;
}

void gt_heap_free(void *memory)
{
	struct block *b = memory;

	if (!b)
		return;
	b--;
	if (b->class == CLASSES) {
		munmap(b, b->size);
		return;
	}
	gt_cancellation_hold();
	pthread_mutex_lock(&lock);
	b->next = unused[b->class];
	unused[b->class] = b;
	pthread_mutex_unlock(&lock);
}

void *gt_heap_resize(void *old, size_t size)
{
	struct block *b = old;
	void *memory;

	if (b && size <= b[-1].size - sizeof *b)
		return old;
	memory = gt_heap_alloc(size);
	if (memory && b) {
		memcpy(memory, old, b[-1].size - sizeof *b);
		gt_heap_free(old);
	}
	return memory;
}

void gt_heap_touch(size_t size)
{
	gt_cancellation_hold();
	pthread_mutex_lock(&lock);
	if (!region && (region = map(REGION)))
		region_end = region + REGION;
	for (size_t i = 0; i < size && region + i < region_end; i += PAGE)
		__atomic_fetch_or(&region[i], 0, __ATOMIC_RELAXED);
	pthread_mutex_unlock(&lock);
}

void gt_heap_restart(void)
{
	/* a thread that is gone may have left the lists half changed: what they held is lost */
	if (pthread_mutex_trylock(&lock)) {
		memset(unused, 0, sizeof unused);
		region = region_end = NULL;
		pthread_mutex_init(&lock, NULL);
	} else {
		pthread_mutex_unlock(&lock);
	}
}

/* Before anything in this library allocates: the doors' own constructors come later. */
__attribute__((constructor(101))) static void become_table_memory(void)
{
	static const struct gt_table_memory own = { gt_heap_alloc, gt_heap_resize, gt_heap_free };

	gt_table_memory = &own;
}
