/* SPDX-License-Identifier: MIT */
/* brief.c - names of functions for places where they do not fit. */
#include "base/brief.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"

/* Both marks have as many bytes. */
enum { MARK_BYTES = sizeof "<...>" - 1 };

static bool is_in_word(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '$' || (unsigned char)c >= 0x80;
}

/* Bytes of an operator with brackets in its sign, as "operator<<", that begins here; 0: none. */
static size_t operator_length(const char *name, size_t at)
{
	static const char word[] = "operator";
	static const char *const signs[] = {
		"<=>", "<<=", ">>=", "->*", "<<", ">>", "<=", ">=", "->", "<", ">",
	};

	if (!gt_text_begins(name + at, word) || (at && is_in_word(name[at - 1])))
		return 0;
	at += sizeof word - 1;
	for (size_t i = 0; i < sizeof signs / sizeof *signs; i++)
		if (gt_text_begins(name + at, signs[i]))
			return sizeof word - 1 + strlen(signs[i]);
	return 0;
}

/* "<lambda(int)>", "<unnamed>", "<T as Trait>": a name of its own, and nobody's arguments. */
static bool is_name(const char *name, size_t at)
{
	return !at || name[at - 1] == ' ' || name[at - 1] == '(' ||
	       gt_text_begins(name + at, "<lambda") || gt_text_begins(name + at, "<unnamed");
}

/* Behind the bracket that closes the one at `at`; 0: none does. */
static size_t closing(const char *name, size_t at)
{
	char *open = gt_alloc(strlen(name + at)), c;
	size_t depth = 0, step;

	for (; name[at]; at += step) {
		step = operator_length(name, at);
		if (step)
			continue;
		step = 1;
		c = name[at];
		if (strchr("<([{", c)) {
			open[depth++] = c;
		} else if (strchr(")]}", c)) {
			/* what is open in parentheses was no bracket, but "less than" */
			while (depth > 1 && open[depth - 1] == '<')
				depth--;
			depth -= depth > 1;
		} else if (c == '>' && name[at - 1] != '-' && open[depth - 1] == '<') {
			depth--;
		}
		if (!depth)
			break;
	}
	free(open);
	return name[at] ? at + 1 : 0;
}

char *gt_function_brief(const char *name, bool utf8)
{
	char *out = gt_alloc(strlen(name) + 1), *to = out;
	size_t at = 0, end;

	while (name[at]) {
		size_t length = operator_length(name, at);

		/* a blank keeps an operator's sign from its arguments */
		if (length && gt_text_begins(name + at + length, " <"))
			length++;
		to = mempcpy(to, name + at, length);
		at += length;
		if (name[at] != '<' || (!length && is_name(name, at))) {
			if (name[at])
				*to++ = name[at++];
			continue;
		}
		end = closing(name, at);
		if (!end)
			break;
		if (end - at > MARK_BYTES)
			to = mempcpy(to, utf8 ? "<…>" : "<...>", MARK_BYTES);
		else
			to = mempcpy(to, name + at, end - at);
		at = end;
	}
	strcpy(to, name + at);
	return out;
}
