/* SPDX-License-Identifier: MIT */
/* mem.c - memory of the tool, and error messages. */
#include "base/mem.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { LARGE = 4 << 20, PAGE = 4096, LARGE_PAGE = 2 << 20 };

void *gt_memory_check(void *memory)
{
	if (!memory) {
		fputs("gputrack: out of memory; close other programs or use a smaller recording\n",
		      stderr);
		exit(1);
	}
	return memory;
}

FILE *gt_memstream(char **text, size_t *size)
{
	return gt_memory_check(open_memstream(text, size));
}

void gt_memstream_close(FILE *stream)
{
	bool failed = ferror(stream);

	if (fclose(stream) || failed)
		gt_memory_check(NULL);
}

void *gt_alloc(size_t size)
{
	return gt_memory_check(calloc(1, size ? size : 1));
}

static void *allocate_large(size_t size)
{
	char *memory = calloc(1, size ? size : 1);

	/* before it is touched; that it cannot be done is no matter */
	if (memory && size >= LARGE)
		(void)madvise(memory + (PAGE - (uintptr_t)memory % PAGE) % PAGE,
			      (size - PAGE) & ~(size_t)(PAGE - 1), MADV_HUGEPAGE);
	return memory;
}

void *gt_alloc_large(size_t size)
{
	return gt_memory_check(allocate_large(size));
}

/* Tables that do not come from malloc: there are few, and each has its own mapping. */
static struct mapped {
	void *at;
	size_t size;
} * mapped;
static size_t mapped_count, mapped_room;
static pthread_mutex_t mapped_lock = PTHREAD_MUTEX_INITIALIZER;

static void remember(void *at, size_t size)
{
	pthread_mutex_lock(&mapped_lock);
	GT_GROW(mapped, mapped_count, mapped_room);
	mapped[mapped_count++] = (struct mapped){ at, size };
	pthread_mutex_unlock(&mapped_lock);
}

/* The size of a mapped table, which is not remembered any longer if `forget`; 0: it is malloc's. */
static size_t mapped_size(const void *at, bool forget)
{
	size_t size = 0;

	if ((uintptr_t)at % LARGE_PAGE || !at)
		return 0;
	pthread_mutex_lock(&mapped_lock);
	for (size_t i = 0; !size && i < mapped_count; i++)
		if (mapped[i].at == at) {
			size = mapped[i].size;
			if (forget)
				mapped[i] = mapped[--mapped_count];
		}
	pthread_mutex_unlock(&mapped_lock);
	return size;
}

/*
 * Malloc would take a table of some MB from its heap: not where a large page begins, and cleared
 * by hand where another has been.
 */
static void *map_table(size_t size)
{
	size_t whole = (size + PAGE - 1) & ~(size_t)(PAGE - 1);
	char *room = mmap(NULL, whole + LARGE_PAGE, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	size_t before = LARGE_PAGE - (uintptr_t)room % LARGE_PAGE;

	if (room == MAP_FAILED)
		return NULL;
	munmap(room, before);
	if (before < LARGE_PAGE)
		munmap(room + before + whole, LARGE_PAGE - before);
	/* that it cannot be done is no matter */
	(void)madvise(room + before, whole, MADV_HUGEPAGE);
	remember(room + before, whole);
	return room + before;
}

static void *allocate_table(size_t size)
{
	return size >= LARGE_PAGE ? map_table(size) : calloc(1, size ? size : 1);
}

static void release_table(void *table)
{
	size_t size = mapped_size(table, true);

	if (size)
		munmap(table, size);
	else
		free(table);
}

static void *resize_table(void *old, size_t size)
{
	size_t old_size = mapped_size(old, false);
	void *table;

	if (!old_size)
		return realloc(old, size);
	table = allocate_table(size);
	if (table) {
		memcpy(table, old, old_size < size ? old_size : size);
		release_table(old);
	}
	return table;
}

const struct gt_table_memory gt_large_tables = { allocate_table, resize_table, release_table };

void *gt_realloc(void *old, size_t size)
{
	return gt_memory_check(realloc(old, size ? size : 1));
}

char *gt_strdup(const char *text)
{
	return gt_memory_check(strdup(text));
}

char *gt_strndup(const char *text, size_t size)
{
	return gt_memory_check(strndup(text, size));
}

void *gt_reach_on(void *array, size_t *count, size_t index, size_t element_bytes)
{
	size_t wanted = *count ? *count : 16;

	/* not twice as many: all of them are touched */
	while (wanted <= index)
		wanted += wanted / 2;
	array = gt_realloc(array, wanted * element_bytes);
	memset((char *)array + *count * element_bytes, 0, (wanted - *count) * element_bytes);
	*count = wanted;
	return array;
}

int gt_error_set(struct gt_error *error, int code, const char *format, ...)
{
	va_list args;

	if (error) {
		va_start(args, format);
		vsnprintf(error->text, sizeof error->text, format, args);
		va_end(args);
	}
	return code;
}
