/* SPDX-License-Identifier: MIT */
/* suppress.c - gputrack suppress: writes suppressions for the leaks of a recording. */
#include <stdlib.h>
#include <string.h>

#include "base/containers.h"
#include "base/mem.h"
#include "base/text.h"
#include "cli/cli.h"
#include "cli/output.h"
#include "cli/input.h"
#include "judge/leaks.h"
#include "replay/place.h"
#include "replay/replay.h"

/* A line of the list may have 4096 bytes, including what precedes the pattern. */
enum { NAME_MAX_BYTES = 1024, NAMES_MAX = 3 };

struct settings {
	struct gt_input input;
};

static const struct gt_option options[] = { GT_INPUT_OPTIONS(struct settings), { 0 } };

const struct gt_syntax gt_suppress_syntax = {
	.name = "suppress",
	.summary = "write suppressions for the leaks of a recording",
	.operands = "NAME.gt",
	.about = "Writes suppressions for all leaks of a recording: one line for each kind, "
		 "function and its callers, with the leaks it hides as a comment. Remove the lines "
		 "of leaks that you want to fix, and pass the rest to --suppressions.",
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

/* Each line of the text becomes a comment. */
static void put_comment(FILE *out, const char *text)
{
	char *copy = gt_strdup(text), *rest = copy, *line;

	while ((line = strsep(&rest, "\n"))) {
		if (!*line && !rest)
			break;
		fputs("# ", out);
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

static void write_list(const struct gt_view *v, FILE *out)
{
	struct gt_intern *lines = gt_intern_new();
	struct gt_leaks leaks;

	gt_leaks_init(&leaks, v, GT_BY_LINE);
	fputs("# Suppressions for gputrack: --suppressions FILE\n", out);
	for (size_t i = 0; i < leaks.count; i++) {
		char *text = gt_leak_text(v, &leaks.list[i]), *line = line_of(v, &leaks.list[i]);
		size_t known = gt_intern_count(lines);
		bool again = gt_intern(lines, line, strlen(line)) < known;

		fputs("\n", out);
		put_comment(out, text);
		fprintf(out, again ? "# covered above: %s\n" : "%s\n", line);
		free(line);
		free(text);
	}
	gt_intern_free(lines);
	gt_leaks_fini(&leaks);
}

static int suppress(const struct settings *s, struct gt_recording *recording,
		    struct gt_error *error)
{
	struct gt_view v = { .recording = recording };
	struct gt_ledger *ledger;
	struct gt_output output;
	int e = gt_output_open(&output, s->input.output, error);

	if (e)
		return e;
	e = gt_input_frames(&s->input, recording, &v.frames, error);
	if (e) {
		gt_output_abandon(&output);
		return e;
	}
	v.style = gt_terminal_style(output.file, GT_COLOR_NEVER);
	v.ledger = ledger = gt_replay_run(
		recording, &(struct gt_replay){ .held = gt_input_held(&s->input, v.frames),
						.tick = gt_progress_tick });
	gt_progress_end();
	write_list(&v, output.file);
	gt_frames_free(v.frames);
	gt_ledger_free(ledger);
	return gt_output_close(&output, error);
}

int gt_cmd_suppress(int argc, char **argv)
{
	struct settings s = { 0 };
	struct gt_recording *recording;
	struct gt_error error;
	int status, first = gt_options_parse(&gt_suppress_syntax, &s, argc, argv, &status);

	if (first >= 0)
		status =
			gt_input_open(&gt_suppress_syntax, &s.input, argc, argv, first, &recording);
	if (first < 0 || status)
		goto free_settings;
	if (suppress(&s, recording, &error))
		status = gt_fail("%s", error.text);
	gt_recording_close(recording);
free_settings:
	gt_input_fini(&s.input);
	return status;
}
