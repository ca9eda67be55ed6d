/* SPDX-License-Identifier: MIT */
/*
 * tracker_csv.h - what the resource tracker measured of a recording's process: its CSV, found
 * again.
 *
 * The recording keeps where the CSV was written, not what is in it. It is looked for there, then by
 * its name beside the recording and in it, for both may have been moved.
 */
#pragma once

#include "plot/read_tracker.h"
#include "trace/recording.h"

/*
 * The table of the process's `csv`. Fails, with a sentence about "it", when that is gone or is not
 * (or no longer) what the process wrote. The recording has been read to its end. The caller frees
 * the table.
 */
int gt_metrics_read(struct gt_tracker_table **out, const struct gt_recording *r,
		    const struct gt_process *process, double threshold_kb, struct gt_error *error);
