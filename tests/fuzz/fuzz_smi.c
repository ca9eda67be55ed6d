/* SPDX-License-Identifier: MIT */
/* fuzz_smi.c - reads any bytes as nvidia-smi's log, and overlays the result on a picture. */
#include "fuzz_table.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct gt_overlay overlay = { 0 };
	struct gt_panel panel = { .title = "fuzz" };
	struct gt_canvas canvas;
	struct gt_rows rows;
	struct gt_error error = { "" };
	char name[96];

	fuzz_rows(&rows, data, size);
	if (gt_smi_read(&overlay.log, &rows, (int)(size % 4) - 1, &error)) {
		FUZZ_CHECK(error.text[0]);
		gt_rows_close(&rows);
		return 0;
	}
	FUZZ_CHECK(overlay.log->gpu_count <= GT_SMI_GPUS && overlay.log->samples);
	fuzz_trail(&overlay.log->used);
	/* aligning by shape takes long: one in five */
	gt_overlay_align(&overlay, size % 3 ? 1750634107 : 0, 10,
			 size % 5 ? &(struct gt_trail){ .width = 1 } : &overlay.log->used);
	fuzz_canvas_open(&canvas);
	gt_overlay_add(&overlay, &panel, &canvas, 1, name);
	fuzz_trail(&overlay.log->used);
	gt_panel_draw(&canvas, &panel, (struct gt_box){ 0, 0, canvas.width, canvas.height });
	gt_overlay_text(&overlay, canvas.out, size % 2);
	fuzz_canvas_close(&canvas);
	gt_smi_free(overlay.log);
	gt_rows_close(&rows);
	return 0;
}
