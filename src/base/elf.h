/* SPDX-License-Identifier: MIT */
/* elf.h - whether an ELF file is of a size that a library for them may be asked about. */
#pragma once

#include <stdbool.h>

/*
 * False when the header, or the section that stands in for it, names more sections or segments than
 * programs and libraries have: libelf takes 300 bytes for each when it opens the file, and a sparse
 * file of two blocks has room for millions. What is no ELF file at all is libelf's to refuse: true.
 */
bool gt_elf_is_bounded(int fd);
