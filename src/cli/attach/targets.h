/* SPDX-License-Identifier: MIT */
/* targets.h - which processes and APIs attach and top follow. */
#pragma once

#include <errno.h>

#include "capture/ebpf/tracer.h"
#include "cli/attach/selection.h"
#include "cli/options.h"
#include "cli/run/cuda_door.h"

enum {
	GT_TARGETS_MAX = 1000,
	GT_TARGETS_UNTRACKED = -ENODATA, /* an error: no call of the processes can be seen */
};

/* As typed: which processes and which APIs. */
struct gt_targets_settings {
	struct gt_texts pids, apis, drivers;
	int pools; /* enum gt_pools_wanted */
	struct gt_selection selection;
};

/* Rows for a `struct gt_targets_settings` at this offset. */
#define GT_TARGETS_OPTIONS(base, pid_help)                                                         \
	{ .name = "pid",                                                                           \
	  .letter = 'p',                                                                           \
	  .type = GT_OPTION_TEXTS,                                                                 \
	  .argument = "PID",                                                                       \
	  .at = (base) + offsetof(struct gt_targets_settings, pids),                               \
	  .help = pid_help },                                                                      \
		GT_SELECTION_OPTIONS((base) + offsetof(struct gt_targets_settings, selection)),    \
		{ .name = "driver",                                                                \
		  .type = GT_OPTION_TEXTS,                                                         \
		  .argument = "FILE[=API]",                                                        \
		  .at = (base) + offsetof(struct gt_targets_settings, drivers),                    \
		  .help = "a driver or loader under another name (libcuda-bundled.so), or a "      \
			  "program "                                                               \
			  "into which one is linked; the API is found by its functions; may be "   \
			  "repeated; --library FILE[=API] is the same if FILE is one" },           \
		{ .name = "api",                                                                   \
		  .type = GT_OPTION_TEXTS,                                                         \
		  .argument = "API",                                                               \
		  .at = (base) + offsetof(struct gt_targets_settings, apis),                       \
		  .local = GT_LOCAL_YES,                                                           \
		  .help = "track only cuda, levelzero, opencl or pytorch; may be repeated "        \
			  "(default: all)" },                                                      \
	{                                                                                          \
		.name = "pools", .type = GT_OPTION_CHOICE, .argument = "WHICH",                    \
		.choices = gt_pools_wanted_names,                                                  \
		.at = (base) + offsetof(struct gt_targets_settings, pools),                        \
		.help = "blocks of PyTorch's allocator to follow: gpu or auto (the default), cpu " \
			"(those in main memory, too) or none"                                      \
	}

struct gt_targets {
	bool everyone; /* no process was named; `selection` may leave some out */
	const struct gt_selection *selection;
	uint32_t pids[GT_TARGETS_MAX];
	int fds[GT_TARGETS_MAX]; /* readable when the process has ended */
	size_t count;
	uint32_t *family; /* the processes, and their children that ran when we attached */
	size_t family_count, family_room;
	const struct gt_texts *drivers; /* as typed */
	const struct gt_texts *library; /* of --library: a driver's file too, or patterns */
	bool wanted[GT_API_COUNT], some_apis;
	enum gt_pools_wanted pools;
};

/*
 * From what was typed, which is borrowed; `library`: the texts of --library. 0, or the exit status
 * after a message.
 */
int gt_targets_parse(struct gt_targets *t, const struct gt_syntax *syntax,
		     struct gt_targets_settings *settings, const struct gt_texts *library);
void gt_targets_settings_fini(struct gt_targets_settings *settings);
/* Sets who is followed. */
void gt_targets_configure(const struct gt_targets *t, struct gt_tracer_options *how);
/* Adds a process that is known to exist. */
void gt_targets_add(struct gt_targets *t, uint32_t pid);
/* Checks that the processes exist. 0, or -errno and the error. */
int gt_targets_check(struct gt_targets *t, struct gt_error *error);
void gt_targets_fini(struct gt_targets *t);

/*
 * Probes the libraries that the processes have loaded and those that they may load. Returns how
 * many they have loaded, or -errno and the error: GT_TARGETS_UNTRACKED if none can be probed.
 */
int gt_targets_probe(struct gt_targets *t, struct gt_tracer *tracer, struct gt_error *error);
/* "process 17 and its 3 children", "all processes": for messages. */
void gt_targets_name(const struct gt_targets *t, char *text, size_t size);
/* The exit status for an error of gt_targets_probe. */
int gt_targets_status(int error);
/* Says that no library can be tracked yet, if so. */
void gt_targets_tell_waiting(const struct gt_targets *t, struct gt_tracer *tracer);
/* At the end: says why no call of a process could be seen. */
void gt_targets_tell_untracked(const struct gt_targets *t, struct gt_tracer *tracer);
/* True if all named processes and their children have ended. */
bool gt_targets_ended(const struct gt_targets *t, const struct gt_tracer *tracer);

/* Tells about processes with more libraries than are probed; from the `told`th on, updates it. */
void gt_targets_tell_dropped(struct gt_tracer *tracer, size_t *told);
