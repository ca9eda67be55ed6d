/* SPDX-License-Identifier: MIT */
/*
 * loaded.h - what the objects of this process export, found without the loader's help.
 *
 * dlsym waits for a thread that is in dlopen, which may be waiting for us, and leaves its message
 * in dlerror. Here the objects' own tables are read while the loader's list is held still.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/*
 * Where each of `names` lies, the program's own first, then the libraries in the order in which
 * they were loaded; NULL for what nobody has. False, and nothing done, when no library has come
 * since *adds was set; 0 is before all. Without thread-local and indirect symbols.
 */
bool gt_loaded_find(const char *const *names, void **found, size_t count, unsigned long long *adds);
