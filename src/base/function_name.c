/* SPDX-License-Identifier: MIT */
/* function_name.c - names of functions made short enough to read: C++, Rust, and all the others. */
#include "base/function_name.h"

#include <ctype.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"

/* "<…>" has as many bytes. */
enum { MARK_BYTES = sizeof "<...>" - 1 };

/* A bracket that nothing closes costs a look at the whole rest, and names may have a megabyte. */
enum { KEPT_BRACKETS_MAX = 16 };

static bool is_in_word(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '$' || (unsigned char)c >= 0x80;
}

/* Length of an operator's name with brackets in it, as "operator<<", at `at`; 0: none. */
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

/* "<lambda(int)>", "<unnamed>", "<T as Trait>", ".<listcomp>": a name, not a list of arguments. */
static bool is_name(const char *name, size_t at)
{
	return !at || strchr(" (.", name[at - 1]) || gt_text_begins(name + at, "<lambda") ||
	       gt_text_begins(name + at, "<unnamed");
}

/* The index after the bracket that closes the one at `at`; 0: none does. */
static size_t closing_bracket(const char *name, size_t at)
{
	char *open = NULL, c;
	size_t depth = 0, room = 0, step;

	for (; name[at]; at += step) {
		step = operator_length(name, at);
		if (step)
			continue;
		step = 1;
		c = name[at];
		if (strchr("<([{", c)) {
			GT_GROW(open, depth, room);
			open[depth++] = c;
		} else if (strchr(")]}", c)) {
			/* a '<' still open inside parentheses was a "less than" sign */
			while (depth > 1 && open[depth - 1] == '<')
				depth--;
			depth -= depth > 1;
		} else if (c == '>' && depth && name[at - 1] != '-' && open[depth - 1] == '<') {
			depth--;
		}
		if (!depth)
			break;
	}
	free(open);
	return name[at] ? at + 1 : 0;
}

char *gt_function_abbreviate(const char *name, bool utf8)
{
	char *out = gt_alloc(strlen(name) + 1), *to = out;
	size_t at = 0, end;

	while (name[at]) {
		size_t length = operator_length(name, at);

		/* a blank separates an operator's sign from its arguments */
		if (length && gt_text_begins(name + at + length, " <"))
			length++;
		to = mempcpy(to, name + at, length);
		at += length;
		if (name[at] != '<' || (!length && is_name(name, at))) {
			if (name[at])
				*to++ = name[at++];
			continue;
		}
		end = closing_bracket(name, at);
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

/* Bytes that `name` begins with and a reader does not need; 0: none. */
static size_t noise_length(const char *name, size_t at)
{
	static const char *const pieces[] = {
		"(anonymous namespace)::", "{anonymous}::",       "<unnamed>::", ".<locals>",
		"(anonymous struct)::",    "(anonymous union)::",
	};
	static const char *const in_std[] = { "__cxx11::", "__1::" };

	for (size_t i = 0; i < sizeof pieces / sizeof *pieces; i++)
		if (gt_text_begins(name + at, pieces[i]))
			return strlen(pieces[i]);
	for (size_t i = 0; i < sizeof in_std / sizeof *in_std; i++)
		if (at >= 5 && !strncmp(name + at - 5, "std::", 5) &&
		    gt_text_begins(name + at, in_std[i]))
			return strlen(in_std[i]);
	if (gt_text_begins(name + at, "[abi:") || gt_text_begins(name + at, " [clone "))
		return strcspn(name + at, "]") + (strchr(name + at, ']') != NULL);
	return 0;
}

/* True for "::h" and the 16 digits that end a name of Rust. */
static bool is_hash(const char *name)
{
	return gt_text_begins(name, "::h") && strnlen(name, 20) == 19 &&
	       strspn(name + 3, "0123456789abcdef") == 16;
}

/* The same of a parenthesis or brace, by its own kind alone. */
static size_t closing_other(const char *name, size_t at)
{
	char open = name[at], close = open == '(' ? ')' : '}';
	size_t depth = 0;

	for (; name[at]; at++) {
		depth += name[at] == open;
		if (name[at] == close && !--depth)
			return at + 1;
	}
	return 0;
}

/* A lambda or closure at `at`: its end, and what it is called; 0: none. */
static size_t nameless_end(const char *name, size_t at, const char **word)
{
	static const struct {
		const char *begin, *word;
	} kinds[] = { { "{lambda", "{lambda}" },           /* GCC's and clang's symbols */
		      { "<lambda(", "{lambda}" },          /* GCC's debug information */
		      { "(anonymous class)", "{lambda}" }, /* as our symbolizer calls both */
		      { "$_", "{lambda}" },                /* clang's: "$_0" */
		      { "{{closure", "{{closure}}" },      /* Rust's symbols */
		      { "{closure", "{{closure}}" } };

	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
		if (!gt_text_begins(name + at, kinds[i].begin))
			continue;
		*word = kinds[i].word;
		return name[at] == '$' ? at + 2 + strspn(name + at + 2, "0123456789") :
		       name[at] == '<' ? closing_bracket(name, at) :
					 closing_other(name, at);
	}
	return 0;
}

/* The end of what may follow a list of parameters, or a lambda: " const", "&", "::operator()". */
static size_t skip_qualifiers(const char *name, size_t at)
{
	static const char *const words[] = { " const", " volatile", " &&", " &", "&&", "&" };

	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		if (gt_text_begins(name + at, words[i]))
			at += strlen(words[i]);
	return at;
}

static bool is_cast(const char *name, size_t at)
{
	return at >= 8 && !strncmp(name + at - 8, "operator", 8);
}

/* Go: "main.(*Trainer).Step" */
static bool is_receiver(const char *name, size_t at)
{
	return at && name[at - 1] == '.';
}

/* Where the name goes on after what is left out at `at`, which `to` may say in a word. */
static size_t leave_out(const char *name, size_t at, char *out, char **to)
{
	static const char call[] = "::operator()";
	size_t end = noise_length(name, at);
	const char *word;

	if (end)
		return at + end;
	end = nameless_end(name, at, &word);
	if (end) {
		*to = mempcpy(*to, word, strlen(word));
		return gt_text_begins(name + end, call) ? end + sizeof call - 1 : end;
	}
	if (name[at] == '(' && !is_cast(name, at) && !is_receiver(name, at)) {
		end = closing_other(name, at);
		/* D: "f!(T)" */
		if (end && *to > out && (*to)[-1] == '!')
			--*to;
		return end ? skip_qualifiers(name, end) : at;
	}
	end = name[at] == '<' && !is_name(name, at) ? closing_bracket(name, at) : 0;
	if (!end)
		return at;
	/* Rust: "f::<T>" */
	if (*to - out >= 2 && !strncmp(*to - 2, "::", 2))
		*to -= 2;
	return end;
}

/* Fortran: "__solver_MOD_step" -> "solver::step"; NULL: it is none. */
static char *of_module(const char *name)
{
	const char *mark = gt_text_begins(name, "__") ? strstr(name, "_MOD_") : NULL;
	char *text;

	if (!mark || asprintf(&text, "%.*s::%s", (int)(mark - name - 2), name + 2, mark + 5) < 0)
		return NULL;
	return text;
}

char *gt_function_short(const char *name)
{
	/* a word may take more bytes than what it stands for: "$_" */
	char *out = of_module(name), *to;
	size_t at = 0, kept = 0;

	if (out)
		return out;
	to = out = gt_alloc(4 * strlen(name) + 16);
	while (name[at] && kept < KEPT_BRACKETS_MAX && !is_hash(name + at)) {
		size_t length = operator_length(name, at), next;

		if (length) {
			to = mempcpy(to, name + at, length);
			at += length;
			/* a blank separates an operator's sign from its arguments */
			next = at + (name[at] == ' ');
			next = name[next] == '<' ? closing_bracket(name, next) : 0;
			if (next)
				at = next;
			continue;
		}
		next = leave_out(name, at, out, &to);
		kept += next == at && strchr("<({", name[at]);
		if (next == at)
			*to++ = name[at++];
		else
			at = next;
	}
	strcpy(to, kept < KEPT_BRACKETS_MAX ? "" : name + at);
	if (*out)
		return out;
	free(out);
	return gt_strdup(name);
}

const char *gt_function_tail(const char *name)
{
	const char *parts[2] = { name, name };
	size_t depth = 0, count = 1;

	for (const char *c = name; *c; c++) {
		if (strchr("<({[", *c))
			depth++;
		else if (strchr(">)}]", *c) && depth)
			depth--;
		if (depth || c[0] != ':' || c[1] != ':' || !c[2])
			continue;
		parts[0] = parts[1];
		parts[1] = ++c + 1;
		count++;
	}
	return count > 3 ? parts[0] : name;
}
