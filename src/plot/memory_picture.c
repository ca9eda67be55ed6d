/* SPDX-License-Identifier: MIT */
/* memory_picture.c - where the device's memory went over time: its parts, stacked. */
#include <math.h>

#include "base/format.h"
#include "base/mem.h"
#include "plot/picture.h"
#include "plot/scale.h"

/* A capacity so much above what was used would flatten the picture. */
enum { FAR = 4 };

/* Of the bottom of the stack first. Memory that nobody has asked for is grey. */
static struct gt_hue color_of(const struct gt_canvas *c, enum gt_memory_part part)
{
	static const uint8_t numbers[GT_PART_COUNT] = {
		[GT_PART_PLACES] = 0,     [GT_PART_LIBRARIES] = 2, [GT_PART_CACHED] = 4,
		[GT_PART_FRAGMENTED] = 1, [GT_PART_STATICS] = 7,   [GT_PART_CODE] = 3,
		[GT_PART_GRAPHS] = 5,     [GT_PART_CONTEXTS] = 6,
	};
	struct gt_hue unknown = c->theme->faint;

	unknown.alpha = 0.4;
	return part == GT_PART_UNKNOWN ? unknown : gt_panel_color(c, numbers[part]);
}

static double seconds(const struct gt_memory_series *s, uint64_t time_ns)
{
	return time_ns > s->start_ns ? (double)(time_ns - s->start_ns) / 1e9 : 0;
}

/* The total, then each part on those before it. */
static void fill_trail(struct gt_trail *t, const struct gt_memory_series *s,
		       const struct gt_device_series *d, double end_s)
{
	double values[1 + GT_PART_COUNT] = { 0 };

	for (size_t i = 0; i < s->column_count; i++) {
		double sum = 0;

		for (int part = 0; part < GT_PART_COUNT; part++)
			values[1 + part] = sum += (double)d->columns[i].parts[part];
		values[0] = sum;
		gt_trail_add(t, (double)i * (double)s->column_ns / 1e9, values);
	}
	gt_trail_add(t, end_s, values);
}

static bool has_part(const struct gt_memory_series *s, const struct gt_device_series *d, int part)
{
	for (size_t i = 0; i < s->column_count; i++)
		if (d->columns[i].parts[part])
			return true;
	return false;
}

/* Each area reaches down to zero, and the next one covers the rest of it. */
static void add_parts(struct gt_panel *p, const struct gt_canvas *c,
		      const struct gt_memory_series *s, const struct gt_device_series *d,
		      struct gt_trail *trail, double by)
{
	for (int part = GT_PART_COUNT; part-- > 0;) {
		struct gt_curve *curve;

		if (!has_part(s, d, part))
			continue;
		curve = gt_panel_curve(p, gt_part_labels[part], GT_MARK_AREA, trail,
				       color_of(c, (enum gt_memory_part)part));
		curve->value = 1 + (size_t)part;
		curve->y_by = by;
	}
}

static void add_capacity(struct gt_panel *p, const struct gt_canvas *c, struct gt_trail *trail,
			 const struct gt_device_series *d, double end_s, double by, char name[64])
{
	char text[GT_FORMAT_MAX];
	struct gt_curve *curve;
	double capacity = (double)d->capacity;

	gt_trail_init(trail, 1, 64);
	gt_trail_add(trail, 0, &capacity);
	gt_trail_add(trail, end_s, &capacity);
	snprintf(name, 64, "capacity %s", gt_format_bytes(text, d->capacity));
	curve = gt_panel_curve(p, name, GT_MARK_STEPS, trail, c->theme->faint);
	curve->y_by = by;
	curve->dashed = true;
}

/* Where memory ran out, or else the highest total. */
static void set_flag(struct gt_panel *p, const struct gt_view *v, const struct gt_memory_series *s,
		     const struct gt_device_series *d, double by, char text[128])
{
	const struct gt_shortage *shortage = gt_memory_series_shortage(v);
	const struct gt_memory_column *c = &d->columns[d->highest];
	char bytes[GT_FORMAT_MAX], when[GT_FORMAT_MAX];
	uint64_t time_ns = shortage ? shortage->time_ns : c->time_ns;

	if (shortage)
		c = &d->columns[gt_memory_series_column(s, time_ns)];
	gt_format_span(when, gt_whole(seconds(s, time_ns) * 1e9));
	if (!shortage)
		snprintf(text, 128, "highest %s at %s", gt_format_bytes(bytes, c->total), when);
	else if (shortage->asked)
		snprintf(text, 128, "OUT OF MEMORY at %s: %s requested", when,
			 gt_format_bytes(bytes, shortage->asked));
	else
		snprintf(text, 128, "OUT OF MEMORY at %s", when);
	p->flag.text = text;
	p->flag.is_alarm = shortage != NULL;
	p->flag.x = seconds(s, time_ns);
	p->flag.y = (double)c->total * by;
}

void gt_memory_draw(struct gt_canvas *c, const struct gt_view *v, const struct gt_memory_series *s,
		    double end_s, struct gt_box box)
{
	const struct gt_device_series *d = gt_memory_series_main(s, v);
	struct gt_panel p = { .title = "Where the Device's Memory Went",
			      .always_named = true,
			      .x_label = "Time since start",
			      .x_is_time = true,
			      .x_high = end_s };
	struct gt_trail parts, capacity = { 0 };
	char label[32], name[64], flag[128], subtitle[256], more[64] = "";
	double most = (double)d->columns[d->highest].total, unit;
	bool has_capacity = d->capacity && (double)d->capacity <= FAR * most;

	snprintf(label, sizeof label, "In use (%s)",
		 gt_picture_unit(has_capacity ? fmax(most, (double)d->capacity) : most, &unit));
	p.y_label = label;
	if (s->device_count > 1)
		snprintf(more, sizeof more, ", of %zu devices", s->device_count);
	snprintf(subtitle, sizeof subtitle, "%.120s%s%s",
		 d->place ? gt_recording_place(v->recording, d->place) : "device memory", more,
		 d->is_reported ? "" : ", by calls: the device's own figure is not known");
	p.subtitle = subtitle;
	gt_trail_init(&parts, 1 + GT_PART_COUNT, GT_TRAIL_MOST);
	fill_trail(&parts, s, d, end_s);
	add_parts(&p, c, s, d, &parts, 1 / unit);
	if (has_capacity)
		add_capacity(&p, c, &capacity, d, end_s, 1 / unit, name);
	set_flag(&p, v, s, d, 1 / unit, flag);
	gt_panel_draw(c, &p, box);
	gt_trail_fini(&parts);
	gt_trail_fini(&capacity);
}

void gt_memory_words(const struct gt_view *v, const struct gt_memory_series *s, FILE *out)
{
	const struct gt_device_series *d = gt_memory_series_main(s, v);
	const struct gt_shortage *shortage = gt_memory_series_shortage(v);
	const struct gt_memory_column *c =
		&d->columns[shortage ? gt_memory_series_column(s, shortage->time_ns) : d->highest];
	char text[GT_FORMAT_MAX], when[GT_FORMAT_MAX];
	const char *between = ": ";

	fprintf(out, "%s device memory %s, %s at %s", gt_format_bytes(text, c->total),
		d->is_reported ? "as the GPU reports it" : "by calls",
		shortage ? "when memory ran out" : "at its highest",
		gt_format_span(
			when,
			gt_whole(seconds(s, shortage ? shortage->time_ns : c->time_ns) * 1e9)));
	for (int part = 0; part < GT_PART_COUNT; part++) {
		if (!c->parts[part])
			continue;
		fprintf(out, "%s%s %s", between, gt_format_bytes(text, c->parts[part]),
			gt_part_labels[part]);
		between = ", ";
	}
	putc('\n', out);
}
