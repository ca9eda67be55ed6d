/* SPDX-License-Identifier: MIT */
/* files.h - checks a file that others wrote before anything relies on it. */
#pragma once

#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>

/* Opens a regular file of at most `size_max` bytes; NULL for anything else, pipes included. */
FILE *gt_open_regular_file(const char *path, off_t size_max);

/*
 * False when an ELF file claims more sections or segments than any program or library has. libelf
 * allocates 300 bytes for each when it opens the file, and a sparse file of two blocks can claim
 * millions. True for a file that is not ELF: libelf refuses it by itself.
 */
bool gt_elf_is_bounded(int fd);
