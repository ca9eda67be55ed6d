/* SPDX-License-Identifier: MIT */
/*
 * legend.h - a recording's `legend`: function, file and line of the addresses that matter.
 *
 * Programs are rebuilt and recordings are copied: the leaks, the peak and the growth of an older
 * recording would be offsets into files that have changed. doc/FORMAT.md defines the bytes.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/mem.h"

struct gt_legend_name {
	const char *function, *file; /* NULL: unknown */
	uint32_t line;
	bool inlined;
};

struct gt_legend;

struct gt_legend *gt_legend_new(void);
void gt_legend_free(struct gt_legend *legend);

/*
 * Adds the names of an address in a module, innermost first; `build_id`, of `size` bytes, tells
 * modules with the same path apart. Copies everything. Does nothing if the address has names.
 */
void gt_legend_add(struct gt_legend *legend, const char *module, const uint8_t *build_id,
		   size_t size, uint64_t address, const struct gt_legend_name *list, size_t count);
/* The number of names of an address, innermost first; 0: none. */
size_t gt_legend_get(const struct gt_legend *legend, const char *module, const uint8_t *build_id,
		     size_t size, uint64_t address, const struct gt_legend_name **list);

/* An absent file gives an empty legend, a damaged one what precedes the damage. */
struct gt_legend *gt_legend_read(const char *path);
/* Writes a new file and renames it. */
int gt_legend_write(const struct gt_legend *legend, const char *path, struct gt_error *error);
