/* folder.h - makes and removes recordings' folders, and nothing but recordings'. */
#pragma once

#include "base/err.h"

/*
 * Makes the folder, private to its user. A recording that is there already becomes NAME.old, in
 * place of an older one; anything else that is there is an error.
 */
int gt_folder_make(const char *path, struct gt_error *error);

/* Removes a recording: its traces and info, then the folder if nothing else is in it. */
void gt_folder_remove(const char *path);
