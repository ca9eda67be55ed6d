/* SPDX-License-Identifier: MIT */
/* process_text.c - what processes, their threads and devices are called. */
#include "replay/process_text.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/format.h"
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

/* The first word after the program that is not an option, or Python's module; NULL: none. */
static char *script_of(const char *command)
{
	for (const char *at = command + strcspn(command, " "); *at;) {
		size_t size;

		at += strspn(at, " ");
		size = strcspn(at, " ");
		if (!strncmp(at, "-c", 2))
			return NULL;
		if (!strncmp(at, "-m", 2)) {
			at += size > 2 ? 2 : 2 + strspn(at + 2, " ");
			return *at ? gt_strndup(at, strcspn(at, " ")) : NULL;
		}
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

void gt_process_user_json(struct gt_json *j, const struct gt_process *process)
{
	uint64_t uid;

	if (gt_count_parse(process->uid, &uid))
		gt_json_uint(j, "uid", uid);
	if (*process->user)
		gt_json_text(j, "user", process->user);
	if (*process->container)
		gt_json_text(j, "container", process->container);
	if (*process->pod)
		gt_json_text(j, "pod", process->pod);
}

char *gt_part_text(const struct gt_recording *r, enum gt_part_by by,
		   const struct gt_stack_part *part, bool any_pid)
{
	const struct gt_process *process;
	char *name, *text;
	int n;

	if (by == GT_PART_DEVICE) {
		const char *device = gt_recording_place(r, (uint16_t)part->place);

		return gt_strdup(*device ? device : "(no device)");
	}
	if (by == GT_PART_PHASE)
		return gt_recording_phase_text(r, part->phase);
	process = gt_recording_process(r, part->process);
	name = gt_process_name(process);
	if (!*name) {
		free(name);
		name = gt_strdup(GT_PROGRAM_UNKNOWN);
	}
	if (any_pid)
		return name;
	if (by == GT_PART_THREAD)
		n = asprintf(&text, "thread %" PRIu32 " of %s, pid %" PRIu32, part->tid, name,
			     process->pid);
	else
		n = asprintf(&text, "%s, pid %" PRIu32, name, process->pid);
	if (n < 0)
		return name;
	free(name);
	return text;
}
