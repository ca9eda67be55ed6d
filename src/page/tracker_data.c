/* SPDX-License-Identifier: MIT */
/* tracker_data.c - the resource tracker's CSV as what its page draws twelve charts from. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/mem.h"
#include "base/text.h"
#include "judge/residue.h"
#include "page/page.h"
#include "page/encode.h"
#include "plot/read_rows.h"

enum {
	COLUMNS = 1000,      /* of all processes' charts together … */
	COLUMNS_LEAST = 200, /* … but each has so many */
	TOP_IMPACTS = 5,
	PROCESSES_MAX = GT_PAGE_SETS_MAX - 1,
};

/* Those that have a chart. */
static const char *const curve_keys[GT_CURVE_COUNT] = {
	[GT_CURVE_RSS] = "rss",         [GT_CURVE_SIZE] = "size",
	[GT_CURVE_DATA] = "data",       [GT_CURVE_CONTEXTS] = "contexts",
	[GT_CURVE_QUEUES] = "queues",   [GT_CURVE_MODULES] = "modules",
	[GT_CURVE_KERNELS] = "kernels", [GT_CURVE_POOLS] = "pools",
	[GT_CURVE_LISTS] = "lists",     [GT_CURVE_EVENTS] = "events",
	[GT_CURVE_MEMORY] = "memory",
};

static const char *const bases[] = {
	[GT_BASIS_RESIDUE] = "residue",
	[GT_BASIS_CALL] = "call",
	[GT_BASIS_NONE] = "none",
};

static void put_trail(struct gt_json *j, const char *key, struct gt_trail *t, size_t columns)
{
	gt_trail_fit(t, columns);
	gt_page_trail_json(j, key, t);
}

/* True when fewer than TOP_IMPACTS others have changed memory more. */
static bool leads(const struct gt_tracker_table *t, const struct gt_call_stats *call)
{
	size_t before = 0;

	for (size_t i = 0; i < t->call_count; i++)
		before += fabs(t->calls[i].delta_kb) > fabs(call->delta_kb);
	return call->delta_kb != 0 && before < TOP_IMPACTS;
}

static void calls_json(struct gt_json *j, struct gt_tracker_table *t, size_t columns)
{
	gt_json_array(j, "calls");
	for (size_t i = 0; i < t->call_count; i++) {
		struct gt_call_stats *call = &t->calls[i];

		gt_json_object(j, NULL);
		gt_json_text(j, "name", call->name);
		gt_json_uint(j, "count", call->count);
		gt_json_uint(j, "leaks", call->leaks);
		gt_json_real(j, "delta_kb", call->delta_kb);
		gt_json_real(j, "leak_kb", call->leak_kb);
		gt_json_uint(j, "rises", call->rises);
		gt_json_real(j, "rise_kb", call->rise_kb);
		if (leads(t, call))
			put_trail(j, "impact", &call->impact, columns);
		else
			gt_json_null(j, "impact");
		gt_json_end(j);
	}
	gt_json_end(j);
}

static void sums_json(struct gt_json *j, const struct gt_tracker_table *t)
{
	gt_json_uint(j, "rows", t->rows);
	gt_json_uint(j, "bad_rows", t->bad_rows);
	gt_json_uint(j, "bad_line", t->bad_line);
	gt_json_uint(j, "unsigned_falls", t->unsigned_falls);
	gt_json_bool(j, "levelzero", t->is_levelzero);
	gt_json_real(j, "threshold_kb", t->threshold_kb);
	gt_json_text(j, "basis", bases[t->basis]);
	if (t->residue_kb < 0)
		gt_json_null(j, "residue_kb");
	else
		gt_json_real(j, "residue_kb", t->residue_kb);
	gt_json_uint(j, "leak_events", t->leak_events);
	gt_json_real(j, "leak_kb", t->leak_kb);
	gt_json_uint(j, "rises", t->rises);
	gt_json_real(j, "rise_kb", t->rise_kb);
	gt_json_text(j, "creeps", t->creeps ? t->creeps->name : NULL);
	gt_json_real(j, "creep_kb", t->creeps ? gt_call_creep(t->creeps) : 0);
	gt_json_uint(j, "creep_calls", t->creeps ? gt_call_creeping(t->creeps) : 0);
	gt_json_real(j, "first_ms", t->first_ms);
	gt_json_real(j, "last_ms", t->last_ms);
	gt_json_real(j, "first_rss", t->first_rss);
	gt_json_real(j, "last_rss", t->last_rss);
	gt_json_real(j, "peak_rss", t->peak[GT_CURVE_RSS]);
}

static void table_json(struct gt_json *j, struct gt_tracker_table *t, const char *path,
		       size_t columns)
{
	gt_json_object(j, "tracker");
	gt_json_text(j, "path", path);
	sums_json(j, t);
	gt_json_object(j, "curves");
	for (int i = 0; i < GT_CURVE_COUNT; i++)
		if (curve_keys[i])
			put_trail(j, curve_keys[i], &t->curves[i], columns);
	gt_json_end(j);
	put_trail(j, "deltas", &t->deltas, columns);
	gt_json_uint(j, "leak_width", t->leaks.width);
	put_trail(j, "leaks", &t->leaks, columns);
	put_trail(j, "leaked", &t->leaked, columns);
	put_trail(j, "moments", &t->moments, columns);
	calls_json(j, t, columns);
	gt_json_end(j);
}

void gt_page_tracker_data(struct gt_tracker_table *t, const char *path, FILE *out)
{
	struct gt_json j;

	gt_json_begin(&j, out);
	j.in_html = true;
	j.flat = 1;
	gt_json_uint(&j, "schema", 1);
	gt_json_text(&j, "made_by", GT_VERSION);
	table_json(&j, t, path, COLUMNS);
	gt_json_finish(&j);
}

/* Of the processes that can be looked at by themselves. */
static bool is_shown(const struct gt_page *h, const struct gt_process *p)
{
	bool shown = h->set_count == 1;

	for (size_t i = 1; i < h->set_count; i++)
		shown |= h->sets[i].pid == p->pid;
	return shown;
}

static size_t list_measured(const struct gt_page *h, const struct gt_process **list, size_t *rest)
{
	size_t count = 0;

	*rest = 0;
	for (size_t i = 0; i < gt_recording_process_count(h->recording); i++) {
		const struct gt_process *p = gt_recording_process(h->recording, i);

		if (!*p->csv)
			continue;
		if (count < PROCESSES_MAX && is_shown(h, p))
			list[count++] = p;
		else
			++*rest;
	}
	return count;
}

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
static bool is_of_process(const struct gt_tracker_table *t, const struct gt_process *p)
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
		e = gt_error_set(error, -EINVAL, "it is no longer a resource tracker CSV");
	else
		e = gt_tracker_read(out, &rows, threshold_kb, error);
	gt_rows_close(&rows);
	return e;
}

/*
 * The table of the process's `csv`. The recording keeps where the CSV was written, not what is in
 * it. It is looked for there, then by its name beside the recording and in it, for both may have
 * been moved. What the CSV does not tell of driver residue, the recording does. Fails, with a
 * sentence about "it", when it is gone or is not (or no longer) what the process wrote. The
 * recording has been read to its end. The caller frees the table.
 */
static int read_metrics(struct gt_tracker_table **out, const struct gt_recording *r,
			const struct gt_process *process, double threshold_kb,
			struct gt_error *error)
{
	char *path = find(r, process);
	struct gt_residue residue;
	int e;

	if (!path)
		return gt_error_set(error, -ENOENT,
				    "it is neither where it was written nor beside the recording");
	e = read_table(out, path, threshold_kb, error);
	if (!e && !is_of_process(*out, process)) {
		e = gt_error_set(
			error, -ESTALE,
			"it continues past the end of the process, so it belongs to another one");
		gt_tracker_free(*out);
	}
	if (!e && gt_residue_of_process(&residue, process))
		gt_tracker_set_residue(*out, (double)residue.left.kb);
	free(path);
	return e;
}

void gt_page_metrics_json(struct gt_json *j, const struct gt_page *h, double threshold_kb)
{
	const struct gt_process *list[PROCESSES_MAX];
	size_t rest, count = list_measured(h, list, &rest);
	size_t columns =
		count * COLUMNS_LEAST < COLUMNS ? COLUMNS / (count ? count : 1) : COLUMNS_LEAST;

	gt_json_array(j, "metrics");
	for (size_t i = 0; i < count; i++) {
		struct gt_tracker_table *table;
		struct gt_error why;

		gt_json_object(j, NULL);
		gt_json_uint(j, "pid", list[i]->pid);
		gt_json_text(j, "trace", list[i]->file);
		gt_json_text(j, "program", list[i]->program);
		gt_json_text(j, "csv", list[i]->csv);
		if (read_metrics(&table, h->recording, list[i], threshold_kb, &why)) {
			gt_json_text(j, "missing", why.text);
		} else {
			table_json(j, table, list[i]->csv, columns);
			gt_tracker_free(table);
		}
		gt_json_end(j);
	}
	gt_json_end(j);
	gt_json_uint(j, "metrics_left_out", rest);
}
