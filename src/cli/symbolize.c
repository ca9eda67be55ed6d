/* SPDX-License-Identifier: MIT */
/* symbolize.c - `gputrack symbolize`: resolves addresses for our library in a traced program. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "symbol/symbol.h"

const struct gt_syntax gt_symbolize_syntax = {
	.name = "symbolize",
	.summary =
		"resolve addresses for gputrack's own library (lines ADDRESS TAB MODULE on stdin)",
};

/* A tab or newline in the text would split the field. */
static void put_field(const char *text, char end)
{
	for (; text && *text; text++)
		putchar((unsigned char)*text < ' ' ? '?' : *text);
	putchar(end);
}

static void answer(struct gt_symbolizer *symbols, uint64_t address, const char *path)
{
	struct gt_symbol_module module = { .path = path };
	const struct gt_frame *frames;
	int number = gt_symbolizer_module(symbols, &module);
	size_t count = number < 0 ? 0 : gt_symbolizer_resolve(symbols, number, address, &frames);

	for (size_t i = 0; i < count; i++) {
		put_field(frames[i].function, '\t');
		put_field(frames[i].file, '\t');
		printf("%u\t%d\n", frames[i].line, frames[i].inlined);
	}
	putchar('\n');
	fflush(stdout);
}

int gt_cmd_symbolize(int argc, char **argv)
{
	struct gt_symbolizer *symbols;
	char *line = NULL, *path;
	size_t room = 0;
	int status, e;

	if (gt_options_parse(&gt_symbolize_syntax, NULL, argc, argv, &status) < 0)
		return status;
	e = gt_symbolizer_new(&symbols, &(struct gt_symbol_options){ 0 });
	if (e)
		return gt_fail("cannot read symbols: %s", strerror(-e));
	while (getline(&line, &room, stdin) > 0) {
		uint64_t address = strtoull(line, &path, 16);

		path[strcspn(path, "\n")] = '\0';
		answer(symbols, address, *path ? path + 1 : path);
	}
	free(line);
	gt_symbolizer_free(symbols);
	return GT_EXIT_DONE;
}
