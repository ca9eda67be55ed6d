/* SPDX-License-Identifier: MIT */
/* tracker_csv.c - what the resource tracker measured of a recording's process: its CSV, found
 * again. */
#include "page/tracker_csv.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/mem.h"
#include "base/text.h"
#include "plot/read_rows.h"

/* A thread may make a call while exit handlers run, and have it measured after the end. */
enum { LATE_MS = 1000 };

/* Nothing but a file: to open what a recording names must not hang, nor change a device. */
static bool is_file(const char *path)
{
	struct stat st;

	return !stat(path, &st) && S_ISREG(st.st_mode);
}

static char *path_in(const char *folder, const char *between, const char *name)
{
	char *path;

	return asprintf(&path, "%s%s%s", folder, between, name) < 0 ? NULL : path;
}

/* Where it lies now; NULL: nowhere. The caller frees it. */
static char *find(const struct gt_recording *r, const struct gt_process *p)
{
	static const char *const between[] = { "/../", "/" };
	const char *name = gt_path_name(p->csv);
	char *path;

	if (*p->csv == '/' && is_file(p->csv))
		return gt_strdup(p->csv);
	for (size_t i = 0; *name && i < sizeof between / sizeof *between; i++) {
		path = path_in(gt_recording_path(r), between[i], name);
		if (path && is_file(path))
			return path;
		free(path);
	}
	return NULL;
}

/* Rows from after the end of the process are of another one. */
static bool is_of(const struct gt_tracker_table *t, const struct gt_process *p)
{
	uint64_t end = p->end_ns > p->last_ns ? p->end_ns : p->last_ns;

	return p->state != GT_TRACE_ENDED ||
	       t->last_ms <= (double)(end - p->start_ns) / 1e6 + LATE_MS;
}

static int read_table(struct gt_tracker_table **out, const char *path, double threshold_kb,
		      struct gt_error *error)
{
	struct gt_rows rows;
	int e = gt_rows_open(&rows, path, error);

	if (e)
		return e;
	if (gt_table_kind(&rows) != GT_TABLE_TRACKER)
		e = gt_error_set(error, -EINVAL, "it is no longer a resource tracker's CSV");
	else
		e = gt_tracker_read(out, &rows, threshold_kb, error);
	gt_rows_close(&rows);
	return e;
}

int gt_metrics_read(struct gt_tracker_table **out, const struct gt_recording *r,
		    const struct gt_process *process, double threshold_kb, struct gt_error *error)
{
	char *path = find(r, process);
	int e;

	if (!path)
		return gt_error_set(error, -ENOENT,
				    "it is gone: neither where it was written nor "
				    "beside the recording");
	e = read_table(out, path, threshold_kb, error);
	if (!e && !is_of(*out, process)) {
		e = gt_error_set(error, -ESTALE,
				 "it goes on after the process had ended: it is "
				 "of another one");
		gt_tracker_free(*out);
	}
	free(path);
	return e;
}
