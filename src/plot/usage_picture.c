/* SPDX-License-Identifier: MIT */
/* usage_picture.c - memory over time from a table, with nvidia-smi's line over it. */
#include <string.h>

#include "base/format.h"
#include "plot/picture.h"
#include "plot/scale.h"

void gt_usage_draw(struct gt_canvas *c, struct gt_usage_table *t, struct gt_overlay *overlay,
		   const char *name)
{
	struct gt_panel panel = { .title = "Memory Usage",
				  .x_label = "Time since start",
				  .x_is_time = true,
				  .always_named = true };
	char peak[GT_FORMAT_MAX], when[GT_FORMAT_MAX], label[32], gpu[96], head[256];
	double most = t->peak_bytes, unit;

	for (size_t i = 0; i < t->column_count; i++) {
		struct gt_curve *curve = gt_panel_curve(&panel, t->names[i], GT_MARK_STEPS,
							&t->columns[i], gt_panel_color(c, i));

		curve->dashed = i >= GT_PALETTE;
		/* the total is often one of its parts and nothing else */
		curve->wide = i == 0 && t->column_count > 1;
		for (size_t k = 0; k < t->columns[i].count; k++)
			if (gt_trail_value(&t->columns[i], k, 0) > most)
				most = gt_trail_value(&t->columns[i], k, 0);
	}
	if (overlay && overlay->log->peak_bytes > most)
		most = overlay->log->peak_bytes;
	snprintf(label, sizeof label, "Memory (%s)", gt_picture_unit(most, &unit));
	panel.y_label = label;
	for (size_t i = 0; i < panel.curve_count; i++)
		panel.curves[i].y_by = 1 / unit;
	if (overlay) {
		gt_overlay_add(overlay, &panel, c, 1 / unit, gpu);
		panel.subtitle = overlay->text;
	}
	snprintf(head, sizeof head, "peak %s of %s at %s",
		 gt_format_bytes(peak, t->peak_bytes > 0 ? (uint64_t)t->peak_bytes : 0),
		 t->names[0], gt_format_span(when, gt_whole(t->peak_s * 1e9)));
	gt_panel_draw(c, &panel, gt_picture_cell(gt_picture_head(c, name, head), 1, 1, 0));
}

void gt_usage_table_text(const struct gt_usage_table *t, FILE *out)
{
	char peak[GT_FORMAT_MAX], when[GT_REAL_MAX], rows[GT_FORMAT_MAX];

	fprintf(out, "%s rows up to %s s", gt_format_count(rows, t->rows),
		gt_real_format(when, t->last_s, 3));
	fprintf(out, ", peak %s at %s s\n",
		gt_format_bytes(peak, t->peak_bytes > 0 ? (uint64_t)t->peak_bytes : 0),
		gt_real_format(when, t->peak_s, 3));
	gt_picture_damage(out, t->bad_rows, t->bad_line);
}
