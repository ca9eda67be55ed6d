/* SPDX-License-Identifier: MIT */
/* suppressions.c - known leaks that are not to be counted. */
#include "judge/suppressions.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/mem.h"
#include "base/text.h"
#include "base/tool.h"

enum { FILE_MAX = 4 << 20, LINE_MAX_BYTES = 4096, COUNT_MAX = 100000 };

/* Finds the `size` bytes of `part` in `name`; with `at_end`, only at its end. */
static const char *find_part(const char *name, const char *part, size_t size, bool at_end)
{
	size_t length = strlen(name);

	if (at_end)
		return length >= size && !memcmp(name + length - size, part, size) ?
			       name + length - size :
			       NULL;
	return memmem(name, length, part, size);
}

static bool matches(const char *pattern, size_t size, const char *name)
{
	bool at_start = size && *pattern == '^', at_end;

	pattern += at_start;
	size -= at_start;
	at_end = size && pattern[size - 1] == '$';
	size -= at_end;
	for (;;) {
		const char *star = memchr(pattern, '*', size), *found;
		size_t part = star ? (size_t)(star - pattern) : size;

		if (at_start && !star && at_end)
			return strlen(name) == part && !memcmp(name, pattern, part);
		if (at_start)
			found = strncmp(name, pattern, part) ? NULL : name;
		else
			found = find_part(name, pattern, part, at_end && !star);
		if (!found || !star)
			return found != NULL;
		name = found + part;
		pattern += part + 1;
		size -= part + 1;
		at_start = false;
	}
}

bool gt_pattern_matches(const char *pattern, const char *name)
{
	return matches(pattern, strlen(pattern), name);
}

/* The size of a pattern's first part; *next is the part after it, or NULL. */
static size_t part_size(const char *pattern, const char **next)
{
	const char *end = strstr(pattern, GT_CALLED_BY);

	*next = end ? end + strlen(GT_CALLED_BY) : NULL;
	return end ? (size_t)(end - pattern) : strlen(pattern);
}

static bool is_whole(const char *pattern)
{
	while (pattern)
		if (!part_size(pattern, &pattern))
			return false;
	return true;
}

/* Parses the words in the brackets; *end is what follows them. */
static int parse_kinds(struct gt_suppression *s, const char *at, const char **end,
		       struct gt_error *error)
{
	const char *close = strchr(at, ']');

	if (!close || close[1] != ':')
		return gt_error_set(
			error, -EINVAL,
			"%s:%u: expected kinds and \"]:\" after '[', as in leak[event]:pattern",
			s->file, s->line);
	while (at < close) {
		size_t size = strcspn(at, ",]");

		if (!gt_select_add(&s->what, at, size))
			return gt_error_set(error, -EINVAL,
					    "%s:%u: '%.*s' is not a kind of resource", s->file,
					    s->line, (int)(size < 60 ? size : 60), at);
		at += size + (at[size] == ',');
	}
	*end = close + 2;
	return 0;
}

static int parse_line(struct gt_suppressions *list, const char *file, unsigned number,
		      const char *text, size_t size, struct gt_error *error)
{
	struct gt_suppression s = { .line = number };
	int e = 0;

	while (size && strchr(" \t\r", text[size - 1]))
		size--;
	for (; size && strchr(" \t", *text); text++)
		size--;
	if (!size || *text == '#')
		return 0;
	if (size > LINE_MAX_BYTES || memchr(text, '\0', size) || list->count == COUNT_MAX)
		return gt_error_set(error, -EINVAL,
				    "%s:%u: not a suppressions file: the line is too long or "
				    "contains NUL bytes, or there are too many lines",
				    file, number);
	s.file = gt_strdup(file);
	s.text = gt_strndup(text, size);
	if (gt_text_begins(s.text, "leak:")) {
		s.pattern = s.text + 5;
		gt_select_add(&s.what, "any", 3);
	} else if (gt_text_begins(s.text, "leak[")) {
		e = parse_kinds(&s, s.text + 5, &s.pattern, error);
	} else {
		e = gt_error_set(
			error, -EINVAL,
			"%s:%u: a suppression must begin with \"leak:\" or \"leak[KIND]:\"", file,
			number);
	}
	if (!e && !is_whole(s.pattern))
		e = gt_error_set(
			error, -EINVAL,
			"%s:%u: missing pattern: expected leak:PATTERN or leak:PATTERN < CALLER",
			file, number);
	if (e) {
		free(s.file);
		free(s.text);
		return e;
	}
	GT_GROW(list->list, list->count, list->room);
	list->list[list->count++] = s;
	return 0;
}

int gt_suppressions_parse(struct gt_suppressions *s, const char *file, const char *text,
			  size_t size, struct gt_error *error)
{
	unsigned number = 0;
	int e = 0;

	while (!e && size) {
		const char *end = memchr(text, '\n', size);
		size_t length = end ? (size_t)(end - text) : size;

		e = parse_line(s, file, ++number, text, length, error);
		length += end != NULL;
		text += length;
		size -= length;
	}
	return e;
}

int gt_suppressions_read(struct gt_suppressions *s, const char *path, struct gt_error *error)
{
	FILE *in = fopen(path, "re");
	struct stat st;
	char *text;
	size_t size;
	int e;

	if (!in)
		return gt_error_set(
			error, -errno,
			"cannot read suppressions from %s: %s; `%s suppress` creates such a file",
			path, strerror(errno), gt_tool_name());
	text = gt_alloc(FILE_MAX + 1);
	size = fread(text, 1, FILE_MAX + 1, in);
	if (ferror(in) || (!fstat(fileno(in), &st) && S_ISDIR(st.st_mode)))
		e = gt_error_set(error, -EIO,
				 "cannot read suppressions from %s: not a regular file; `%s "
				 "suppress` creates one",
				 path, gt_tool_name());
	else if (size > FILE_MAX)
		e = gt_error_set(
			error, -EFBIG,
			"%s is too large for a suppressions file; `%s suppress` creates one", path,
			gt_tool_name());
	else
		e = gt_suppressions_parse(s, path, text, size, error);
	fclose(in);
	free(text);
	return e;
}

void gt_suppressions_fini(struct gt_suppressions *s)
{
	for (size_t i = 0; i < s->count; i++) {
		free(s->list[i].file);
		free(s->list[i].text);
	}
	free(s->list);
	*s = (struct gt_suppressions){ 0 };
}

static bool frame_matches(const char *pattern, size_t size, const struct gt_frame *frame)
{
	return (frame->function && matches(pattern, size, frame->function)) ||
	       (frame->file && matches(pattern, size, frame->file)) ||
	       (frame->module && matches(pattern, size, frame->module));
}

/* Each part must match a frame further out than the part before; `function` is the innermost. */
static bool stack_matches(const char *pattern, const char *function, const struct gt_frame *frames,
			  size_t count)
{
	const char *next;
	size_t at = 0, size = part_size(pattern, &next);

	if (matches(pattern, size, function)) {
		if (!next)
			return true;
		pattern = next;
	}
	for (; pattern; pattern = next) {
		size = part_size(pattern, &next);
		while (at < count && !frame_matches(pattern, size, &frames[at]))
			at++;
		if (at++ >= count)
			return false;
	}
	return true;
}

struct gt_suppression *gt_suppressions_find(const struct gt_suppressions *s, enum gt_api api,
					    enum gt_kind kind, const char *function,
					    const struct gt_frame *frames, size_t count)
{
	for (size_t i = 0; i < s->count; i++) {
		struct gt_suppression *one = &s->list[i];

		if (one->what.has[api][kind] &&
		    stack_matches(one->pattern, function, frames, count))
			return one;
	}
	return NULL;
}
