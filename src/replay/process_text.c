/* SPDX-License-Identifier: MIT */
/* process_text.c - what a process is called. */
#include "replay/process_text.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"

static char *base_name(const char *path, size_t size)
{
	for (size_t i = size; i--;)
		if (path[i] == '/' && i + 1 < size)
			return gt_strndup(path + i + 1, size - i - 1);
	return gt_strndup(path, size);
}

bool gt_is_interpreter(const char *name)
{
	static const char *const names[] = {
		"python", "pypy", "sh",     "bash",   "dash",  "zsh",   "perl",
		"ruby",   "node", "nodejs", "java",   "jvm",   "julia", "lua",
		"luajit", "php",  "tclsh",  "dotnet", "guile", "R",     "Rscript",
	};
	size_t size = 0;

	name = gt_path_name(name);
	if (gt_text_begins(name, "lib"))
		name += 3;
	while (isalpha((unsigned char)name[size]))
		size++;
	if (name[size] && !isdigit((unsigned char)name[size]) && !strchr(".-", name[size]))
		return false;
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (strlen(names[i]) == size && !strncmp(names[i], name, size))
			return true;
	return false;
}

/* The first word after the program that is not an option; NULL if there is none. */
static char *script_of(const char *command)
{
	for (const char *at = command + strcspn(command, " "); *at;) {
		size_t size;

		at += strspn(at, " ");
		size = strcspn(at, " ");
		if (!strncmp(at, "-c", 2) || !strncmp(at, "-m", 2))
			return NULL;
		if (size && *at != '-')
			return *at == '\'' ? base_name(at + 1, strcspn(at + 1, "'")) :
					     base_name(at, size);
		at += size;
	}
	return NULL;
}

char *gt_process_name(const struct gt_process *process)
{
	const char *path = *process->program ? process->program : process->command;
	char *name = base_name(path, *process->program ? strlen(path) : strcspn(path, " "));
	char *script = NULL, *both = NULL;

	if (!gt_is_interpreter(name))
		return name;
	if (strstr(process->command, "multiprocessing.spawn") ||
	    strstr(process->command, "multiprocessing.forkserver"))
		script = gt_strdup("(multiprocessing)");
	else
		script = script_of(process->command);
	if (!script || asprintf(&both, "%s %s", name, script) < 0) {
		free(script);
		return name;
	}
	free(script);
	free(name);
	return both;
}
