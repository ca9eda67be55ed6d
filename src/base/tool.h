/* SPDX-License-Identifier: MIT */
/* tool.h - the tool as a process: its name, its threads, libraries it loads, file signals. */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/mem.h"

/* Called once at the start with the command line's first word, which is borrowed for good. */
void gt_tool_set_name(const char *word);
/*
 * How a user would call this program again: "gputrack" if a shell finds it by that name, else the
 * word it was called by ("build/gputrack"), unless a shell would need quotes around it.
 */
const char *gt_tool_name(void);

/* Where a shell finds a program by its bare name: the first executable on PATH. False: nowhere. */
bool gt_tool_search(const char *name, char *path, size_t size);

/*
 * dlopen; NULL and a reason if it fails, and always in a static program: a library brings a C
 * library of its own along, and two in one process crash.
 */
void *gt_tool_load(const char *library, int flags, const char **why);
/* A library that is loaded when something first needs it: linked, it would cost every command. */
struct gt_tool_library {
	const char *file;    /* "libcairo.so.2" */
	const char *user;    /* "a picture" */
	const char *package; /* to install where it is missing */
	const char *const *names;
	size_t count; /* of names */
};

/*
 * `functions` is a struct of pointers to the functions of these names, in their order. 0 or -errno:
 * the library is not there, or lacks one of them.
 */
int gt_tool_load_functions(const struct gt_tool_library *library, void *functions,
			   struct gt_error *error);
/* True for a static program. */
bool gt_tool_is_static(void);

/* Starts a thread with all signals blocked: the main thread handles them. 0 or an errno. */
int gt_thread_start(pthread_t *thread, void *(*run)(void *), void *context);

/*
 * From here on, the truncated part of a mapped file reads as zeroes, and a write past the file-size
 * limit fails with EFBIG; otherwise SIGBUS and SIGXFSZ would end us. Libraries and traces belong to
 * others, who may truncate them while we read. In a traced program both signals are the program's,
 * and programs that we start get the default action.
 */
void gt_tool_survive_files(void);
