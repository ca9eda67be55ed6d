/* SPDX-License-Identifier: MIT */
/* mem.c - memory of the tool, and error messages. */
#include "base/mem.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { LARGE = 4 << 20, PAGE = 4096 };

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

const struct gt_table_memory gt_large_tables = { allocate_large, realloc, free };

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
