/* SPDX-License-Identifier: MIT */
/* elf_file.h - open files named by a recording without trusting them. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

/* Opens a regular file for reading; a FIFO, a device or a folder is -EINVAL, never waited on. */
int gt_elf_open(const char *path, struct stat *status);

/* 0 for a whole ELF program, library, object or debug file, -ENOEXEC for anything else. */
int gt_elf_check(int fd, const struct stat *status);

/* Whether the ELF file has exactly this build id. */
bool gt_elf_has_build_id(int fd, const uint8_t *id, size_t id_size);

/* The checksum that .gnu_debuglink holds of the debug file. */
int gt_elf_checksum(uint32_t *out, int fd);
