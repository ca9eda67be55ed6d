/* SPDX-License-Identifier: MIT */
/* fuzz_tracker.c - reads any bytes as a tracker's CSV, and draws the result. */
#include "fuzz_table.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct gt_tracker_table *t;
	struct gt_canvas canvas;
	struct gt_rows rows;
	struct gt_error error = { "" };
	uint64_t calls = 0;

	fuzz_rows(&rows, data, size);
	if (gt_tracker_read(&t, &rows, GT_RESIDUE_LEAK_KB, &error)) {
		FUZZ_CHECK(error.text[0]);
		gt_rows_close(&rows);
		return 0;
	}
	for (int i = 0; i < GT_CURVE_COUNT; i++)
		fuzz_trail(&t->curves[i]);
	fuzz_trail(&t->deltas);
	fuzz_trail(&t->leaks);
	fuzz_trail(&t->leaked);
	for (size_t i = 0; i < t->call_count; i++)
		calls += t->calls[i].count;
	FUZZ_CHECK(calls == t->rows);
	fuzz_canvas_open(&canvas);
	gt_tracker_draw(&canvas, t, "fuzz");
	gt_tracker_text(t, canvas.out, size % 3);
	fuzz_canvas_close(&canvas);
	gt_tracker_free(t);
	gt_rows_close(&rows);
	return 0;
}
