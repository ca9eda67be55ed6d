/* SPDX-License-Identifier: MIT */
/*
 * unwind.h - a stack from a copy of its top, by the call frame information of the code (.eh_frame).
 *
 * What a place in the code says about its caller is worked out once and remembered, so a stack
 * seen before costs a few look-ups per frame.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "capture/ebpf/calls.h"

struct gt_modules;
struct gt_unwind_table;

void gt_unwind_table_free(struct gt_unwind_table *t);

/*
 * Return addresses, innermost first, the first being registers[16] itself. Stops where the copy,
 * the modules or the information ends.
 */
size_t gt_unwind_copy(const struct gt_modules *modules, const uint64_t *registers,
		      const uint8_t *bytes, size_t size, uint64_t *frames, size_t most);
