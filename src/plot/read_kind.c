/* SPDX-License-Identifier: MIT */
/* read_kind.c - which table a file holds, told by its first line and not by its name. */
#include "plot/read_kind.h"

#include <string.h>

static bool are_numbers(const struct gt_rows *r, size_t from)
{
	double value;

	for (size_t i = from; i < r->count; i++)
		if (!gt_number_parse(r->fields[i], &value))
			return false;
	return r->count > from;
}

/* A line of the monitor without its heading: moment, [description,] pid, name, five numbers. */
static bool is_monitor_row(const struct gt_rows *r)
{
	double value;

	return (r->count == 8 || r->count == 9) && gt_moment_parse(r->fields[0], &value) &&
	       gt_number_parse(r->fields[r->count - 7], &value) && are_numbers(r, r->count - 5);
}

static enum gt_table_kind kind_of(const struct gt_rows *r)
{
	double value;

	if (gt_rows_find(r, "APICall") >= 0)
		return GT_TABLE_TRACKER;
	if (gt_rows_find(r, "cpu_percent") >= 0 || is_monitor_row(r))
		return GT_TABLE_MONITOR;
	if (r->separator == '\t' && r->count >= 2 &&
	    (!strncmp(r->fields[0], "time", 4) || are_numbers(r, 0)))
		return GT_TABLE_USAGE;
	if (!strncmp(r->fields[0], "timestamp", 9) || gt_moment_parse(r->fields[0], &value))
		return GT_TABLE_SMI;
	return GT_TABLE_UNKNOWN;
}

enum gt_table_kind gt_table_kind(struct gt_rows *r)
{
	if (!gt_rows_next(r))
		return GT_TABLE_EMPTY;
	gt_rows_again(r);
	return kind_of(r);
}
