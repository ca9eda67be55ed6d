/* SPDX-License-Identifier: MIT */
/* read_tracker.c - reads the resource tracker's CSV, ours or the original's, for its charts. */
#include "plot/read_tracker.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "api/functions.h"
#include "base/containers.h"
#include "base/mem.h"

enum {
	CALLS_MOST = 1024,    /* distinct names; a real API has fewer */
	IMPACT_POINTS = 2048, /* each name has a trail, though only five are drawn */
};

static const char *const curve_headings[GT_CURVE_COUNT] = {
	[GT_CURVE_RSS] = "VmRSS_KB",         [GT_CURVE_SIZE] = "VmSize_KB",
	[GT_CURVE_DATA] = "VmData_KB",       [GT_CURVE_CONTEXTS] = "Contexts",
	[GT_CURVE_QUEUES] = "CommandQueues", [GT_CURVE_MODULES] = "Modules",
	[GT_CURVE_KERNELS] = "Kernels",      [GT_CURVE_POOLS] = "EventPools",
	[GT_CURVE_LISTS] = "CommandLists",   [GT_CURVE_EVENTS] = "Events",
	[GT_CURVE_FENCES] = "Fences",        [GT_CURVE_IMAGES] = "Images",
	[GT_CURVE_SAMPLERS] = "Samplers",    [GT_CURVE_MEMORY] = "TotalMemory_Bytes",
	[GT_CURVE_THREADS] = "Threads",
};

/* Indexes of the columns; -1: missing. */
struct columns {
	int number, time, call, delta, size_delta, residue, curves[GT_CURVE_COUNT];
	size_t count;
};

static int find_columns(struct columns *c, struct gt_rows *r, struct gt_error *error)
{
	gt_rows_next(r);
	c->count = r->count;
	c->number = gt_rows_find(r, "CallNumber");
	c->time = gt_rows_find(r, "TimeMs");
	c->call = gt_rows_find(r, "APICall");
	c->delta = gt_rows_find(r, "Delta_VmRSS_KB");
	c->size_delta = gt_rows_find(r, "Delta_VmSize_KB");
	c->residue = gt_rows_find(r, "Residue_KB");
	for (int i = 0; i < GT_CURVE_COUNT; i++)
		c->curves[i] = gt_rows_find(r, curve_headings[i]);
	if (c->time < 0 || c->call < 0 || c->curves[GT_CURVE_RSS] < 0)
		return gt_error_set(error, -EINVAL,
				    "it has no column %s, which a tracker's CSV must have",
				    c->time < 0 ? "TimeMs" :
				    c->call < 0 ? "APICall" :
						  "VmRSS_KB");
	return 0;
}

/* By the function table; for functions it does not have, by the name. */
static bool is_end(const char *name)
{
	for (int i = 1; i < GT_FN_COUNT; i++)
		if (!strcmp(gt_function_names[i], name))
			return gt_function_ends(&gt_functions[i]);
	return strstr(name, "Destroy") || strstr(name, "Free") || strstr(name, "Release");
}

static struct gt_call_stats *call_of(struct gt_tracker_table *t, const char *name)
{
	uint32_t number;

	/* beyond the limit, new names share one entry */
	if (gt_intern_count(t->names) >= CALLS_MOST) {
		for (size_t i = 0; i < t->call_count; i++)
			if (!strcmp(t->calls[i].name, name))
				return &t->calls[i];
		name = "(other calls)";
	}
	number = gt_intern(t->names, name, strlen(name));
	if (number == t->call_count) {
		GT_GROW(t->calls, t->call_count, t->call_room);
		t->calls[t->call_count] =
			(struct gt_call_stats){ .name = gt_strdup(name), .ends = is_end(name) };
		gt_trail_init(&t->calls[t->call_count].impact, 1, IMPACT_POINTS);
		if (t->rows)
			gt_trail_add(&t->calls[t->call_count].impact, t->first_ms, &(double){ 0 });
		t->call_count++;
		t->is_levelzero |= !strncmp(name, "ze", 2);
	}
	return &t->calls[number];
}

struct row {
	double number, time_ms, delta_kb, size_delta_kb, residue_kb, curves[GT_CURVE_COUNT];
	const char *call;
};

/* True for a number, and for a column that the file does not have. */
static bool parse_field(double *out, const struct gt_rows *r, int column)
{
	return column < 0 || gt_number_parse(r->fields[column], out);
}

static bool parse_row(struct row *row, const struct gt_rows *r, const struct columns *c)
{
	/* the last number of a truncated row may be truncated too */
	if (r->count != c->count || r->cut)
		return false;
	row->call = r->fields[c->call];
	if (!*row->call || !parse_field(&row->time_ms, r, c->time) ||
	    !parse_field(&row->delta_kb, r, c->delta) ||
	    !parse_field(&row->size_delta_kb, r, c->size_delta) ||
	    !parse_field(&row->residue_kb, r, c->residue))
		return false;
	/* of use only where rows follow each other, and then it is a number */
	if (!parse_field(&row->number, r, c->number))
		row->number = 0;
	for (int i = 0; i < GT_CURVE_COUNT; i++)
		if (!parse_field(&row->curves[i], r, c->curves[i]))
			return false;
	return true;
}

/*
 * The original tracker writes a decrease as if it were an increase. The change of the process's
 * memory since the previous row tells them apart; in our own files the two always agree.
 */
static double signed_delta(struct gt_tracker_table *t, const struct row *row,
			   const struct columns *c)
{
	double since = row->curves[GT_CURVE_RSS] - t->last_rss;

	if (c->delta < 0)
		return t->rows ? since : 0;
	if (t->rows && row->delta_kb > 0 && since < 0) {
		t->unsigned_falls++;
		return -row->delta_kb;
	}
	return row->delta_kb;
}

/*
 * Between two rows that follow each other, a delta since the previous row is the change of VmRSS.
 * One that differs was measured around its call.
 */
static bool is_measured_around_call(const struct gt_tracker_table *t, const struct row *row,
				    double number_before, const struct columns *c)
{
	double since = row->curves[GT_CURVE_RSS] - t->last_rss;

	return t->rows && c->delta >= 0 && number_before > 0 && row->number == number_before + 1 &&
	       fabs(row->delta_kb) != fabs(since);
}

/* One value for each ms. */
static void add_moment(struct gt_trail *t, double time_ms, double kb)
{
	if (t->count && time_ms <= gt_trail_x(t, t->count - 1))
		t->points[(t->count - 1) * (t->width + 1) + 1] += kb;
	else
		gt_trail_add(t, time_ms, &kb);
}

/* A decrease is residue that was given back: no event, but it counts in the sums. */
static void add_leak(struct gt_tracker_table *t, struct gt_call_stats *call, double time_ms,
		     double delta_kb)
{
	bool is_event = delta_kb > 0;

	t->leak_events += is_event;
	t->leak_kb += delta_kb;
	call->leaks += is_event;
	call->leak_kb += delta_kb;
	if (is_event)
		gt_trail_add(&t->leaks, time_ms, (double[]){ delta_kb, t->leak_kb });
	gt_trail_add(&t->leaked, time_ms, &t->leak_kb);
	add_moment(&t->moments, time_ms, delta_kb);
}

/* By the rule of the file's basis, as far as it is known before the last row. */
static void find_leak(struct gt_tracker_table *t, const struct row *row, const struct columns *c,
		      struct gt_call_stats *call, double delta_kb)
{
	double change_kb = row->residue_kb - t->residue_kb;

	if (c->residue < 0) {
		if (call->ends && delta_kb > t->threshold_kb)
			add_leak(t, call, row->time_ms, delta_kb);
		return;
	}
	t->residue_kb = row->residue_kb;
	if (change_kb != 0)
		add_leak(t, call, row->time_ms, change_kb);
}

static void add_row(struct gt_tracker_table *t, const struct row *row, const struct columns *c,
		    double number_before)
{
	double delta_kb = signed_delta(t, row, c);
	struct gt_call_stats *call = call_of(t, row->call);

	if (t->basis == GT_BASIS_NONE && is_measured_around_call(t, row, number_before, c))
		t->basis = GT_BASIS_CALL;

	if (!t->rows) {
		t->first_ms = row->time_ms;
		t->first_rss = row->curves[GT_CURVE_RSS];
		gt_trail_add(&t->leaked, row->time_ms, &t->leak_kb);
	}
	if (!t->rows || row->time_ms > t->last_ms)
		t->last_ms = row->time_ms;
	t->last_rss = row->curves[GT_CURVE_RSS];
	for (int i = 0; i < GT_CURVE_COUNT; i++) {
		if (c->curves[i] < 0)
			continue;
		gt_trail_add(&t->curves[i], row->time_ms, &row->curves[i]);
		gt_averages_add(&t->averages[i], row->time_ms, row->curves[i]);
		if (!t->rows || row->curves[i] > t->peak[i])
			t->peak[i] = row->curves[i];
		t->last[i] = row->curves[i];
	}
	t->rows++;
	gt_trail_add(&t->deltas, (double)t->rows, &delta_kb);
	if (c->size_delta >= 0 && row->size_delta_kb != 0)
		gt_trail_add(&t->size_deltas, (double)t->rows, &row->size_delta_kb);
	call->count++;
	call->delta_kb += delta_kb;
	gt_trail_add(&call->impact, row->time_ms, &call->delta_kb);
	find_leak(t, row, c, call, delta_kb);
}

static void init_leaks(struct gt_tracker_table *t)
{
	gt_trail_init(&t->leaks, 2, GT_TRAIL_MOST);
	gt_trail_init(&t->leaked, 1, GT_TRAIL_MOST);
	gt_trail_init(&t->moments, 1, GT_TRAIL_MOST);
}

static void fini_leaks(struct gt_tracker_table *t)
{
	gt_trail_fini(&t->leaks);
	gt_trail_fini(&t->leaked);
	gt_trail_fini(&t->moments);
}

/* Leaves no leak, because there is none or it cannot be told. */
static void forget_leaks(struct gt_tracker_table *t)
{
	fini_leaks(t);
	init_leaks(t);
	t->leak_events = 0;
	t->leak_kb = 0;
	for (size_t i = 0; i < t->call_count; i++) {
		t->calls[i].leaks = 0;
		t->calls[i].leak_kb = 0;
	}
}

/* Nobody can say whose memory the deltas are. */
static void turn_leaks_into_rises(struct gt_tracker_table *t)
{
	t->rises = t->leak_events;
	t->rise_kb = t->leak_kb;
	for (size_t i = 0; i < t->call_count; i++) {
		t->calls[i].rises = t->calls[i].leaks;
		t->calls[i].rise_kb = t->calls[i].leak_kb;
	}
	forget_leaks(t);
}

static struct gt_tracker_table *table_new(double threshold_kb, enum gt_leak_basis basis)
{
	struct gt_tracker_table *t = gt_alloc(sizeof *t);

	t->threshold_kb = threshold_kb;
	t->names = gt_intern_new();
	for (int i = 0; i < GT_CURVE_COUNT; i++)
		gt_trail_init(&t->curves[i], 1, GT_TRAIL_MOST);
	gt_trail_init(&t->deltas, 1, GT_TRAIL_MOST);
	gt_trail_init(&t->size_deltas, 1, GT_TRAIL_MOST);
	t->basis = basis;
	init_leaks(t);
	return t;
}

/* Adds a point at the end for a value that holds until then, unless there is one already. */
static void hold(struct gt_trail *t, double end, double value)
{
	if (t->count && gt_trail_x(t, t->count - 1) < end)
		gt_trail_add(t, end, &value);
}

static void find_creeping(struct gt_tracker_table *t)
{
	for (size_t i = 0; i < t->call_count; i++) {
		const struct gt_call_stats *call = &t->calls[i];

		if (call->ends &&
		    gt_call_creep(call) > (t->creeps ? gt_call_creep(t->creeps) : t->threshold_kb))
			t->creeps = call;
	}
}

static void judge(struct gt_tracker_table *t)
{
	if (t->basis == GT_BASIS_RESIDUE) {
		if (t->residue_kb <= t->threshold_kb)
			forget_leaks(t);
		return;
	}
	t->residue_kb = -1;
	if (t->basis == GT_BASIS_NONE)
		turn_leaks_into_rises(t);
	find_creeping(t);
}

void gt_tracker_set_residue(struct gt_tracker_table *t, double residue_kb)
{
	if (t->basis == GT_BASIS_RESIDUE)
		return;
	t->basis = GT_BASIS_RESIDUE;
	t->residue_kb = residue_kb;
	forget_leaks(t);
	t->leak_kb = residue_kb > t->threshold_kb ? residue_kb : 0;
	t->rises = 0;
	t->rise_kb = 0;
	t->creeps = NULL;
	for (size_t i = 0; i < t->call_count; i++) {
		t->calls[i].rises = 0;
		t->calls[i].rise_kb = 0;
	}
}

int gt_tracker_read(struct gt_tracker_table **out, struct gt_rows *rows, double threshold_kb,
		    struct gt_error *error)
{
	struct gt_tracker_table *t;
	struct columns columns;
	struct row row = { 0 };
	double number_before = 0;
	int e = find_columns(&columns, rows, error);

	if (e)
		return e;
	t = table_new(threshold_kb, columns.residue < 0 ? GT_BASIS_NONE : GT_BASIS_RESIDUE);
	while (gt_rows_next(rows)) {
		if (parse_row(&row, rows, &columns)) {
			add_row(t, &row, &columns, number_before);
			number_before = row.number;
		} else if (!t->bad_rows++) {
			t->bad_line = rows->number;
		}
	}
	e = gt_rows_verdict(rows, t->rows, t->bad_rows,
			    "it has a header but no rows: no tracked call was made", error);
	if (e) {
		gt_tracker_free(t);
		return e;
	}
	judge(t);
	hold(&t->leaked, t->last_ms, t->leak_kb);
	for (size_t i = 0; i < t->call_count; i++)
		hold(&t->calls[i].impact, t->last_ms, t->calls[i].delta_kb);
	*out = t;
	return 0;
}

void gt_tracker_free(struct gt_tracker_table *t)
{
	for (int i = 0; i < GT_CURVE_COUNT; i++)
		gt_trail_fini(&t->curves[i]);
	gt_trail_fini(&t->deltas);
	gt_trail_fini(&t->size_deltas);
	fini_leaks(t);
	for (size_t i = 0; i < t->call_count; i++) {
		gt_trail_fini(&t->calls[i].impact);
		free(t->calls[i].name);
	}
	free(t->calls);
	gt_intern_free(t->names);
	free(t);
}
