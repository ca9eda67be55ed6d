/* SPDX-License-Identifier: MIT */
/* suppress.c - gputrack suppress: writes suppressions for the leaks of a recording. */
#include <stdlib.h>
#include <string.h>

#include "base/containers.h"
#include "base/mem.h"
#include "base/text.h"
#include "cli/cli.h"
#include "cli/output.h"
#include "cli/recordings.h"
#include "judge/merged.h"
#include "replay/own.h"
#include "replay/place.h"
#include "replay/replay.h"

/* A line of the list may have 4096 bytes, including what precedes the pattern. */
enum { NAME_MAX_BYTES = 1024, NAMES_MAX = 3 };

struct settings {
	struct gt_texts only, modules;
	bool pick;
	struct gt_input input;
};

#define AT(field) .at = offsetof(struct settings, field)

/* clang-format off */
static const struct gt_option options[] = {
	{ .name = "only", .argument = "PATTERN", .type = GT_OPTION_TEXTS, AT(only),
	  .help = "only for leaks with a function, file or module that PATTERN matches on their "
		  "stacks; may be repeated. Patterns are those of suppressions (doc/ci.md)" },
	{ .name = "module", .argument = "NAME", .type = GT_OPTION_TEXTS, AT(modules),
	  .help = "one line for all leaks that come through this library, libNAME.so; may be "
		  "repeated. Other leaks get no line" },
	{ .name = "pick", .type = GT_OPTION_FLAG, AT(pick),
	  .help = "show each leak and ask on standard input whether to suppress it: it alone, or "
		  "all leaks of its library" },
	GT_INPUT_OPTIONS(struct settings),
	{ 0 },
};
/* clang-format on */

const struct gt_syntax gt_suppress_syntax = {
	.name = "suppress",
	.summary = "write suppressions for the leaks of a recording",
	.operands = "NAME.gt…|DIR",
	.about = "Writes suppressions for all leaks of a recording, of several, or of a folder of "
		 "them: one line for each kind, function and its callers, with the leaks it hides "
		 "as a comment. Remove the lines of leaks that you want to fix, or choose with "
		 "--only, --module or --pick, and pass the rest to --suppressions.",
	.options = options,
};

/* Writes `text` with `instead` for each character that could break the line or hide in it. */
static void put_tame(FILE *out, const char *text, char instead)
{
	uint32_t code;
	size_t size;

	for (; *text; text += size) {
		size = gt_utf8_next(text, &code);
		if (code == GT_UTF8_BAD || gt_utf8_is_unsafe(code))
			putc(instead, out);
		else
			fwrite(text, 1, size, out);
	}
}

/* The first or last `size` bytes of a name, cut at whole characters. */
static char *part_of(const char *name, size_t size, bool last)
{
	size_t length = strlen(name);

	if (!last) {
		while (size && ((unsigned char)name[size] & 0xc0) == 0x80)
			size--;
		return gt_strndup(name, size);
	}
	while (size && ((unsigned char)name[length - size] & 0xc0) == 0x80)
		size--;
	return gt_strdup(name + length - size);
}

/* Masks a separator of callers that is part of the name itself. */
static void mask_separators(char *name)
{
	static const char *const separators[] = { GT_CALLED_BY, GT_CALLED_DIRECTLY_BY };

	for (size_t i = 0; i < sizeof separators / sizeof *separators; i++)
		for (char *at = name; (at = strstr(at, separators[i]));)
			*at = '*';
}

/*
 * A name as a pattern that matches it: `*` stands for characters that a line cannot hold, and for
 * the middle of a name that is too long for readers.
 */
static void put_pattern(FILE *out, const char *name)
{
	bool is_long = strlen(name) > NAME_MAX_BYTES;
	char *first = is_long ? part_of(name, NAME_MAX_BYTES / 2, false) : gt_strdup(name);
	char *last = is_long ? part_of(name, NAME_MAX_BYTES / 2, true) : gt_strdup("");

	mask_separators(first);
	mask_separators(last);
	putc('^', out);
	put_tame(out, first, '*');
	if (is_long)
		putc('*', out);
	put_tame(out, last, '*');
	putc('$', out);
	free(first);
	free(last);
}

/* Each line of the text, after these characters: "# " makes it a comment. */
static void put_lines(FILE *out, const char *before, const char *text)
{
	char *copy = gt_strdup(text), *rest = copy, *line;

	while ((line = strsep(&rest, "\n"))) {
		if (!*line && !rest)
			break;
		fputs(before, out);
		put_tame(out, line, '?');
		putc('\n', out);
	}
	free(copy);
}

/* As places say it: the same for all instances of a template. */
static void put_function(FILE *out, const struct gt_frame *frame)
{
	char *name = gt_place_function(frame);

	put_pattern(out, name);
	free(name);
}

/* The function and its callers: a shared function alone would hide the leaks of all its users. */
static void put_patterns(FILE *out, const struct gt_view *v, const struct gt_leak *leak)
{
	struct gt_place place;

	gt_place_init(&place, v->frames, leak->stack);
	if (place.frame.function) {
		put_function(out, &place.frame);
		for (size_t i = 0, names = 1; i < place.caller_count && names < NAMES_MAX; i++) {
			if (!place.callers[i].function)
				continue;
			fputs(GT_CALLED_BY, out);
			put_function(out, &place.callers[i]);
			names++;
		}
	} else {
		put_pattern(out, place.frame.module ? place.frame.module :
						      gt_function_names[leak->function]);
	}
	gt_place_fini(&place);
}

static char *line_of(const struct gt_view *v, const struct gt_leak *leak)
{
	char word[96], *text = NULL;
	size_t size;
	FILE *out = gt_memstream(&text, &size);

	gt_select_word(word, sizeof word, (enum gt_api)leak->api, (enum gt_kind)leak->kind);
	fprintf(out, "leak[%s]:", word);
	put_patterns(out, v, leak);
	gt_memstream_close(out);
	return text;
}

/* What the list is made from, and what it has so far. */
struct list {
	const struct settings *s;
	const struct gt_view *v; /* of the leak at hand */
	FILE *out;
	struct gt_intern *lines;
};

/* The line, unless the list has it, below a comment that says what it hides. */
static void put_line(struct list *list, const char *comment, const char *line)
{
	size_t known = gt_intern_count(list->lines);
	bool again = gt_intern(list->lines, line, strlen(line)) < known;

	fputs("\n", list->out);
	put_lines(list->out, "# ", comment);
	fprintf(list->out, again ? "# covered above: %s\n" : "%s\n", line);
}

/* "leak:libfoo.so": whatever comes through it. */
static char *module_line(const char *module)
{
	char *text = NULL;
	size_t size;
	FILE *out = gt_memstream(&text, &size);

	fputs("leak:", out);
	put_tame(out, module, '*');
	gt_memstream_close(out);
	return text;
}

/* The library that created it: the innermost one that is not the program's own. NULL: none. */
static char *library_of(const struct gt_view *v, const struct gt_leak *leak)
{
	const struct gt_frame *frames;
	size_t count = gt_frames_get(v->frames, leak->stack, &frames);
	char *dot, *name;

	for (size_t i = 0; i < count; i++) {
		if (!frames[i].module || gt_own_is(gt_frames_own(v->frames), &frames[i]))
			continue;
		/* without the version, which the next release changes */
		name = gt_strdup(gt_path_name(frames[i].module));
		dot = strstr(name, ".so.");
		if (dot)
			dot[sizeof ".so" - 1] = '\0';
		return name;
	}
	return NULL;
}

static bool has_module(const struct gt_view *v, const struct gt_leak *leak, const char *module)
{
	const struct gt_frame *frames;
	size_t count = gt_frames_get(v->frames, leak->stack, &frames);

	for (size_t i = 0; i < count; i++)
		if (frames[i].module && strstr(gt_path_name(frames[i].module), module))
			return true;
	return false;
}

static bool is_wanted(const struct list *list, const struct gt_leak *leak)
{
	const struct gt_frame *frames;
	size_t count = gt_frames_get(list->v->frames, leak->stack, &frames);

	for (size_t i = 0; i < list->s->only.count; i++)
		if (gt_pattern_matches_stack(list->s->only.items[i],
					     gt_function_names[leak->function], frames, count))
			return true;
	return !list->s->only.count;
}

static void put_leak_line(struct list *list, const struct gt_leak *leak, const char *text)
{
	char *line = line_of(list->v, leak);

	put_line(list, text, line);
	free(line);
}

static void put_library_line(struct list *list, const char *library, const char *text)
{
	char *line = module_line(library);

	put_line(list, text, line);
	free(line);
}

enum answer { ANSWER_NO, ANSWER_YES, ANSWER_LIBRARY, ANSWER_QUIT };

/* Asks until there is an answer; the end of the input is quit. */
static enum answer ask(const char *text, const char *library)
{
	char line[64];

	for (;;) {
		putc('\n', stderr);
		put_lines(stderr, "", text);
		fputs("suppress it? [y]es, [n]o, ", stderr);
		if (library) {
			fputs("[l]ibrary ", stderr);
			put_tame(stderr, library, '?');
			fputs(", ", stderr);
		}
		fputs("[q]uit: ", stderr);
		if (!fgets(line, sizeof line, stdin))
			return ANSWER_QUIT;
		switch (line[0]) {
		case 'y': return ANSWER_YES;
		case 'n': return ANSWER_NO;
		case 'q': return ANSWER_QUIT;
		case 'l':
			if (library)
				return ANSWER_LIBRARY;
			break;
		default: break;
		}
	}
}

/* False when no more are to be asked about. */
static bool pick(struct list *list, const struct gt_leak *leak, const char *text)
{
	char *library = library_of(list->v, leak), *line = library ? module_line(library) : NULL;
	enum answer answer = ANSWER_NO;

	/* a library that was answered for covers it */
	if (!line || gt_intern_find(list->lines, line, strlen(line)) == GT_NOT_INTERNED)
		answer = ask(text, library);
	if (answer == ANSWER_YES)
		put_leak_line(list, leak, text);
	else if (answer == ANSWER_LIBRARY)
		put_library_line(list, library, text);
	free(line);
	free(library);
	return answer != ANSWER_QUIT;
}

static bool put_leak(struct list *list, const struct gt_leak *leak)
{
	char *text = gt_leak_text(list->v, leak);
	bool more = true;

	if (list->s->modules.count) {
		for (size_t i = 0; i < list->s->modules.count; i++)
			if (has_module(list->v, leak, list->s->modules.items[i]))
				put_library_line(list, list->s->modules.items[i], text);
	} else if (list->s->pick) {
		more = pick(list, leak, text);
	} else {
		put_leak_line(list, leak, text);
	}
	free(text);
	return more;
}

/* Of all recordings: each leak once. */
static void write_list(const struct settings *s, const struct gt_loaded *loaded, size_t count,
		       FILE *out)
{
	struct list list = { .s = s, .out = out, .lines = gt_intern_new() };
	struct gt_leaks *leaks = gt_alloc(count * sizeof *leaks);
	const struct gt_leaks **lists = gt_alloc(count * sizeof *lists);
	struct gt_merged merged;

	for (size_t i = 0; i < count; i++) {
		gt_leaks_init(&leaks[i], &loaded[i].view, GT_BY_LINE);
		lists[i] = &leaks[i];
	}
	gt_merged_init_lists(&merged, lists, count);
	fputs("# Suppressions for gputrack: --suppressions FILE\n", out);
	for (size_t i = 0; i < merged.leaks.count; i++) {
		list.v = &loaded[merged.from[i]].view;
		if (is_wanted(&list, &merged.leaks.list[i]) &&
		    !put_leak(&list, &merged.leaks.list[i]))
			break;
	}
	gt_merged_fini(&merged);
	for (size_t i = 0; i < count; i++)
		gt_leaks_fini(&leaks[i]);
	free(leaks);
	free(lists);
	gt_intern_free(list.lines);
}

static int suppress(const struct settings *s, const struct gt_recordings *found,
		    struct gt_error *error)
{
	struct gt_loaded *loaded;
	struct gt_output output;
	int e = gt_recordings_load(&loaded, found, &s->input, error);

	if (e)
		return e;
	e = gt_output_open(&output, s->input.output, error);
	if (e) {
		gt_recordings_unload(loaded, found->count);
		return e;
	}
	for (size_t i = 0; i < found->count; i++) {
		struct gt_view *v = &loaded[i].view;

		v->style = gt_terminal_style(output.file, GT_COLOR_NEVER);
		v->ledger = loaded[i].ledger = gt_replay_run(
			loaded[i].recording,
			&(struct gt_replay){ .held = gt_input_held(&s->input, v->frames),
					     .tick = gt_progress_tick });
	}
	gt_progress_end();
	write_list(s, loaded, found->count, output.file);
	gt_recordings_unload(loaded, found->count);
	return gt_output_close(&output, error);
}

static int check(const struct settings *s, int operands)
{
	if (!operands)
		return gt_syntax_wrong(&gt_suppress_syntax, "needs a recording, NAME.gt");
	if (s->pick && s->modules.count)
		return gt_syntax_wrong(&gt_suppress_syntax,
				       "--pick asks for the library: remove --module");
	return 0;
}

int gt_cmd_suppress(int argc, char **argv)
{
	struct settings s = { 0 };
	struct gt_recordings found = { 0 };
	struct gt_error error;
	int status, first = gt_options_parse(&gt_suppress_syntax, &s, argc, argv, &status);

	if (first >= 0)
		status = check(&s, argc - first);
	if (first >= 0 && !status) {
		gt_recordings_find(&found, argv + first, (size_t)(argc - first));
		if (suppress(&s, &found, &error))
			status = gt_fail("%s", error.text);
	}
	gt_recordings_fini(&found);
	gt_texts_fini(&s.only);
	gt_texts_fini(&s.modules);
	gt_input_fini(&s.input);
	return status;
}
