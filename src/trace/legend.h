/* SPDX-License-Identifier: MIT */
/*
 * legend.h - a recording's `legend`: what its leaks, its peak and what grows were called then.
 *
 * Programs are rebuilt and recordings travel; without this an older recording would be offsets
 * into files that no longer are what they were. doc/FORMAT.md has the bytes.
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
 * What a module's address is called, innermost first; `build_id` of `size` bytes tells modules of
 * one path apart. Copies everything. What is there already stays.
 */
void gt_legend_add(struct gt_legend *legend, const char *module, const uint8_t *build_id,
		   size_t size, uint64_t address, const struct gt_legend_name *list, size_t count);
/* How many names the address has, innermost first; 0 when it has none here. */
size_t gt_legend_get(const struct gt_legend *legend, const char *module, const uint8_t *build_id,
		     size_t size, uint64_t address, const struct gt_legend_name **list);

/* An absent file gives none; of a damaged one what comes before the damage. */
struct gt_legend *gt_legend_read(const char *path);
/* Written beside, then renamed. */
int gt_legend_write(const struct gt_legend *legend, const char *path, struct gt_error *error);
