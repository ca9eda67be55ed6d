/* SPDX-License-Identifier: MIT */
/* read_monitor.c - processor and memory use of processes over time. */
#include "plot/read_monitor.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/containers.h"
#include "base/mem.h"

enum { RUNS_MOST = 256, RUN_POINTS = 4096 };

enum column { MOMENT, DESCRIPTION, PID, NAME, CPU, MEMORY, COLUMN_COUNT };

static const char *const headings[COLUMN_COUNT] = {
	[MOMENT] = "timestamp", [DESCRIPTION] = "description", [PID] = "pid",
	[NAME] = "name",        [CPU] = "cpu_percent",         [MEMORY] = "memory_mb",
};

struct layout {
	int at[COLUMN_COUNT];
	size_t count;
};

static int find_columns(struct layout *l, struct gt_rows *r, struct gt_error *error)
{
	bool has_description;
	double moment;

	if (!gt_rows_next(r))
		return gt_error_set(error, -ENODATA, "it is empty");
	l->count = r->count;
	has_description = r->count >= 9;
	if (gt_moment_parse(r->fields[0], &moment)) {
		if (r->count < COLUMN_COUNT)
			return gt_error_set(error, -EINVAL, "it has too few columns");
		/* no heading: columns are in the monitor's order */
		l->at[MOMENT] = 0;
		l->at[DESCRIPTION] = has_description ? 1 : -1;
		for (int i = PID; i < COLUMN_COUNT; i++)
			l->at[i] = i - !has_description;
		gt_rows_again(r);
		return 0;
	}
	for (int i = 0; i < COLUMN_COUNT; i++) {
		l->at[i] = gt_rows_find(r, headings[i]);
		if (l->at[i] < 0 && i != DESCRIPTION && i != NAME)
			return gt_error_set(error, -EINVAL, "it has no column %s", headings[i]);
	}
	return 0;
}

static const char *field(const struct gt_rows *r, int at)
{
	return at < 0 ? "" : r->fields[at];
}

static struct gt_monitor_run *run_of(struct gt_monitor_table *t, const struct gt_rows *r,
				     const struct layout *l, double moment)
{
	const char *description = field(r, l->at[DESCRIPTION]), *name = field(r, l->at[NAME]);
	char *text = NULL;
	uint32_t number;
	int length =
		asprintf(&text, "%s%s%s%spid %s%s", description, *description ? " (" : "", name,
			 *name ? ", " : "", field(r, l->at[PID]), *description ? ")" : "");

	if (length < 0)
		return NULL;
	if (gt_intern_count(t->names) >= RUNS_MOST) {
		for (number = 0; number < t->run_count; number++)
			if (!strcmp(t->runs[number].name, text))
				break;
	} else {
		number = gt_intern(t->names, text, (size_t)length);
	}
	if (number == t->run_count && number < RUNS_MOST) {
		GT_GROW(t->runs, t->run_count, t->run_room);
		t->runs[number] = (struct gt_monitor_run){ .name = text, .start_s = moment };
		gt_trail_init(&t->runs[number].cpu, 1, RUN_POINTS);
		gt_trail_init(&t->runs[number].memory, 1, RUN_POINTS);
		t->run_count++;
	} else {
		free(text);
	}
	return number < t->run_count ? &t->runs[number] : NULL;
}

/* Adds the pending rows of one timestamp: spread over its second if it has no fraction. */
static void add_pending(struct gt_monitor_run *run)
{
	bool whole = run->pending_s + run->start_s == floor(run->pending_s + run->start_s);

	for (size_t i = 0; i < run->pending_count; i++) {
		double since = run->pending_s;

		if (whole)
			since += (double)i / (double)run->pending_count;
		gt_trail_add(&run->cpu, since, &run->pending[i][0]);
		gt_trail_add(&run->memory, since, &run->pending[i][1]);
		run->last_s = since > run->last_s ? since : run->last_s;
	}
	run->pending_count = 0;
}

static bool add_row(struct gt_monitor_table *t, const struct gt_rows *r, const struct layout *l)
{
	struct gt_monitor_run *run;
	double moment, cpu, memory, since;

	if (r->count != l->count || r->cut || !gt_moment_parse(r->fields[l->at[MOMENT]], &moment) ||
	    !gt_number_parse(r->fields[l->at[CPU]], &cpu) ||
	    !gt_number_parse(r->fields[l->at[MEMORY]], &memory))
		return false;
	t->rows++;
	run = run_of(t, r, l, moment);
	if (!run) {
		t->left_out++;
		return true;
	}
	since = moment > run->start_s ? moment - run->start_s : 0;
	if (since != run->pending_s || run->pending_count == GT_MONITOR_PENDING)
		add_pending(run);
	run->pending_s = since;
	run->pending[run->pending_count][0] = cpu;
	run->pending[run->pending_count++][1] = memory;
	if (!run->rows || cpu > run->peak_cpu)
		run->peak_cpu = cpu;
	if (!run->rows || memory > run->peak_memory)
		run->peak_memory = memory;
	run->sum_cpu += cpu;
	run->rows++;
	return true;
}

int gt_monitor_read(struct gt_monitor_table **out, struct gt_rows *rows, struct gt_error *error)
{
	struct gt_monitor_table *t;
	struct layout layout = { .count = 0 };
	int e = find_columns(&layout, rows, error);

	if (e)
		return e;
	t = gt_alloc(sizeof *t);
	t->names = gt_intern_new();
	while (gt_rows_next(rows))
		if (!add_row(t, rows, &layout) && !t->bad_rows++)
			t->bad_line = rows->number;
	for (size_t i = 0; i < t->run_count; i++)
		add_pending(&t->runs[i]);
	e = gt_rows_verdict(rows, t->rows, t->bad_rows, "it has a header but no rows", error);
	if (e) {
		gt_monitor_free(t);
		return e;
	}
	*out = t;
	return 0;
}

void gt_monitor_free(struct gt_monitor_table *t)
{
	for (size_t i = 0; i < t->run_count; i++) {
		gt_trail_fini(&t->runs[i].cpu);
		gt_trail_fini(&t->runs[i].memory);
		free(t->runs[i].name);
	}
	free(t->runs);
	gt_intern_free(t->names);
	free(t);
}
