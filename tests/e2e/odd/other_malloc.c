/* SPDX-License-Identifier: MIT */
/*
 * other_malloc.c - an allocator preloaded before others: never frees, fills what it gives, and
 * counts.
 *
 * Like real ones it is called before main, in every thread and after exit handlers.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

enum { ALIGNMENT = 16, FILL = 0xd7 };

static const size_t room = (size_t)4 << 30;
static _Atomic(char *) area;
static atomic_size_t used;

static char *start(void)
{
	char *mine = atomic_load(&area), *none = NULL;

	if (mine)
		return mine;
	mine = mmap(NULL, room, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
		    -1, 0);
	if (mine == MAP_FAILED)
		return NULL;
	if (!atomic_compare_exchange_strong(&area, &none, mine)) {
		munmap(mine, room);
		mine = none;
	}
	return mine;
}

/* The size lies before each block. */
static void *take(size_t bytes, size_t alignment)
{
	size_t step = (bytes + alignment + 2 * ALIGNMENT - 1) & ~(size_t)(ALIGNMENT - 1);
	char *base = start();
	size_t at;
	char *p;

	if (!base || bytes > room / 4 || (at = atomic_fetch_add(&used, step)) + step > room) {
		errno = ENOMEM;
		return NULL;
	}
	p = base + at + ALIGNMENT;
	p = (char *)(((uintptr_t)p + alignment - 1) & ~(uintptr_t)(alignment - 1));
	memcpy(p - sizeof(bytes), &bytes, sizeof(bytes));
	return p;
}

void *malloc(size_t bytes)
{
	void *p = take(bytes, ALIGNMENT);

	return p ? memset(p, FILL, bytes) : NULL;
}

void free(void *p)
{
	size_t bytes;

	if (!p)
		return;
	memcpy(&bytes, (char *)p - sizeof(bytes), sizeof(bytes));
	memset(p, FILL, bytes); /* whoever uses it still, finds nothing */
}

void *calloc(size_t n, size_t bytes)
{
	void *p = bytes && n > room / bytes ? NULL : take(n * bytes, ALIGNMENT);

	return p ? memset(p, 0, n * bytes) : NULL;
}

void *realloc(void *p, size_t bytes)
{
	void *fresh = malloc(bytes);
	size_t old;

	if (!p || !fresh)
		return fresh;
	memcpy(&old, (char *)p - sizeof(old), sizeof(old));
	memcpy(fresh, p, old < bytes ? old : bytes);
	free(p);
	return fresh;
}

void *memalign(size_t alignment, size_t bytes)
{
	return take(bytes, alignment < ALIGNMENT ? ALIGNMENT : alignment);
}

void *aligned_alloc(size_t alignment, size_t bytes)
{
	return memalign(alignment, bytes);
}

int posix_memalign(void **p, size_t alignment, size_t bytes)
{
	*p = memalign(alignment, bytes);
	return *p ? 0 : ENOMEM;
}
