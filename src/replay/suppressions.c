/* SPDX-License-Identifier: MIT */
/* suppressions.c - known leaks that are not to be counted. */
#include "replay/suppressions.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/function_name.h"
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

/* A part of a pattern, up to a separator. */
struct part {
	const char *text;
	size_t size;
	const char *next;      /* the part after it; NULL: none */
	bool next_is_adjacent; /* … must match the very next frame */
};

static struct part part_of(const char *pattern)
{
	const char *some = strstr(pattern, GT_CALLED_BY);
	const char *direct = strstr(pattern, GT_CALLED_DIRECTLY_BY);
	bool is_direct = direct && (!some || direct < some);
	const char *end = is_direct ? direct : some;
	size_t separator = strlen(is_direct ? GT_CALLED_DIRECTLY_BY : GT_CALLED_BY);

	return (struct part){ .text = pattern,
			      .size = end ? (size_t)(end - pattern) : strlen(pattern),
			      .next = end ? end + separator : NULL,
			      .next_is_adjacent = is_direct };
}

static bool is_whole(const char *pattern)
{
	for (; pattern; pattern = part_of(pattern).next)
		if (!part_of(pattern).size)
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

/* A comment's text; NULL: the line is none. */
static char *comment_of(const char *text, size_t size)
{
	if (!size || *text != '#')
		return NULL;
	while (size && strchr("# \t", *text)) {
		text++;
		size--;
	}
	return gt_strndup(text, size);
}

int gt_suppressions_parse(struct gt_suppressions *s, const char *file, const char *text,
			  size_t size, struct gt_error *error)
{
	char *comment = NULL;
	unsigned number = 0;
	int e = 0;

	while (!e && size) {
		const char *end = memchr(text, '\n', size);
		size_t length = end ? (size_t)(end - text) : size, known = s->count;

		e = parse_line(s, file, ++number, text, length, error);
		if (s->count > known)
			s->list[known].comment = comment;
		else
			free(comment);
		comment = comment_of(text, length);
		length += end != NULL;
		text += length;
		size -= length;
	}
	free(comment);
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
		free(s->list[i].comment);
	}
	free(s->list);
	*s = (struct gt_suppressions){ 0 };
}

/* The size of the library that a part names, "libx.so" of "libx.so!function"; 0: it names none. */
static size_t library_size(const struct part *part)
{
	const char *mark = memchr(part->text, '!', part->size);
	size_t size = mark ? (size_t)(mark - part->text) : 0;

	/* other names have exclamation marks, too: operator!= */
	return memmem(part->text, size, ".so", 3) ? size : 0;
}

char *gt_suppression_library(const struct gt_suppression *s)
{
	for (const char *at = s->pattern; at; at = part_of(at).next) {
		struct part part = part_of(at);
		size_t library = library_size(&part);

		if (library || memmem(part.text, part.size, ".so", 3))
			return gt_strndup(part.text, library ? library : part.size);
	}
	return NULL;
}

/* A function may be given as places say it, too: without template arguments and parameters. */
static bool function_matches(const char *pattern, size_t size, const struct gt_frame *frame)
{
	char *name;
	bool found = matches(pattern, size, frame->function);

	if (found || !strpbrk(frame->function, "<({["))
		return found;
	name = gt_function_short(frame->function);
	found = matches(pattern, size, name);
	free(name);
	return found;
}

static bool frame_matches(const struct part *part, const struct gt_frame *frame)
{
	size_t library = library_size(part), size = part->size - (library ? library + 1 : 0);
	const char *pattern = part->text + part->size - size;

	if (library && (!frame->module || !matches(part->text, library, frame->module)))
		return false;
	return (frame->function && function_matches(pattern, size, frame)) ||
	       (frame->file && matches(pattern, size, frame->file)) ||
	       (!library && frame->module && matches(pattern, size, frame->module));
}

/*
 * How many frames, from the first on, match the parts that call each other directly; 0 if one does
 * not. *next is the part after these, or NULL.
 */
static size_t count_adjacent(const char *pattern, const struct gt_frame *frames, size_t count,
			     const char **next)
{
	struct part part;

	for (size_t i = 0; i < count; i++, pattern = part.next) {
		part = part_of(pattern);
		if (!frame_matches(&part, &frames[i]))
			return 0;
		if (part.next && part.next_is_adjacent)
			continue;
		*next = part.next;
		return i + 1;
	}
	return 0;
}

/* Each part must match a frame further out than the part before; the first that does will do. */
static bool frames_match(const char *pattern, bool at_first, const struct gt_frame *frames,
			 size_t count)
{
	size_t at = 0, size;

	for (; pattern; at += size) {
		const char *next = NULL;

		while (!(size = count_adjacent(pattern, frames + at, count - at, &next)))
			if (at_first || ++at >= count)
				return false;
		pattern = next;
		at_first = false;
	}
	return true;
}

/* `function` is what the innermost frame calls. */
bool gt_pattern_matches_stack(const char *pattern, const char *function,
			      const struct gt_frame *frames, size_t count)
{
	struct part part = part_of(pattern);

	if (matches(part.text, part.size, function) &&
	    (!part.next || frames_match(part.next, part.next_is_adjacent, frames, count)))
		return true;
	return frames_match(pattern, false, frames, count);
}

struct gt_suppression *gt_suppressions_find(const struct gt_suppressions *s, enum gt_api api,
					    enum gt_kind kind, const char *function,
					    const struct gt_frame *frames, size_t count)
{
	for (size_t i = 0; i < s->count; i++) {
		struct gt_suppression *one = &s->list[i];

		if (one->what.has[api][kind] &&
		    gt_pattern_matches_stack(one->pattern, function, frames, count))
			return one;
	}
	return NULL;
}
