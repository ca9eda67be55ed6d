/* SPDX-License-Identifier: MIT */
/* fuzz_usage.c - reads any bytes as a usage table, and draws the result. */
#include "fuzz_table.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct gt_usage_table *t;
	struct gt_canvas canvas;
	struct gt_rows rows;
	struct gt_error error = { "" };

	fuzz_rows(&rows, data, size);
	if (gt_usage_read(&t, &rows, &error)) {
		FUZZ_CHECK(error.text[0]);
		gt_rows_close(&rows);
		return 0;
	}
	for (size_t i = 0; i < t->column_count; i++)
		fuzz_trail(&t->columns[i]);
	fuzz_canvas_open(&canvas);
	gt_usage_draw(&canvas, t, NULL, "fuzz");
	gt_usage_table_text(t, canvas.out);
	fuzz_canvas_close(&canvas);
	gt_usage_free(t);
	gt_rows_close(&rows);
	return 0;
}
