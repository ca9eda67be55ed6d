/* SPDX-License-Identifier: MIT */
/* picture.c - parts shared by all pictures; nvidia-smi's curve. */
#include "plot/picture.h"

#include <inttypes.h>
#include <math.h>

#include "base/format.h"
#include "base/text.h"
#include "plot/scale.h"

struct gt_box gt_picture_head(struct gt_canvas *c, const char *title, const char *subtitle)
{
	struct gt_type type = gt_type_for((struct gt_box){ 0, 0, c->width / 2, c->height });
	double pad = type.text * 0.9, y = pad + type.title;

	gt_canvas_describe(c, "head");
	gt_canvas_text(c, pad, y, c->width - 2 * pad, title,
		       &(struct gt_lettering){
			       .size = type.title * 1.15, .bold = true, .color = c->theme->ink });
	y += type.text * 1.6;
	gt_canvas_text(c, pad, y, c->width - 2 * pad, subtitle,
		       &(struct gt_lettering){ .size = type.text, .color = c->theme->faint });
	y += type.text * 0.8;
	return (struct gt_box){ 0, y, c->width, c->height - y };
}

struct gt_box gt_picture_cell(struct gt_box box, unsigned rows, unsigned columns, unsigned n)
{
	double between = fmin(8, box.w / 100), w = (box.w - between) / columns,
	       h = (box.h - between) / rows;

	return (struct gt_box){ box.x + between + w * (n % columns), box.y + h * (n / columns),
				w - between, h - between };
}

void gt_picture_damage(FILE *out, uint64_t bad, uint64_t first_line)
{
	char text[GT_FORMAT_MAX];

	if (bad)
		fprintf(out, "Skipped: %s damaged %s, the first is line %" PRIu64 "\n",
			gt_format_count(text, bad), bad == 1 ? "row" : "rows", first_line);
}

const char *gt_picture_unit(double most, double *bytes)
{
	static const char *const units[] = { "B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB" };
	size_t unit = 0;

	*bytes = 1;
	while (most / *bytes >= 1024 && unit + 1 < sizeof units / sizeof *units) {
		*bytes *= 1024;
		unit++;
	}
	return units[unit];
}

static void name_gpus(const struct gt_smi_log *log, char name[96])
{
	if (log->gpu == GT_SMI_ALL && log->gpu_count > 1)
		snprintf(name, 96, "nvidia-smi, sum of %u GPUs", log->gpu_count);
	else if (log->gpu == GT_SMI_ALL)
		snprintf(name, 96, "nvidia-smi");
	else if (*log->gpu_name)
		snprintf(name, 96, "nvidia-smi, GPU %s", log->gpu_name);
	else
		snprintf(name, 96, "nvidia-smi, GPU %d", log->gpu);
}

void gt_overlay_add(struct gt_overlay *o, struct gt_panel *p, const struct gt_canvas *c, double by,
		    char name[96])
{
	double beyond = o->end_s > 0 ? o->end_s * 0.05 : 1;
	struct gt_curve *curve;

	/* a log may cover hours before and after */
	gt_trail_window(&o->log->used, -beyond - o->shift_s, o->end_s + beyond - o->shift_s);
	name_gpus(o->log, name);
	curve = gt_panel_curve(p, name, GT_MARK_STEPS, &o->log->used, c->theme->ink);
	curve->x_from = o->shift_s;
	curve->y_by = by;
	curve->dashed = true;
}

void gt_overlay_text(const struct gt_overlay *o, FILE *out, bool utf8)
{
	const struct gt_smi_log *log = o->log;
	char name[96], count[GT_FORMAT_MAX], peak[GT_FORMAT_MAX];

	name_gpus(log, name);
	gt_text_put(out, name, UINT32_MAX, GT_CUT_MIDDLE, utf8);
	fprintf(out, ": %s samples, peak %s\n", gt_format_count(count, log->samples),
		gt_format_bytes(peak, gt_whole(log->peak_bytes)));
	if (log->memory_column)
		fprintf(out, "no header: column %d is assumed to be the memory used\n",
			log->memory_column);
	if (log->other_lines)
		fprintf(out, "skipped: %s lines that are not samples\n",
			gt_format_count(count, log->other_lines));
	fprintf(out, "%s\n", o->text);
}
