/* SPDX-License-Identifier: MIT */
/* process_text.c - what a process is called, and whether it still runs: its resources may be in
 * use. */
#include "replay/process_text.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/format.h"
#include "base/mem.h"

static char *base_name(const char *path, size_t size)
{
	for (size_t i = size; i--;)
		if (path[i] == '/' && i + 1 < size)
			return gt_strndup(path + i + 1, size - i - 1);
	return gt_strndup(path, size);
}

/* By the name's letters alone: python3.11 is a python. */
static bool is_interpreter(const char *name)
{
	static const char *const names[] = { "python", "sh",   "bash", "dash",  "zsh", "perl",
					     "ruby",   "node", "java", "julia", "lua" };
	size_t size = 0;

	while (isalpha((unsigned char)name[size]))
		size++;
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

	if (!is_interpreter(name))
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

enum { UNKNOWN, ENDED, GOES_ON };

void gt_running_init(struct gt_running *r, const struct gt_recording *recording)
{
	r->recording = recording;
	r->known = gt_alloc(gt_recording_process_count(recording));
}

void gt_running_fini(struct gt_running *r)
{
	free(r->known);
}

bool gt_running_has(struct gt_running *r, const struct gt_entry *entry)
{
	uint8_t *known = &r->known[entry->process];

	if (*known == UNKNOWN)
		*known = gt_process_goes_on(gt_recording_process(r->recording, entry->process)) ?
				 GOES_ON :
				 ENDED;
	return *known == GOES_ON;
}

uint64_t gt_running_count(const struct gt_recording *recording, const struct gt_groups *groups)
{
	struct gt_running running;
	uint64_t count = 0;

	gt_running_init(&running, recording);
	for (size_t i = 0; i < groups->count; i++)
		for (size_t k = 0; k < groups->list[i].count; k++)
			count += gt_running_has(&running, groups->list[i].objects[k]);
	gt_running_fini(&running);
	return count;
}

bool gt_running_holds(const struct gt_view *v, const struct gt_groups *groups)
{
	return groups->object_count &&
	       gt_running_count(v->recording, groups) == groups->object_count;
}

void gt_running_word(struct gt_printer *p, const struct gt_view *v, const struct gt_groups *groups)
{
	bool alive = gt_running_holds(v, groups);

	gt_print_put(p, alive ? GT_YELLOW : GT_RED, alive ? "ALIVE" : "LEAKED");
}

/* Why the running processes are no longer recorded. */
static const char *how(const struct gt_recording *recording)
{
	bool has_stopped = false;

	for (size_t i = 0; i < gt_recording_process_count(recording); i++) {
		if (gt_recording_process(recording, i)->went_on)
			return "kept running after gputrack detached";
		has_stopped |= gt_recording_process(recording, i)->state == GT_TRACE_STOPPED;
	}
	return has_stopped ? "kept running after recording stopped" : "are still running";
}

void gt_running_line(struct gt_printer *p, const struct gt_view *v, const struct gt_groups *groups)
{
	const char *which = how(v->recording);
	uint64_t count = gt_running_count(v->recording, groups);
	char text[GT_FORMAT_MAX];

	if (count && count == groups->object_count)
		gt_print_wrap(p, GT_DIM, 2, "held by programs that %s: may be in use", which);
	else if (count)
		gt_print_wrap(p, GT_YELLOW, 2,
			      "%s of them held by programs that %s: %s may be in use",
			      gt_format_count(text, count), which, gt_plural(count, "it", "they"));
}
