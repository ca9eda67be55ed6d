/* SPDX-License-Identifier: MIT */
/*
 * symbolizer.h - function, file and line of addresses in this process.
 *
 * The gputrack program is asked, in a child that raises no SIGCHLD: nothing that reads debug
 * information runs in the traced process. Without it the dynamic symbol table must suffice.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct gt_symbol {
	char *function, *file; /* NULL when unknown */
	unsigned line;
	bool inlined;
	char *module;
	uint64_t offset;
};

struct gt_symbol_set;

/* Resolves return addresses, each to one symbol or more. NULL: out of memory. */
struct gt_symbol_set *gt_symbols_resolve(const uint64_t *addresses, size_t count);
/* Symbols of addresses[index], innermost first. */
size_t gt_symbols_get(const struct gt_symbol_set *set, size_t index,
		      const struct gt_symbol **symbols);
void gt_symbols_free(struct gt_symbol_set *set);
