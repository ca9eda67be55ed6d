/* SPDX-License-Identifier: MIT */
/* options.c - parses a subcommand's arguments and prints its --help, both from its table. */
#include "cli/options.h"

#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/format.h"
#include "base/mem.h"
#include "base/text.h"
#include "base/tool.h"
#include "cli/cli.h"
#include "cli/output.h"

enum { HELP_COLUMN = 28, HELP_WIDTH = 80, WORD_MAX = 32, WORDS_COLUMNS = 400 };

static gt_defaults_fn *defaults;
static gt_parsed_fn *parsed;

static const struct gt_option help_option = {
	.name = "help",
	.letter = 'h',
	.help = "show this help",
};

void gt_texts_fini(struct gt_texts *texts)
{
	free(texts->items);
	*texts = (struct gt_texts){ 0 };
}

static void texts_add(struct gt_texts *texts, const char *text)
{
	GT_GROW(texts->items, texts->count, texts->room);
	texts->items[texts->count++] = text;
	GT_GROW(texts->items, texts->count, texts->room);
	texts->items[texts->count] = NULL;
}

/* The edit distance between two words; swapping neighbours is one edit. */
static size_t distance(const char *a, const char *b)
{
	size_t rows[3][WORD_MAX + 1], m = strlen(a), n = strlen(b);

	if (m > WORD_MAX || n > WORD_MAX)
		return WORD_MAX;
	for (size_t i = 0; i <= m; i++) {
		size_t *row = rows[i % 3], *above = rows[(i + 2) % 3], *twice = rows[(i + 1) % 3];

		row[0] = i;
		for (size_t k = 1; k <= n; k++) {
			if (!i) {
				row[k] = k;
				continue;
			}
			row[k] = above[k - 1] + (a[i - 1] != b[k - 1]);
			if (above[k] + 1 < row[k])
				row[k] = above[k] + 1;
			if (row[k - 1] + 1 < row[k])
				row[k] = row[k - 1] + 1;
			if (i > 1 && k > 1 && a[i - 1] == b[k - 2] && a[i - 2] == b[k - 1] &&
			    twice[k - 2] + 1 < row[k])
				row[k] = twice[k - 2] + 1;
		}
	}
	return rows[m % 3][n];
}

const char *gt_nearest(const char *word, size_t count,
		       const char *(*name)(const void *context, size_t index), const void *context)
{
	size_t length = strlen(word), best = length < 4 ? 2 : length / 3 + 1;
	const char *nearest = NULL;

	for (size_t i = 0; i < count; i++) {
		const char *candidate = name(context, i);
		size_t edits = distance(word, candidate);

		/* a prefix counts as one mistake */
		if (length >= 2 && !strncmp(word, candidate, length) && edits > 1)
			edits = 1;
		if (edits < best) {
			best = edits;
			nearest = candidate;
		}
	}
	return nearest;
}

int gt_syntax_wrong(const struct gt_syntax *syntax, const char *format, ...)
{
	char text[1024];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof text, format, args);
	va_end(args);
	fprintf(stderr, "gputrack: %s: ", syntax->name);
	/* the words may come from a script, and thus be foreign text */
	gt_text_put(stderr, text, WORDS_COLUMNS, GT_CUT_MIDDLE, gt_is_utf8());
	fprintf(stderr, " (see `%s %s --help`)\n", gt_tool_name(), syntax->name);
	return GT_EXIT_USAGE;
}

static size_t option_count(const struct gt_syntax *syntax)
{
	size_t count = 0;

	while (syntax->options && syntax->options[count].name)
		count++;
	return count;
}

size_t gt_syntax_option_count(const struct gt_syntax *syntax)
{
	return option_count(syntax) + 1; /* every command has --help */
}

const struct gt_option *gt_syntax_option(const struct gt_syntax *syntax, size_t index)
{
	return index < option_count(syntax) ? &syntax->options[index] : &help_option;
}

static const char *option_name(const void *syntax, size_t index)
{
	return gt_syntax_option(syntax, index)->name;
}

const char *gt_option_nearest(const struct gt_syntax *syntax, const char *name)
{
	return gt_nearest(name, gt_syntax_option_count(syntax), option_name, syntax);
}

static const char *choice_name(const void *option, size_t index)
{
	return ((const struct gt_option *)option)->choices[index];
}

/* Names of the options on the last command line; more than these are never asked about. */
static struct {
	const char *names[64];
	size_t count;
} typed;

bool gt_option_was_typed(const char *name)
{
	for (size_t i = 0; i < typed.count; i++)
		if (!strcmp(typed.names[i], name))
			return true;
	return false;
}

int gt_option_needs(const struct gt_syntax *syntax, const char *name, bool met, const char *what)
{
	if (met || !gt_option_was_typed(name))
		return 0;
	return gt_syntax_wrong(syntax, "--%s has no effect here: it needs %s", name, what);
}

static void mark_typed(const struct gt_option *o)
{
	if (!gt_option_was_typed(o->name) && typed.count < sizeof typed.names / sizeof *typed.names)
		typed.names[typed.count++] = o->name;
}

/* The state of one parse. */
struct parse {
	const struct gt_syntax *syntax;
	void *settings;
	int argc;
	char **argv;
	int at;
};

static int set_choice(struct parse *p, const struct gt_option *o, const char *given,
		      const char *value, int *target)
{
	char list[256] = "";
	const char *near;
	size_t count = 0;

	for (; o->choices[count]; count++) {
		if (!strcmp(o->choices[count], value)) {
			*target = (int)count;
			return 0;
		}
		snprintf(list + strlen(list), sizeof list - strlen(list), "%s%s", count ? ", " : "",
			 o->choices[count]);
	}
	near = gt_nearest(value, count, choice_name, o);
	if (near)
		return gt_syntax_wrong(p->syntax, "%s has no choice '%s': did you mean '%s'?",
				       given, value, near);
	return gt_syntax_wrong(p->syntax, "%s must be one of %s, not '%s'", given, list, value);
}

static int set_choices(struct parse *p, const struct gt_option *o, const char *given,
		       const char *value, struct gt_choices *target)
{
	enum { MOST = sizeof target->list / sizeof *target->list };
	char word[WORD_MAX];
	size_t size;
	int e = 0;

	target->count = 0;
	do {
		size = strcspn(value, ",");
		snprintf(word, sizeof word, "%.*s", (int)(size < WORD_MAX ? size : WORD_MAX - 1),
			 value);
		if (target->count == MOST)
			return gt_syntax_wrong(p->syntax, "%s takes at most %d values", given,
					       MOST);
		e = set_choice(p, o, given, word, &target->list[target->count++]);
		value += size;
	} while (!e && *value++ == ',');
	return e;
}

static int check_range(struct parse *p, const struct gt_option *o, const char *given,
		       const char *value, double number)
{
	char least[GT_FORMAT_MAX], most[GT_FORMAT_MAX];

	if (number >= o->least && (!o->most || number <= o->most))
		return 0;
	snprintf(least, sizeof least, "%.15g", o->least);
	snprintf(most, sizeof most, "%.15g", o->most);
	if (o->type == GT_OPTION_SIZE) {
		gt_format_bytes(least, gt_whole(o->least));
		gt_format_bytes(most, gt_whole(o->most));
	}
	if (!o->most)
		return gt_syntax_wrong(p->syntax, "%s must be at least %s, not '%s'", given, least,
				       value);
	if (!o->least)
		return gt_syntax_wrong(p->syntax, "%s must be at most %s, not '%s'", given, most,
				       value);
	return gt_syntax_wrong(p->syntax, "%s must be from %s to %s, not '%s'", given, least, most,
			       value);
}

static int set_option(struct parse *p, const struct gt_option *o, const char *given,
		      const char *value)
{
	void *target = (char *)p->settings + o->at;

	switch (o->type) {
	case GT_OPTION_FLAG: *(bool *)target = true; return 0;
	case GT_OPTION_TEXT:
	case GT_OPTION_TEXTS:
		/* "$OUT" in a script where it is not set */
		if (!*value && !o->may_be_empty)
			return gt_syntax_wrong(p->syntax, "%s needs %s, but its value is empty",
					       given, o->argument);
		if (o->type == GT_OPTION_TEXTS)
			texts_add(target, value);
		else
			*(const char **)target = value;
		return 0;
	case GT_OPTION_MAYBE: *(const char **)target = value; return 0;
	case GT_OPTION_COUNT:
		if (gt_count_parse(value, target))
			return check_range(p, o, given, value, (double)*(uint64_t *)target);
		if (*value && !value[strspn(value, "0123456789")])
			return gt_syntax_wrong(
				p->syntax, "%s must be at most %llu, not '%s'", given,
				o->most ? (unsigned long long)o->most : ULLONG_MAX, value);
		return gt_syntax_wrong(p->syntax, "%s takes a whole number, not '%s'", given,
				       value);
	case GT_OPTION_DECIMAL:
		if (gt_decimal_parse(value, target))
			return check_range(p, o, given, value, *(double *)target);
		return gt_syntax_wrong(p->syntax, "%s takes a number, not '%s'", given, value);
	case GT_OPTION_SIZE:
		if (gt_size_parse(value, strlen(value), target, &(bool){ false }) &&
		    *(uint64_t *)target)
			return check_range(p, o, given, value, (double)*(uint64_t *)target);
		return gt_syntax_wrong(p->syntax, "%s takes a size such as 500M or 2GiB, not '%s'",
				       given, value);
	case GT_OPTION_CHOICE: return set_choice(p, o, given, value, target);
	case GT_OPTION_CHOICES: return set_choices(p, o, given, value, target);
	}
	return 0;
}

/* The value of the option at p->at: attached to it, or the next word. */
static int take_value(struct parse *p, const struct gt_option *o, const char *given,
		      const char *stuck)
{
	if (!stuck && p->at + 1 < p->argc)
		stuck = p->argv[++p->at];
	if (!stuck)
		return gt_syntax_wrong(p->syntax, "%s needs %s", given, o->argument);
	return set_option(p, o, given, stuck);
}

static int parse_long(struct parse *p, const char *word, const struct gt_option **found)
{
	const char *equals = strchr(word, '=');
	size_t length = equals ? (size_t)(equals - word) : strlen(word),
	       count = option_count(p->syntax);
	char name[WORD_MAX + 8], given[WORD_MAX + 8];
	const char *near;

	snprintf(name, sizeof name, "%.*s", (int)length, word);
	snprintf(given, sizeof given, "--%.*s", WORD_MAX, name);
	for (size_t i = 0; i <= count; i++) {
		const struct gt_option *o = gt_syntax_option(p->syntax, i);

		if (strcmp(o->name, name))
			continue;
		*found = o;
		mark_typed(o);
		if (o->type == GT_OPTION_MAYBE)
			return set_option(p, o, given, equals ? equals + 1 : o->bare);
		if (o->type != GT_OPTION_FLAG)
			return take_value(p, o, given, equals ? equals + 1 : NULL);
		if (equals)
			return gt_syntax_wrong(p->syntax, "%s takes no value", given);
		return o == &help_option ? 0 : set_option(p, o, given, NULL);
	}
	near = gt_option_nearest(p->syntax, name);
	if (near)
		return gt_syntax_wrong(p->syntax, "unknown option %s: did you mean --%s?", given,
				       near);
	return gt_syntax_wrong(p->syntax, "unknown option %s", given);
}

static int parse_short(struct parse *p, const char *letters, const struct gt_option **found)
{
	for (; *letters; letters++) {
		char given[] = { '-', *letters, '\0' };
		const struct gt_option *o = NULL;
		int status;

		for (size_t i = 0; i <= option_count(p->syntax); i++)
			if (gt_syntax_option(p->syntax, i)->letter == *letters)
				o = gt_syntax_option(p->syntax, i);
		if (!o)
			return gt_syntax_wrong(p->syntax, "unknown option %s", given);
		*found = o;
		mark_typed(o);
		if (o == &help_option)
			return 0;
		if (o->type != GT_OPTION_FLAG)
			return take_value(p, o, given, letters[1] ? letters + 1 : NULL);
		status = set_option(p, o, given, NULL);
		if (status)
			return status;
	}
	return 0;
}

void gt_options_defaults(gt_defaults_fn *before, gt_parsed_fn *after)
{
	defaults = before;
	parsed = after;
}

const struct gt_option *gt_option_find(const struct gt_syntax *syntax, const char *name)
{
	for (size_t i = 0; i < option_count(syntax); i++)
		if (!strcmp(syntax->options[i].name, name))
			return &syntax->options[i];
	return NULL;
}

int gt_option_set(const struct gt_syntax *syntax, void *settings, const struct gt_option *option,
		  const char *value, const char *called)
{
	static const char *const words[] = { "yes", "true", "on", "1", "no", "false", "off", "0" };
	enum { WORDS = sizeof words / sizeof *words };
	struct parse p = { .syntax = syntax, .settings = settings };
	size_t i = 0;

	if (option->type != GT_OPTION_FLAG)
		return set_option(&p, option, called, value);
	while (i < WORDS && strcmp(words[i], value))
		i++;
	if (i == WORDS)
		return gt_syntax_wrong(syntax, "%s must be yes or no, not '%s'", called, value);
	*(bool *)((char *)settings + option->at) = i < WORDS / 2;
	return 0;
}

/* Moves the operands behind all options. Returns the index of the first. */
static int gather_operands(char **argv, int argc, const bool *is_operand)
{
	char **sorted = gt_alloc((size_t)argc * sizeof *sorted);
	int at = 0, first;

	for (int i = 1; i < argc; i++)
		if (!is_operand[i])
			sorted[at++] = argv[i];
	first = at + 1;
	for (int i = 1; i < argc; i++)
		if (is_operand[i])
			sorted[at++] = argv[i];
	if (at)
		memcpy(argv + 1, sorted, (size_t)at * sizeof *sorted);
	free(sorted);
	return first;
}

static int check_typed(const struct parse *p, int first)
{
	int status = 0;

	for (size_t i = 0; !status && i < option_count(p->syntax); i++) {
		const struct gt_option *o = &p->syntax->options[i];

		if (o->check && gt_option_was_typed(o->name))
			status = o->check(p->syntax, (char *)p->settings + o->at, p->argc - first,
					  p->argv + first);
	}
	return status;
}

int gt_options_parse(const struct gt_syntax *syntax, void *settings, int argc, char **argv,
		     int *status)
{
	struct parse p = { syntax, settings, argc, argv, 1 };
	bool *is_operand = gt_alloc((size_t)argc + 1);
	int first = -1;

	typed.count = 0;
	*status = defaults && syntax->options ? defaults(syntax, settings) : 0;
	if (*status)
		goto free_marks;
	for (; p.at < argc; p.at++) {
		const char *word = argv[p.at];
		const struct gt_option *found = NULL;
		bool ends = !strcmp(word, "--");

		if (ends || ((word[0] != '-' || !word[1]) && syntax->first_operand_ends)) {
			memset(is_operand + p.at + ends, true, (size_t)(argc - p.at - ends));
			break;
		}
		if (word[0] != '-' || !word[1]) {
			is_operand[p.at] = true;
			continue;
		}
		*status = word[1] == '-' ? parse_long(&p, word + 2, &found) :
					   parse_short(&p, word + 1, &found);
		if (!*status && found == &help_option)
			gt_syntax_print(syntax);
		if (*status || found == &help_option)
			goto free_marks;
	}
	first = gather_operands(argv, argc, is_operand);
	if (!syntax->operands && first < argc) {
		*status = gt_syntax_wrong(syntax, "takes no operand, got '%s'", argv[first]);
		first = -1;
		goto free_marks;
	}
	*status = check_typed(&p, first);
	if (*status)
		first = -1;
	else if (parsed)
		parsed(syntax);
free_marks:
	free(is_operand);
	return first;
}

/* Text indented by `indent`, wrapped between words; the first line is at `column` already. */
static void print_wrapped(const char *text, int indent, int column)
{
	while (*text) {
		size_t word = strcspn(text, " \n");
		int wide = 0;

		for (size_t i = 0; i < word; i++)
			wide += ((unsigned char)text[i] & 0xc0) != 0x80;
		if (column > indent && column + 1 + wide > HELP_WIDTH) {
			printf("\n%*s", indent, "");
			column = indent;
		} else if (column > indent) {
			putchar(' ');
			column++;
		}
		fwrite(text, 1, word, stdout);
		column += wide;
		text += word;
		if (*text == '\n') {
			printf("\n%*s", text[1] ? indent : 0, "");
			column = indent;
		}
		text += *text != '\0';
	}
	putchar('\n');
}

static void print_option(const struct gt_option *o)
{
	char left[128];
	int length;

	length = snprintf(left, sizeof left, "  %s%.1s%s--%s%s%s%s", o->letter ? "-" : "  ",
			  o->letter ? &o->letter : "", o->letter ? ", " : "  ", o->name,
			  !o->argument               ? "" :
			  o->type == GT_OPTION_MAYBE ? "[=" :
						       " ",
			  o->argument ? o->argument : "", o->type == GT_OPTION_MAYBE ? "]" : "");
	fputs(left, stdout);
	for (int i = 0, bytes = length; i < bytes; i++)
		length -= ((unsigned char)left[i] & 0xc0) == 0x80;
	if (length + 2 > HELP_COLUMN)
		printf("\n%*s", HELP_COLUMN, "");
	else
		printf("%*s", HELP_COLUMN - length, "");
	print_wrapped(o->help, HELP_COLUMN, HELP_COLUMN);
}

void gt_syntax_print(const struct gt_syntax *syntax)
{
	printf("usage: gputrack %s [OPTION…]%s%s\n\n", syntax->name, syntax->operands ? " " : "",
	       syntax->operands ? syntax->operands : "");
	print_wrapped(syntax->about ? syntax->about : syntax->summary, 0, 0);
	printf("\noptions:\n");
	for (size_t i = 0; i <= option_count(syntax); i++)
		if (gt_syntax_option(syntax, i)->help)
			print_option(gt_syntax_option(syntax, i));
}
