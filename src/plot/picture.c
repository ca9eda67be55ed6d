/* SPDX-License-Identifier: MIT */
/* picture.c - what all pictures share. */
#include "plot/picture.h"

#include <inttypes.h>
#include <math.h>

#include "base/format.h"

struct gt_box gt_picture_head(struct gt_canvas *c, const char *title, const char *subtitle)
{
	struct gt_type type = gt_type_for((struct gt_box){ 0, 0, c->width / 2, c->height });
	double pad = type.text * 0.9, y = pad + type.title;

	gt_canvas_note(c, "head");
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
		fprintf(out, "Left out: %s damaged %s, the first is line %" PRIu64 "\n",
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
