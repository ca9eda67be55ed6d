/* SPDX-License-Identifier: MIT */
/* script.c - what a script does to the variables by which programs find our libraries. */
#include "cli/run/script.h"

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/tool.h"

enum { LINES_MAX = 100000 };

static const char variable[] = "LD_LIBRARY_PATH";

/* True if the text takes the variable's value: in a shell by $, in Python by its name in quotes. */
static bool takes_value(const char *text)
{
	for (const char *at = text; (at = strstr(at, variable)); at++)
		if (at > text && strchr("${\"'", at[-1]))
			return true;
	return false;
}

/* "LD_LIBRARY_PATH=…", also as a key in quotes and brackets; not if the old value is in the new. */
static bool drops(const char *line)
{
	const char *at = strstr(line, variable), *value;

	if (!at || line[strspn(line, " \t")] == '#')
		return false;
	value = at + strlen(variable);
	if (strstr(line, "unset ") && strstr(line, "unset ") < at)
		return true;
	value += strspn(value, "\"'] \t");
	return *value == '=' && value[1] != '=' && !takes_value(value);
}

unsigned gt_script_drops_library_path(const char *program)
{
	char found[PATH_MAX], *line = NULL;
	unsigned number = 0, result = 0;
	size_t room = 0;
	FILE *file;

	if (!strchr(program, '/')) {
		if (!gt_tool_search(program, found, sizeof found))
			return 0;
		program = found;
	}
	file = fopen(program, "re");
	if (!file)
		return 0;
	while (!result && number < LINES_MAX && getline(&line, &room, file) >= 0) {
		number++;
		if (number == 1 && strncmp(line, "#!", 2))
			break;
		if (drops(line))
			result = number;
	}
	free(line);
	fclose(file);
	return result;
}
