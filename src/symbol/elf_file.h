/* SPDX-License-Identifier: MIT */
/* elf_file.h - ELF files that a recording names: opened safely, and their functions. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include <elfutils/libdwfl.h>

#include "symbol/span.h"

/* Opens a regular file for reading; a FIFO, a device or a folder is -EINVAL, never waited on. */
int gt_elf_open(const char *path, struct stat *status);

/* 0 for a whole ELF program, library, object or debug file, -ENOEXEC for anything else. */
int gt_elf_check(int fd, const struct stat *status);

/* Whether the ELF file has exactly this build id. */
bool gt_elf_has_build_id(int fd, const uint8_t *id, size_t id_size);

struct gt_elf_contents {
	uint8_t build_id[64];
	size_t build_id_size;
	bool has_code;  /* a program or library, not only what was stripped from one */
	bool has_debug; /* lines and types */
	bool has_names; /* a symbol table */
};

/* What an ELF file contains; false when it has no build id. */
bool gt_elf_look(struct gt_elf_contents *out, int fd);

/* The CRC-32 of the file, as .gnu_debuglink records it of a debug file. */
int gt_elf_checksum(uint32_t *out, int fd);

/* Names of functions by address, from the symbol table. Starts zeroed. */
struct gt_elf_symbols {
	struct gt_spans spans;
	const char **names; /* the ELF file's own bytes */
	size_t count, capacity;
};

/* From .symtab of the file or its debug file, else .dynsym and compressed minimal tables. */
void gt_elf_symbols_load(struct gt_elf_symbols *symbols, Dwfl_Module *module);
/* The mangled name of the function at `address`, NULL when there is none. */
const char *gt_elf_symbols_find(const struct gt_elf_symbols *symbols, uint64_t address);
void gt_elf_symbols_fini(struct gt_elf_symbols *symbols);
