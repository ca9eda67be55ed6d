/* SPDX-License-Identifier: MIT */
/* dwarf_frames.h - one ELF module with its debug information: from an address to frames. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "symbol/symbol.h"

struct gt_dwarf;
struct gt_intern;

/* Inlined functions deeper than this are left out. */
#define GT_DWARF_MAX_FRAMES 128

/*
 * Finds and opens the module's file. -ENOENT, -ESTALE and -ENOEXEC as gt_module_locate.
 * `options`, `module` and `strings`, which gets the names, must outlive the result.
 */
int gt_dwarf_open(struct gt_dwarf **out, const struct gt_symbol_module *module,
		  const struct gt_symbol_options *options, struct gt_intern *strings);
void gt_dwarf_close(struct gt_dwarf *d);

/* GT_SYMBOL_FULL, GT_SYMBOL_NAMES or GT_SYMBOL_NONE. */
enum gt_symbol_state gt_dwarf_state(const struct gt_dwarf *d);

/* The size of the file with the debug information. */
uint64_t gt_dwarf_bytes(const struct gt_dwarf *d);

/* False when parts of it that were asked for lie in files that were not found. */
bool gt_dwarf_is_whole(const struct gt_dwarf *d);

/*
 * Fills `frames`, which has room for GT_DWARF_MAX_FRAMES, except module and offset; returns their
 * number, 0 when nothing is known. Strings live as long as `d` and `strings`.
 */
size_t gt_dwarf_frames(struct gt_dwarf *d, uint64_t address, struct gt_frame *frames);
