/* SPDX-License-Identifier: MIT */
/* preload.h - what the parts of the preloaded library share. */
#pragma once

#include <link.h>

/* Loads the door `file` beside us and returns its function `name`; NULL: there is none. */
void *gt_preload_door(const char *file, const char *name);

/* The C library's dlsym, which ours stands in for. */
void *gt_preload_dlsym_in(void *handle, const char *name);

/* The module that an address lies in; NULL: none. */
struct link_map *gt_preload_module(const void *address);
