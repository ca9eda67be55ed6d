/* SPDX-License-Identifier: MIT */
/* usage_picture.c - usage over time: memory from a table, processor and memory from the monitor. */
#include <string.h>

#include "base/format.h"
#include "base/text.h"
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
		/* the total often equals one of its parts, which would hide it */
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

/* As many lines as can be told apart: the palette, solid and dashed. */
enum { RUNS_DRAWN = 2 * GT_PALETTE };

static void add_runs(struct gt_panel *p, const struct gt_canvas *c, struct gt_monitor_table *t,
		     bool cpu)
{
	for (size_t i = 0; i < t->run_count && i < RUNS_DRAWN; i++)
		gt_panel_curve(p, t->runs[i].name, GT_MARK_LINE,
			       cpu ? &t->runs[i].cpu : &t->runs[i].memory, gt_panel_color(c, i))
			->dashed = i >= GT_PALETTE;
}

void gt_monitor_draw(struct gt_canvas *c, struct gt_monitor_table *t, const char *name)
{
	struct gt_panel cpu = { .title = "CPU Usage Over Time",
				.y_label = "CPU (%)",
				.x_label = "Time since the start of the run",
				.x_is_time = true,
				.one_a_line = true,
				.always_named = true };
	struct gt_panel memory = cpu;
	char rows[GT_FORMAT_MAX], runs[GT_FORMAT_MAX], head[160];
	struct gt_box box;

	snprintf(head, sizeof head, "%s %s of %s %s%s", gt_format_count(rows, t->rows),
		 gt_plural(t->rows, "sample", "samples"), gt_format_count(runs, t->run_count),
		 gt_plural(t->run_count, "run", "runs"),
		 t->run_count > RUNS_DRAWN ? "; the first 16 are drawn" : "");
	box = gt_picture_head(c, name, head);
	memory.title = "Memory Usage Over Time";
	memory.y_label = "Memory (MB)";
	add_runs(&cpu, c, t, true);
	add_runs(&memory, c, t, false);
	gt_panel_draw(c, &cpu, gt_picture_cell(box, 2, 1, 0));
	gt_panel_draw(c, &memory, gt_picture_cell(box, 2, 1, 1));
}

void gt_monitor_text(const struct gt_monitor_table *t, FILE *out, bool utf8)
{
	char mean[GT_REAL_MAX], peak[GT_REAL_MAX], memory[GT_REAL_MAX], span[GT_REAL_MAX];

	for (size_t i = 0; i < t->run_count; i++) {
		const struct gt_monitor_run *run = &t->runs[i];

		gt_text_put(out, run->name, UINT32_MAX, GT_CUT_MIDDLE, utf8);
		fprintf(out, ": %s s, CPU %s %% on average, %s %% peak, memory %s MB peak\n",
			gt_real_format(span, run->last_s, 1),
			gt_real_format(mean, run->sum_cpu / (double)run->rows, 1),
			gt_real_format(peak, run->peak_cpu, 1),
			gt_real_format(memory, run->peak_memory, 1));
	}
	gt_picture_damage(out, t->bad_rows, t->bad_line);
	if (t->left_out)
		fprintf(out, "Skipped: %llu rows of further runs\n",
			(unsigned long long)t->left_out);
}
