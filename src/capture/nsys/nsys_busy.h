/* SPDX-License-Identifier: MIT */
/* nsys_busy.h - when the GPUs of an export worked: kernels, copies and fills. */
#pragma once

#include "capture/nsys/database.h"
#include "trace/writer.h"

/* True if the export says anything about it. */
bool gt_nsys_has_work(const struct gt_database *d);
/*
 * Writes a series for each device: 1 when it begins to work, 0 when it has nothing to do. Times are
 * `base_ns` after the export's zero. 0, or -errno and the error.
 */
int gt_nsys_busy_write(struct gt_writer *w, const struct gt_database *d, uint64_t base_ns,
		       struct gt_error *error);
