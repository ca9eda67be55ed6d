/* SPDX-License-Identifier: MIT */
/* import_snapshot.c - `gputrack import`: a memory snapshot of PyTorch becomes a recording. */
#include <limits.h>
#include <stdlib.h>

#include "base/format.h"
#include "base/text.h"
#include "capture/snapshot/snapshot.h"
#include "cli/forward.h"
#include "cli/import.h"
#include "cli/output.h"

static void describe_history(const struct gt_snapshot_import *s, struct gt_import_lines *lines)
{
	char a[GT_FORMAT_MAX], b[GT_FORMAT_MAX];

	if (!s->has_history) {
		gt_import_line(lines, "no history: only the state at the end is known; call "
				      "torch.cuda.memory._record_memory_history() to record it\n");
		return;
	}
	gt_import_line(lines, "%s %s and %s %s on %u %s\n", gt_format_count(a, s->allocations),
		       gt_plural(s->allocations, "allocation", "allocations"),
		       gt_format_count(b, s->frees), gt_plural(s->frees, "free", "frees"),
		       s->devices, gt_plural(s->devices, "GPU", "GPUs"));
	if (s->before) {
		gt_import_line(
			lines, "%s %s, %s, %s allocated before the history begins",
			gt_format_count(a, s->before), gt_plural(s->before, "block", "blocks"),
			gt_format_bytes(b, s->before_bytes), gt_plural(s->before, "was", "were"));
		if (s->before_named < s->before)
			gt_import_line(lines, "; %s without a call stack",
				       gt_format_count(a, s->before - s->before_named));
		gt_import_line(lines, "\n");
	}
	if (!s->has_times)
		gt_import_line(lines, "the history has no times: its entries are 1 µs apart\n");
}

static void describe(const struct gt_snapshot_import *s, struct gt_import_result *result)
{
	struct gt_import_lines lines = { result->text, result->text + sizeof result->text };
	char a[GT_FORMAT_MAX], b[GT_FORMAT_MAX], c[GT_FORMAT_MAX], d[GT_FORMAT_MAX];

	describe_history(s, &lines);
	gt_import_line(&lines, "at the end %s %s, %s, in %s %s, %s\n", gt_format_count(a, s->alive),
		       gt_plural(s->alive, "block", "blocks"), gt_format_bytes(b, s->alive_bytes),
		       gt_format_count(c, s->segments),
		       gt_plural(s->segments, "segment", "segments"),
		       gt_format_bytes(d, s->segment_bytes));
	if (s->shortages)
		gt_import_line(&lines, "out of memory: %s %s\n", gt_format_count(a, s->shortages),
			       gt_plural(s->shortages, "time", "times"));
	if (s->unknown)
		gt_import_line(&lines, "%s %s of an unknown kind and skipped\n",
			       gt_format_count(a, s->unknown),
			       gt_plural(s->unknown, "entry was", "entries were"));
	if (!s->stacks && !s->before_named)
		gt_import_line(&lines,
			       "no call stacks: call "
			       "torch.cuda.memory._record_memory_history() to record them\n");
}

int gt_import_snapshot(const struct gt_import *import, struct gt_import_result *result,
		       struct gt_error *error)
{
	struct gt_snapshot_import s = { .file = import->file,
					.folder = import->folder,
					.tick = gt_progress_tick,
					.stop = &gt_stopped };
	char whole[PATH_MAX], started[GT_FORMAT_MAX];
	int e = gt_snapshot_run(&s, error);

	gt_progress_end();
	if (e)
		return e;
	gt_info_set(import->info, "imported", realpath(import->file, whole) ? whole : import->file);
	gt_info_set(import->info, "snapshot", "PyTorch");
	gt_info_setf(import->info, "duration_ns", "%llu", (unsigned long long)s.duration_ns);
	if (s.start_real_ns)
		gt_info_set(import->info, "started", gt_format_moment(started, s.start_real_ns));
	if (s.before)
		gt_info_setf(import->info, "snapshot_before", "%llu", (unsigned long long)s.before);
	describe(&s, result);
	return 0;
}
