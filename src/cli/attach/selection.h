/* SPDX-License-Identifier: MIT */
/* selection.h - processes by name, program, cgroup, container and user. */
#pragma once

#include <sys/types.h>

#include "cli/options.h"

/*
 * As typed. A process is selected if it matches one value of each option that was given, or if one
 * of its ancestors does. Zeroed selects nothing.
 */
struct gt_selection {
	struct gt_texts comms, exes, cgroups, containers, users;
	bool no_children; /* ancestors do not count */
	uid_t *uids;      /* of `users` */
};

/* Rows for a `struct gt_selection` at this offset. */
#define GT_SELECTION_OPTIONS(base)                                                                 \
	{ .name = "no-children",                                                                   \
	  .type = GT_OPTION_FLAG,                                                                  \
	  .at = (base) + offsetof(struct gt_selection, no_children),                               \
	  .local = GT_LOCAL_NO,                                                                    \
	  .help = "only the processes that were named, without their children" },                  \
		{ .name = "comm",                                                                  \
		  .argument = "NAME",                                                              \
		  .type = GT_OPTION_TEXTS,                                                         \
		  .at = (base) + offsetof(struct gt_selection, comms),                             \
		  .local = GT_LOCAL_NO,                                                            \
		  .help = "processes called NAME, as `ps -o comm` shows it, running now or "       \
			  "started "                                                               \
			  "later, and their children; a pattern like 'python*'; may be repeated, " \
			  "and "                                                                   \
			  "combined with the next four" },                                         \
		{ .name = "exe",                                                                   \
		  .argument = "PROGRAM",                                                           \
		  .type = GT_OPTION_TEXTS,                                                         \
		  .at = (base) + offsetof(struct gt_selection, exes),                              \
		  .local = GT_LOCAL_NO,                                                            \
		  .help = "processes that run this program: its path, its name, or a pattern" },   \
		{ .name = "cgroup",                                                                \
		  .argument = "CGROUP",                                                            \
		  .type = GT_OPTION_TEXTS,                                                         \
		  .at = (base) + offsetof(struct gt_selection, cgroups),                           \
		  .local = GT_LOCAL_NO,                                                            \
		  .help = "processes in this cgroup or below it, like system.slice/my.service" },  \
		{ .name = "container",                                                             \
		  .argument = "ID",                                                                \
		  .type = GT_OPTION_TEXTS,                                                         \
		  .at = (base) + offsetof(struct gt_selection, containers),                        \
		  .local = GT_LOCAL_NO,                                                            \
		  .help = "processes of this container or pod: the first characters of its id, "   \
			  "at "                                                                    \
			  "least 4" },                                                             \
	{                                                                                          \
		.name = "user", .argument = "USER", .type = GT_OPTION_TEXTS,                       \
		.at = (base) + offsetof(struct gt_selection, users), .local = GT_LOCAL_NO,         \
		.help = "processes of this user, by name or number"                                \
	}

/* What the kernel said about a process, which may have ended since. */
struct gt_process_facts {
	uint32_t pid, parent;
	const char *comm; /* NULL: parent and uid are unknown, too */
	uid_t uid;
	const char *exe; /* NULL: unknown */
};

/* Checks what was typed, and looks users up: 0, or the exit status after a message. */
int gt_selection_parse(struct gt_selection *s, const struct gt_syntax *syntax);
void gt_selection_fini(struct gt_selection *s);
bool gt_selection_is_given(const struct gt_selection *s);
bool gt_selection_matches(const struct gt_selection *s, const struct gt_process_facts *facts);
/* "processes called python3": for messages. */
void gt_selection_name(const struct gt_selection *s, char *text, size_t size);
