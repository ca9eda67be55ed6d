/* SPDX-License-Identifier: MIT */
/* preload.h - what the parts of the preloaded library share. */
#pragma once

/* Loads the door `file` beside us and returns its function `name`; NULL: there is none. */
void *gt_preload_door(const char *file, const char *name);

/* What another library defines, wherever that was loaded; NULL: none does. */
void *gt_preload_find(const char *name);
