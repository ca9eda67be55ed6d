/* SPDX-License-Identifier: MIT */
/* jit_names.h - names of code that the recording's processes compiled while they ran. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "symbol/symbol.h"
#include "trace/legend.h"
#include "trace/recording.h"

/* The module of such code, in frames and in the legend. */
#define GT_JIT_MODULE "[JIT code]"

struct gt_jit_names;

/*
 * From the maps that JIT compilers write to /tmp (symbol/perf_map.h): to be called when the
 * processes have just ended, because later others have their pids. NULL when there are none.
 */
struct gt_jit_names *gt_jit_names_read(const struct gt_recording *r);
void gt_jit_names_free(struct gt_jit_names *j);

/* False when the address has no name, or another one in each of two processes. */
bool gt_jit_names_find(const struct gt_jit_names *j, uint64_t address, struct gt_legend_name *name);

/* Names a frame of no file, by these maps or else by the names saved in the recording; NULL: none.
 */
void gt_jit_names_set(const struct gt_jit_names *j, const struct gt_legend *saved,
		      struct gt_frame *frame);
