/* SPDX-License-Identifier: MIT */
/* fuzz_table.c - helpers for fuzz targets of tables. */
#include "fuzz_table.h"

#include <math.h>

static FILE *nowhere;

void fuzz_rows(struct gt_rows *rows, const uint8_t *data, size_t size)
{
	struct gt_error error;

	FUZZ_CHECK(!gt_rows_open(rows, fuzz_file(data, size), &error));
	/* as the command does it: the first line is looked at and then read again */
	if (size % 2)
		gt_table_kind(rows);
}

void fuzz_trail(const struct gt_trail *t)
{
	FUZZ_CHECK(t->count <= t->most && t->count <= t->room);
	for (size_t i = 0; i < t->count; i++) {
		FUZZ_CHECK(!i || gt_trail_x(t, i) >= gt_trail_x(t, i - 1));
		for (size_t k = 0; k < t->width; k++)
			FUZZ_CHECK(isfinite(gt_trail_value(t, i, k)));
	}
}

void fuzz_canvas_open(struct gt_canvas *c)
{
	static unsigned turn;
	struct gt_canvas_options options = { .format = GT_FORMAT_WORDS };
	struct gt_error error;

	if (!nowhere)
		nowhere = fopen("/dev/null", "we");
	FUZZ_CHECK(nowhere);
	options.width = 300 + turn * 611 % 2000;
	options.height = 200 + turn * 377 % 1500;
	turn++;
	FUZZ_CHECK(!gt_canvas_open(c, nowhere, &options, &error));
}

void fuzz_canvas_close(struct gt_canvas *c)
{
	struct gt_error error;

	FUZZ_CHECK(!gt_canvas_close(c, &error));
}
