/* SPDX-License-Identifier: MIT */
/* dwarf_frames.h - one ELF module with its debug information: from an address to frames. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "symbol/symbol.h"

struct gt_dwarf;
struct gt_symbol_pool;

/* More functions than this are never inlined into one place; further ones are left out. */
#define GT_DWARF_MAX_FRAMES 128

/*
 * Finds and opens the module's file. -ENOENT, -ESTALE and -ENOEXEC as gt_module_locate.
 * `options`, `module` and `pool` must outlive the result.
 */
int gt_dwarf_open(struct gt_dwarf **out, const struct gt_symbol_module *module,
		  const struct gt_symbol_options *options, struct gt_symbol_pool *pool);
void gt_dwarf_close(struct gt_dwarf *d);

/* GT_SYMBOL_FULL, GT_SYMBOL_NAMES or GT_SYMBOL_NONE. */
enum gt_symbol_state gt_dwarf_state(const struct gt_dwarf *d);

/*
 * Fills `frames`, room for GT_DWARF_MAX_FRAMES, all but module and offset; gives their
 * number, 0 when nothing is known. The strings live as long as `d` and the pool.
 */
size_t gt_dwarf_frames(struct gt_dwarf *d, uint64_t address, struct gt_frame *frames);
