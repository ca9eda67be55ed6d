/* SPDX-License-Identifier: MIT */
/*
 * unwind.h - unwinds a copy of a stack's top by the call frame information of the code (.eh_frame).
 *
 * The rule for an address is computed once and cached, so a stack seen before costs one look-up per
 * frame.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "capture/ebpf/calls.h"

struct gt_cfi_table;
struct gt_image;
struct gt_modules;
struct gt_unwind_table;

void gt_unwind_table_free(struct gt_unwind_table *t);
/* The call frame information of an image; NULL: it has none. */
struct gt_cfi_table *gt_unwind_cfi(struct gt_image *image);
/* Frees what is known of an image, and closes it. */
void gt_unwind_forget(struct gt_image *image);

/*
 * Return addresses, innermost first; the first is that in `stack`. Stops where the copy, the known
 * modules or the call frame information ends.
 */
size_t gt_unwind_copy(const struct gt_modules *modules, const struct gt_probe_stack *stack,
		      const uint8_t *bytes, size_t size, uint64_t *frames, size_t most);
