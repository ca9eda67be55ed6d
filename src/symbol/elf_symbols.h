/* SPDX-License-Identifier: MIT */
/* elf_symbols.h - function names from an ELF symbol table. */
#pragma once

#include <elfutils/libdwfl.h>

#include "symbol/span.h"

/* Starts zeroed. */
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
