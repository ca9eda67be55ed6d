/* SPDX-License-Identifier: MIT */
/* fuzz_monitor.c - reads any bytes as a monitor's CSV, and draws the result. */
#include "fuzz_table.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct gt_monitor_table *t;
	struct gt_canvas canvas;
	struct gt_rows rows;
	struct gt_error error = { "" };
	uint64_t seen = 0;

	fuzz_rows(&rows, data, size);
	if (gt_monitor_read(&t, &rows, &error)) {
		FUZZ_CHECK(error.text[0]);
		gt_rows_close(&rows);
		return 0;
	}
	for (size_t i = 0; i < t->run_count; i++) {
		fuzz_trail(&t->runs[i].cpu);
		fuzz_trail(&t->runs[i].memory);
		seen += t->runs[i].rows;
	}
	FUZZ_CHECK(seen + t->left_out == t->rows);
	fuzz_canvas_open(&canvas);
	gt_monitor_draw(&canvas, t, "fuzz");
	gt_monitor_text(t, canvas.out, size % 3);
	fuzz_canvas_close(&canvas);
	gt_monitor_free(t);
	gt_rows_close(&rows);
	return 0;
}
