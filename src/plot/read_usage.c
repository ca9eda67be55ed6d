/* SPDX-License-Identifier: MIT */
/* read_usage.c - a table of bytes over time. */
#include "plot/read_usage.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/mem.h"

/* Names for a table without heading. */
static const char *const default_names[] = { "total", "valid", "invalid", "driver" };

/* The fields of the table's columns. */
struct layout {
	size_t fields[GT_USAGE_COLUMNS], count;
	size_t clock; /* of the local time; 0: none */
};

/* "total (B)" and "device_bytes" -> "total" and "device". */
static void name_column(char out[64], const char *heading)
{
	char *tail;

	snprintf(out, 64, "%s", heading);
	tail = strstr(out, " (B)");
	if (!tail && strlen(out) > 6 && !strcmp(out + strlen(out) - 6, "_bytes"))
		tail = out + strlen(out) - 6;
	if (tail)
		*tail = '\0';
}

static void find_columns(struct gt_usage_table *t, struct layout *l, struct gt_rows *r)
{
	double number;
	bool headless = gt_number_parse(r->fields[0], &number);

	l->count = r->count;
	for (size_t i = 1; i < r->count && t->column_count < GT_USAGE_COLUMNS; i++) {
		/* a count of objects does not belong on an axis of bytes */
		if (!strcasecmp(r->fields[i], "objects"))
			continue;
		if (!strcmp(r->fields[i], "local time")) {
			l->clock = i;
			continue;
		}
		if (headless && i <= sizeof default_names / sizeof *default_names)
			name_column(t->names[t->column_count], default_names[i - 1]);
		else if (headless)
			snprintf(t->names[t->column_count], 64, "column %zu", i + 1);
		else
			name_column(t->names[t->column_count], r->fields[i]);
		gt_trail_init(&t->columns[t->column_count], 1, GT_TRAIL_MOST);
		l->fields[t->column_count++] = i;
	}
	if (headless)
		gt_rows_again(r);
}

static bool add_row(struct gt_usage_table *t, const struct layout *l, const struct gt_rows *r)
{
	double time, start, values[GT_USAGE_COLUMNS];

	if (r->count != l->count || r->cut || !gt_number_parse(r->fields[0], &time))
		return false;
	for (size_t i = 0; i < t->column_count; i++)
		if (!gt_number_parse(r->fields[l->fields[i]], &values[i]))
			return false;
	time /= 1e9;
	for (size_t i = 0; i < t->column_count; i++)
		gt_trail_add(&t->columns[i], time, &values[i]);
	if (!t->rows || values[0] > t->peak_bytes) {
		t->peak_bytes = values[0];
		t->peak_s = time;
	}
	if (!t->rows && l->clock && gt_moment_parse(r->fields[l->clock], &start))
		t->start_s = start - time;
	if (!t->rows || time > t->last_s)
		t->last_s = time;
	t->rows++;
	return true;
}

int gt_usage_read(struct gt_usage_table **out, struct gt_rows *rows, struct gt_error *error)
{
	struct gt_usage_table *t = gt_alloc(sizeof *t);
	struct layout layout = { 0 };
	int e;

	if (gt_rows_next(rows))
		find_columns(t, &layout, rows);
	while (t->column_count && gt_rows_next(rows))
		if (!add_row(t, &layout, rows) && !t->bad_rows++)
			t->bad_line = rows->number;
	e = gt_rows_verdict(rows, t->rows, t->bad_rows, "it has no rows: no memory was allocated",
			    error);
	if (e) {
		gt_usage_free(t);
		return e;
	}
	*out = t;
	return 0;
}

void gt_usage_free(struct gt_usage_table *t)
{
	for (size_t i = 0; i < t->column_count; i++)
		gt_trail_fini(&t->columns[i]);
	free(t);
}
