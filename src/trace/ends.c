/* SPDX-License-Identifier: MIT */
/* ends.c - a recording's `ends`: when processes were gone that did not say so themselves. */
#include "trace/ends.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/files.h"
#include "base/mem.h"

enum { SIZE_LIMIT = 16 << 20 };

struct line {
	char *trace;
	uint64_t time_ns;
	size_t number;
};

struct gt_ends {
	struct line *lines; /* by trace, then as they were written */
	size_t count, room;
};

static int by_trace(const void *a, const void *b)
{
	const struct line *x = a, *y = b;
	int order = strcmp(x->trace, y->trace);

	return order ? order : x->number < y->number ? -1 : x->number > y->number;
}

/* "1234.trace 5000000000"; what is no such line is passed over. */
static void take_line(struct gt_ends *ends, char *text)
{
	char *blank = strrchr(text, ' '), *end;
	unsigned long long time_ns;

	if (!blank || blank == text || blank[1] < '0' || blank[1] > '9')
		return;
	errno = 0;
	time_ns = strtoull(blank + 1, &end, 10);
	if (errno || strcmp(end, "\n"))
		return;
	*blank = '\0';
	GT_GROW(ends->lines, ends->count, ends->room);
	ends->lines[ends->count] = (struct line){ gt_strdup(text), time_ns, ends->count };
	ends->count++;
}

struct gt_ends *gt_ends_read(const char *path)
{
	struct gt_ends *ends = gt_alloc(sizeof *ends);
	FILE *file = gt_open_regular_file(path, SIZE_LIMIT);
	size_t room = 0;
	char *text = NULL;

	if (file && getline(&text, &room, file) > 0 && !strcmp(text, GT_ENDS_MAGIC))
		while (getline(&text, &room, file) > 0)
			take_line(ends, text);
	free(text);
	if (file)
		fclose(file);
	if (ends->count)
		qsort(ends->lines, ends->count, sizeof *ends->lines, by_trace);
	return ends;
}

void gt_ends_free(struct gt_ends *ends)
{
	for (size_t i = 0; i < ends->count; i++)
		free(ends->lines[i].trace);
	free(ends->lines);
	free(ends);
}

uint64_t gt_ends_find(const struct gt_ends *ends, const char *trace)
{
	size_t low = 0, high = ends->count;

	/* behind the last line about it */
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (strcmp(ends->lines[middle].trace, trace) <= 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low && !strcmp(ends->lines[low - 1].trace, trace) ? ends->lines[low - 1].time_ns : 0;
}
