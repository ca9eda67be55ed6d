/* SPDX-License-Identifier: MIT */
/* mem.c - memory of the tool, and error messages. */
#include "base/mem.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

enum { LARGE = 4 << 20, PAGE = 4096, LARGE_PAGE = 2 << 20, SLOW_NS = 1500000 };

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

static uint64_t thread_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

void gt_ask_for_large_pages(char *at, size_t size)
{
	static _Atomic bool are_slow;
	uint64_t begun;

	/* that it cannot be done is no matter */
	if (are_slow || madvise(at, size, MADV_HUGEPAGE))
		return;
	begun = thread_ns();
	*(volatile char *)at = 0;
	if (thread_ns() - begun < SLOW_NS)
		return;
	are_slow = true;
	if (size > LARGE_PAGE)
		(void)madvise(at + LARGE_PAGE, size - LARGE_PAGE, MADV_NOHUGEPAGE);
}

static void *allocate_large(size_t size)
{
	char *memory = calloc(1, size ? size : 1);
	size_t before = -(uintptr_t)memory % LARGE_PAGE;

	/* before it is touched */
	if (memory && size >= LARGE)
		gt_ask_for_large_pages(memory + before, (size - before) & ~(size_t)(PAGE - 1));
	return memory;
}

void *gt_alloc_large(size_t size)
{
	return gt_memory_check(allocate_large(size));
}

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
