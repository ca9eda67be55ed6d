/* SPDX-License-Identifier: MIT */
/* files.h - replaces files, makes folders, checks files of others, finds repositories. */
#pragma once

#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>

/* Opens a regular file of at most `size_max` bytes; NULL for anything else, pipes included. */
FILE *gt_open_regular_file(const char *path, off_t size_max);

/*
 * Writes PATH.new with `write` and renames it to PATH: readers see the old file or the new one. The
 * file is private to the user. 0 or -errno.
 */
int gt_file_replace(const char *path, void (*write)(FILE *out, const void *context),
		    const void *context);

/*
 * Makes a folder that is private to the user, and the folder it is to be in; false if it is not
 * there in the end, or is another user's.
 */
bool gt_make_own_folder(const char *path);

/*
 * False when an ELF file claims more sections or segments than any program or library has. libelf
 * allocates 300 bytes for each when it opens the file, and a sparse file of two blocks can claim
 * millions. True for a file that is not ELF: libelf refuses it by itself.
 */
bool gt_elf_is_bounded(int fd);

/*
 * The nearest folder at or above `path`, which is absolute, that has a repository in it (.git, .hg,
 * .svn, .jj, .bzr); NULL: none. The caller frees it.
 */
char *gt_repository_around(const char *path);
