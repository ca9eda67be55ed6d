/* SPDX-License-Identifier: MIT */
/* info.c - the text files of a recording: `info`, lines "key: value", and `ends`. */
#include "trace/info.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/files.h"
#include "base/mem.h"

enum { LINES_MAX = 1000, INFO_SIZE_LIMIT = 1 << 20, ENDS_SIZE_LIMIT = 16 << 20 };

struct line {
	char *key, *value;
};

struct gt_info {
	struct line *lines;
	size_t count, room;
};

struct gt_info *gt_info_new(void)
{
	return gt_alloc(sizeof(struct gt_info));
}

void gt_info_free(struct gt_info *info)
{
	if (!info)
		return;
	for (size_t i = 0; i < info->count; i++) {
		free(info->lines[i].key);
		free(info->lines[i].value);
	}
	free(info->lines);
	free(info);
}

static struct line *find(const struct gt_info *info, const char *key)
{
	for (size_t i = 0; i < info->count; i++)
		if (!strcmp(info->lines[i].key, key))
			return &info->lines[i];
	return NULL;
}

void gt_info_set(struct gt_info *info, const char *key, const char *value)
{
	struct line *line = find(info, key);

	if (line) {
		free(line->value);
		line->value = gt_strdup(value);
		return;
	}
	GT_GROW(info->lines, info->count, info->room);
	info->lines[info->count++] = (struct line){ gt_strdup(key), gt_strdup(value) };
}

void gt_info_setf(struct gt_info *info, const char *key, const char *format, ...)
{
	char text[4096];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof text, format, args);
	va_end(args);
	gt_info_set(info, key, text);
}

const char *gt_info_get(const struct gt_info *info, const char *key)
{
	const struct line *line = find(info, key);

	return line ? line->value : "";
}

struct gt_info *gt_info_read(const char *path)
{
	struct gt_info *info = gt_info_new();
	/* `run` writes a page or two: anything much larger is not ours */
	FILE *file = gt_open_regular_file(path, INFO_SIZE_LIMIT);
	char *text = NULL, *colon;
	size_t room = 0;

	while (file && info->count < LINES_MAX && getline(&text, &room, file) > 0) {
		text[strcspn(text, "\n")] = '\0';
		colon = strstr(text, ": ");
		if (!colon)
			continue;
		*colon = '\0';
		gt_info_set(info, text, colon + 2);
	}
	free(text);
	if (file)
		fclose(file);
	return info;
}

/* The value must not break the line. */
static void put_value(FILE *file, const char *value)
{
	for (; *value; value++)
		putc(*value == '\n' || *value == '\r' ? ' ' : *value, file);
}

static void put_lines(FILE *file, const void *context)
{
	const struct gt_info *info = context;

	for (size_t i = 0; i < info->count; i++) {
		fprintf(file, "%s: ", info->lines[i].key);
		put_value(file, info->lines[i].value);
		putc('\n', file);
	}
}

int gt_info_write(const struct gt_info *info, const char *path, struct gt_error *error)
{
	int e = gt_file_replace(path, put_lines, info);

	return e ? gt_error_set(error, e, "cannot write %s: %s; make room or choose another place",
				path, strerror(-e)) :
		   0;
}

enum how { HOW_UNKNOWN, HOW_EXIT, HOW_SIGNAL, HOW_EXEC, HOW_OOM, HOWS };

static const char *const hows[HOWS] = {
	[HOW_EXIT] = " exit", [HOW_SIGNAL] = " signal", [HOW_EXEC] = " exec", [HOW_OOM] = " oom"
};

struct end {
	char *trace;
	enum how how;    /* HOW_UNKNOWN: the number is a time */
	uint64_t number; /* time, exit status or signal */
	size_t line;
};

struct gt_ends {
	struct end *list; /* by trace, then in file order */
	size_t count, room;
};

static int by_trace(const void *a, const void *b)
{
	const struct end *x = a, *y = b;
	int order = strcmp(x->trace, y->trace);

	return order ? order : x->line < y->line ? -1 : x->line > y->line;
}

/* Cuts " signal" and the like off the trace's name. */
static enum how take_how(char *text)
{
	size_t size = strlen(text);

	for (enum how how = HOW_EXIT; how < HOWS; how++) {
		size_t length = strlen(hows[how]);

		if (size > length && !strcmp(text + size - length, hows[how])) {
			text[size - length] = '\0';
			return how;
		}
	}
	return HOW_UNKNOWN;
}

/* "1234.trace 5000000000", "1234.trace signal 9"; skips anything else. */
static void take_end(struct gt_ends *ends, char *text)
{
	char *blank = strrchr(text, ' '), *end;
	unsigned long long number;
	enum how how;

	if (!blank || blank == text || blank[1] < '0' || blank[1] > '9')
		return;
	errno = 0;
	number = strtoull(blank + 1, &end, 10);
	if (errno || strcmp(end, "\n"))
		return;
	*blank = '\0';
	how = take_how(text);
	if (how != HOW_UNKNOWN && (number > UINT8_MAX || (how == HOW_SIGNAL && !number)))
		return;
	GT_GROW(ends->list, ends->count, ends->room);
	ends->list[ends->count] = (struct end){ gt_strdup(text), how, number, ends->count };
	ends->count++;
}

struct gt_ends *gt_ends_read(const char *path)
{
	struct gt_ends *ends = gt_alloc(sizeof *ends);
	FILE *file = gt_open_regular_file(path, ENDS_SIZE_LIMIT);
	size_t room = 0;
	char *text = NULL;

	if (file && getline(&text, &room, file) > 0 && !strcmp(text, GT_ENDS_MAGIC))
		while (getline(&text, &room, file) > 0)
			take_end(ends, text);
	free(text);
	if (file)
		fclose(file);
	if (ends->count)
		qsort(ends->list, ends->count, sizeof *ends->list, by_trace);
	return ends;
}

void gt_ends_free(struct gt_ends *ends)
{
	for (size_t i = 0; i < ends->count; i++)
		free(ends->list[i].trace);
	free(ends->list);
	free(ends);
}

struct gt_ended gt_ends_find(const struct gt_ends *ends, const char *trace)
{
	struct gt_ended ended = { .exit_status = -1 };
	size_t low = 0, high = ends->count;

	/* finds the first line about the trace */
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (strcmp(ends->list[middle].trace, trace) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	for (; low < ends->count && !strcmp(ends->list[low].trace, trace); low++) {
		const struct end *e = &ends->list[low];

		if (e->how == HOW_UNKNOWN) {
			ended.time_ns = e->number;
			continue;
		}
		ended.is_oom_kill = e->how == HOW_OOM;
		if (ended.is_oom_kill)
			continue;
		ended.exit_status = e->how == HOW_EXIT ? (int)e->number : -1;
		ended.signal = e->how == HOW_SIGNAL ? (int)e->number : 0;
		ended.has_execed = e->how == HOW_EXEC;
	}
	return ended;
}
