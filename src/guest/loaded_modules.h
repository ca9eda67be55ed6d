/* SPDX-License-Identifier: MIT */
/* loaded_modules.h - the modules of this process: where they are, what they export. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "trace/writer.h"

/* For gt_writer_options.modules: defines modules that are new, undefines those that are gone. */
void gt_modules_define(struct gt_writer *w, void *unused);
/* The program's path into `path`, of PATH_MAX bytes; "" if unknown. */
void gt_modules_program(char *path);
/* True when a module was unloaded since the last call. */
bool gt_modules_unloaded(void);
/* Call before a new trace: no module is defined in it. */
void gt_modules_restart(void);

/*
 * Finds exported symbols without dlsym, which waits for a thread inside dlopen (that may be waiting
 * for us) and leaves its message in dlerror. The modules' own tables are read under the loader's
 * lock instead: the program's first, then its libraries' in load order; NULL for a name that nobody
 * exports. Skips thread-local and indirect symbols. Returns false, and does nothing, when no
 * library was loaded since *adds was set; start with 0.
 */
bool gt_modules_find_symbols(const char *const *names, void **found, size_t count,
			     unsigned long long *adds);
