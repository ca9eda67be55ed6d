/* SPDX-License-Identifier: MIT */
/* path.h - paths as texts: nothing here looks at a file. */
#pragma once

#include <string.h>

/* How many of a path's bytes are its folder, the slash with it; 0 for a name alone. */
static inline size_t gt_path_folder(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? (size_t)(slash + 1 - path) : 0;
}

/* A path's last part, within the path; the whole path where nothing comes after its last slash. */
static inline const char *gt_path_name(const char *path)
{
	const char *name = path + gt_path_folder(path);

	return *name ? name : path;
}

/*
 * "/w/build/../src/demo.c" -> "/w/src/demo.c", in place: how compilers run in a build folder name
 * files. Where `build` is a link, the two are not the same file.
 */
void gt_path_tidy(char *path);
/* "NAME.gt/" -> "NAME.gt", in place: without the slashes that shells put behind folders. */
void gt_path_end(char *path);
