/* SPDX-License-Identifier: MIT */
/* fuzz_charts.c - reads any bytes as a table of charts, and draws the result. */
#include "fuzz_table.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct gt_chart_table *t;
	struct gt_canvas canvas;
	struct gt_rows rows;
	struct gt_error error = { "" };

	fuzz_rows(&rows, data, size);
	if (gt_charts_read(&t, &rows, &error)) {
		FUZZ_CHECK(error.text[0]);
		gt_rows_close(&rows);
		return 0;
	}
	for (size_t i = 0; i < t->chart_count; i++)
		for (size_t k = 0; k < t->charts[i].curve_count; k++)
			fuzz_trail(&t->charts[i].curves[k].points);
	fuzz_canvas_open(&canvas);
	gt_charts_draw(&canvas, t, "fuzz");
	gt_charts_text(t, canvas.out, true);
	fuzz_canvas_close(&canvas);
	gt_charts_free(t);
	gt_rows_close(&rows);
	return 0;
}
