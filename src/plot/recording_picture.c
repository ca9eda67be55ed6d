/* SPDX-License-Identifier: MIT */
/* recording_picture.c - a recording's picture: live bytes and resources, peak, leaks, call sites.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/format.h"
#include "base/mem.h"
#include "ledger/groups.h"
#include "plot/picture.h"
#include "plot/scale.h"
#include "replay/group_text.h"
#include "replay/head.h"
#include "replay/ending.h"
#include "replay/place.h"

enum { TOP_SITES = 10, KINDS_SHOWN = 8, WHERE_LEAST = 16 };

struct drawing {
	struct gt_canvas *canvas;
	const struct gt_view *view;
	struct gt_alive_over_time *history;
	struct gt_overlay *overlay;
	size_t *colors; /* by kind: index into the palette + 1; 0: none yet */
};

/* A kind has the same colour in all panels. */
static struct gt_hue color_of(const struct drawing *d, int kind)
{
	size_t next = 0;

	for (int k = 0; k < GT_KIND_COUNT; k++)
		next = d->colors[k] > next ? d->colors[k] : next;
	if (!d->colors[kind])
		d->colors[kind] = next + 1;
	return gt_panel_color(d->canvas, d->colors[kind] - 1);
}

static double peak_time(const struct drawing *d)
{
	int64_t time_ns = gt_view_time(d->view, d->view->ledger->peak_ns);

	return time_ns > 0 ? (double)time_ns / 1e9 : 0;
}

static bool is_capacity(const struct drawing *d, size_t series)
{
	return !strcmp(gt_recording_series(d->view->recording, (uint16_t)series)->name,
		       GT_SERIES_DEVICE_CAPACITY);
}

/* True for a capacity so far above what was used that it would flatten the picture. */
static bool is_far(const struct drawing *d, size_t series)
{
	const struct gt_trail *trail = &d->history->series[series];

	return is_capacity(d, series) &&
	       (!trail->count || gt_trail_value(trail, 0, 0) > 4 * d->history->most_bytes);
}

/* Curves of the sampled device memory. */
static void add_samples(const struct drawing *d, struct gt_panel *p, char names[][96], double by)
{
	size_t count = gt_recording_series_count(d->view->recording), shown = 0;

	for (size_t i = 0; i < count && i < GT_HISTORY_SERIES && shown < 4; i++) {
		const struct gt_series *s = gt_recording_series(d->view->recording, (uint16_t)i);
		struct gt_trail *trail = &d->history->series[i];
		struct gt_curve *curve;

		if (!trail->count || strcmp(s->unit, "bytes") || is_far(d, i))
			continue;
		snprintf(names[shown], 96, "%.40s%s%.50s", s->name, *s->subject ? ", " : "",
			 s->subject);
		/* it does not change */
		if (is_capacity(d, i))
			gt_trail_add(trail, d->history->end_s,
				     &(double){ gt_trail_value(trail, 0, 0) });
		curve = gt_panel_curve(p, names[shown], GT_MARK_STEPS, trail,
				       is_capacity(d, i) ? d->canvas->theme->faint :
				       shown             ? gt_panel_color(d->canvas, 7 - shown) :
							   d->canvas->theme->ink);
		curve->y_by = by;
		curve->dashed = true;
		shown++;
	}
}

static double most_sampled(const struct drawing *d)
{
	double most = d->overlay ? d->overlay->log->peak_bytes : 0;

	for (size_t i = 0; i < GT_HISTORY_SERIES; i++)
		for (size_t k = 0; k < d->history->series[i].count; k++)
			if (i < gt_recording_series_count(d->view->recording) && !is_far(d, i) &&
			    !strcmp(gt_recording_series(d->view->recording, (uint16_t)i)->unit,
				    "bytes"))
				most = fmax(most, gt_trail_value(&d->history->series[i], k, 0));
	return most;
}

/* True if the layer ever added to those below it. */
static bool has_bytes(const struct gt_alive_over_time *h, size_t layer)
{
	bool is_stacked = layer && gt_kind_on_device((enum gt_kind)h->layers[layer]);

	for (size_t i = 0; i < h->bytes.count; i++)
		if (gt_trail_value(&h->bytes, i, 1 + layer) !=
		    (is_stacked ? gt_trail_value(&h->bytes, i, layer) : 0))
			return true;
	return false;
}

static void add_layer(const struct drawing *d, struct gt_panel *p, double by, size_t layer)
{
	struct gt_alive_over_time *h = d->history;
	int kind = h->layers[layer];
	bool on_device = gt_kind_on_device((enum gt_kind)kind);
	struct gt_curve *curve;

	if (!has_bytes(h, layer))
		return;
	curve = gt_panel_curve(p, gt_kinds[kind].name, on_device ? GT_MARK_AREA : GT_MARK_STEPS,
			       &h->bytes, color_of(d, kind));
	curve->wide = !on_device;
	curve->value = 1 + layer;
	curve->y_by = by;
}

/*
 * From the top down, each layer includes those below it: only its own part stays visible. Host
 * memory is a line over all of them.
 */
static void add_layers(const struct drawing *d, struct gt_panel *p, double by)
{
	struct gt_alive_over_time *h = d->history;
	size_t on_device = 0;

	/* the lowest layer has the first colour */
	for (size_t i = 0; i < h->layer_count; i++) {
		if (has_bytes(h, i))
			color_of(d, h->layers[i]);
		on_device += gt_kind_on_device((enum gt_kind)h->layers[i]);
	}
	for (size_t i = on_device; i-- > 0;)
		add_layer(d, p, by, i);
	for (size_t i = on_device; i < h->layer_count; i++)
		add_layer(d, p, by, i);
}

static void draw_bytes(const struct drawing *d, struct gt_box box)
{
	const struct gt_ledger *l = d->view->ledger;
	struct gt_panel p = { .title = "Live Bytes Over Time, by Kind",
			      .always_named = true,
			      .x_label = "Time since start",
			      .x_is_time = true,
			      .x_high = d->history->end_s };
	char peak[GT_FORMAT_MAX], when[GT_FORMAT_MAX], flag[128], label[32], gpu[96], names[4][96];
	double unit;

	snprintf(label, sizeof label, "Alive (%s)",
		 gt_picture_unit(fmax(d->history->most_bytes, most_sampled(d)), &unit));
	p.y_label = label;
	add_layers(d, &p, 1 / unit);
	add_samples(d, &p, names, 1 / unit);
	if (d->overlay) {
		gt_overlay_add(d->overlay, &p, d->canvas, 1 / unit, gpu);
		p.subtitle = d->overlay->text;
	}
	if (!p.curve_count)
		p.message = "no memory was allocated";
	if (l->peak_bytes) {
		snprintf(flag, sizeof flag, "peak %s at %s", gt_format_bytes(peak, l->peak_bytes),
			 gt_format_span(when, gt_whole(peak_time(d) * 1e9)));
		p.flag.text = flag;
		p.flag.x = peak_time(d);
		p.flag.y = (double)l->peak_bytes / unit;
	}
	gt_panel_draw(d->canvas, &p, box);
}

static void draw_objects(const struct drawing *d, struct gt_box box)
{
	struct gt_panel p = { .title = "Live Resources Over Time, by Kind",
			      .always_named = true,
			      .x_label = "Time since start",
			      .x_is_time = true,
			      .y_label = "Alive",
			      .whole_numbers = true,
			      .x_high = d->history->end_s };
	bool used[GT_KIND_COUNT] = { false };

	/* the kinds with the most objects alive at once */
	for (size_t n = 0; n < KINDS_SHOWN; n++) {
		struct gt_curve *curve;
		int best = -1;

		for (int k = 0; k < GT_KIND_COUNT; k++)
			if (!used[k] && d->history->most[k] &&
			    (best < 0 || d->history->most[k] > d->history->most[best]))
				best = k;
		if (best < 0)
			break;
		used[best] = true;
		curve = gt_panel_curve(&p, gt_kinds[best].plural, GT_MARK_STEPS,
				       &d->history->objects[best], color_of(d, best));
		/* the palette repeats: dash the lines to tell them apart */
		curve->dashed = d->colors[best] > GT_PALETTE;
	}
	if (!p.curve_count)
		p.message = "no resources were created";
	gt_panel_draw(d->canvas, &p, box);
}

/* About as many letters as fit into a bar's name: more would be cut again. */
static unsigned name_columns(struct gt_box box)
{
	return (unsigned)(box.w * 0.5 / (gt_type_for(box).text * 0.58));
}

/* "2 buffers: make_vector < main  demo.c:41"; the caller frees it. */
static char *site_name(const struct gt_view *v, const struct gt_site *site, uint64_t count,
		       unsigned columns)
{
	struct gt_style style = { .utf8 = true, .width = 400, .directory = v->style.directory };
	char kind[GT_KIND_TEXT], *text = NULL;
	struct gt_printer page;
	size_t size;
	FILE *file = gt_memstream(&text, &size);

	gt_print_init(&page, file, &style);
	gt_print_put(&page, GT_PLAIN, "%s: ", gt_kind_count(kind, (enum gt_kind)site->kind, count));
	gt_place_put(&page, v, site->stack,
		     columns > page.column + WHERE_LEAST ? columns - page.column : WHERE_LEAST);
	gt_memstream_close(file);
	return text;
}

struct ranked {
	const struct gt_site *site;
	double value; /* bytes or count, see choose_unit */
	uint64_t bytes, count;
	struct gt_hue color;
	const char *note; /* behind the value; NULL: none */
};

static int biggest_first(const void *a, const void *b)
{
	const struct ranked *x = a, *y = b;

	if (x->value != y->value)
		return x->value > y->value ? -1 : 1;
	if (x->count != y->count)
		return x->count > y->count ? -1 : 1;
	if (x->site->first_ns != y->site->first_ns)
		return x->site->first_ns < y->site->first_ns ? -1 : 1;
	return (x->site->stack > y->site->stack) - (x->site->stack < y->site->stack);
}

/* "1.25 MiB perhaps leaked"; NULL: the bar's plain value. */
static const char *value_words(const struct gt_panel *p, const struct ranked *r, char *out,
			       size_t size)
{
	char value[GT_FORMAT_MAX];

	if (p->whole_numbers && !r->note)
		return NULL;
	snprintf(out, size, "%s%s%s",
		 p->whole_numbers ? gt_format_count(value, (uint64_t)r->value) :
		 r->value > 0     ? gt_format_bytes(value, (uint64_t)r->value) :
				    "no bytes",
		 !r->note     ? "" :
		 r->value > 0 ? " " :
				", ",
		 r->note ? r->note : "");
	return out;
}

static void draw_ranked(const struct drawing *d, struct gt_panel *p, struct ranked *list,
			size_t count, struct gt_box box)
{
	char words[TOP_SITES][GT_FORMAT_MAX + 32];
	struct gt_bar bars[TOP_SITES];
	uint32_t stacks[TOP_SITES];

	qsort(list, count, sizeof *list, biggest_first);
	for (size_t i = 0; i < count && i < TOP_SITES; i++)
		stacks[i] = list[i].site->stack;
	gt_places_list(d->view->frames, stacks, count < TOP_SITES ? count : TOP_SITES);
	for (size_t i = 0; i < count && i < TOP_SITES; i++) {
		bars[i] = (struct gt_bar){
			.name = site_name(d->view, list[i].site, list[i].count, name_columns(box)),
			.words = value_words(p, &list[i], words[i], sizeof words[i]),
			.value = list[i].value,
			.color = list[i].color
		};
		p->bar_count = i + 1;
	}
	p->bars = bars;
	gt_panel_draw(d->canvas, p, box);
	for (size_t i = 0; i < p->bar_count; i++)
		free((char *)bars[i].name);
}

/* By bytes if the sites hold any, otherwise by number of resources. */
static void choose_unit(struct gt_panel *p, struct ranked *list, size_t count)
{
	p->whole_numbers = true;
	for (size_t i = 0; i < count; i++)
		p->whole_numbers &= !list[i].bytes;
	for (size_t i = 0; i < count; i++)
		list[i].value = (double)(p->whole_numbers ? list[i].count : list[i].bytes);
}

/* "12 resources leaked, 6.00 MiB; 2 perhaps leaked, 1.25 MiB" */
static int describe_fates(const struct gt_groups by_fate[GT_FATE_COUNT], char *text, size_t size)
{
	char count[GT_FORMAT_MAX], bytes[GT_FORMAT_MAX];
	int used = 0;

	for (int fate = 0; fate < GT_FATE_COUNT && (size_t)used < size; fate++) {
		const struct gt_groups *groups = &by_fate[fate];

		if (groups->object_count)
			used += snprintf(
				text + used, size - (size_t)used, "%s%s%s%s %s, %s",
				used ? "; " : "", gt_format_count(count, groups->object_count),
				used ? "" : " ",
				used ? "" :
				       gt_plural(groups->object_count, "resource", "resources"),
				gt_fate_phrases[fate], gt_format_bytes(bytes, groups->bytes));
	}
	return used;
}

/* How many fates there are. */
static int count_of(const struct gt_groups by_fate[GT_FATE_COUNT])
{
	int count = 0;

	for (int fate = 0; fate < GT_FATE_COUNT; fate++)
		count += by_fate[fate].count > 0;
	return count;
}

/* ": 120 events, 5 buffers", including kinds without bytes. */
static void describe_kinds(const struct gt_groups by_fate[GT_FATE_COUNT], char *text, size_t size)
{
	uint64_t counts[GT_KIND_COUNT] = { 0 };
	char kind[GT_KIND_TEXT];
	size_t used = 0;

	for (int fate = 0; fate < GT_FATE_COUNT; fate++)
		for (size_t i = 0; i < by_fate[fate].count; i++)
			counts[by_fate[fate].list[i].site->kind] += by_fate[fate].list[i].count;
	for (const char *between = ": ";; between = ", ") {
		int most = 0;

		for (int k = 1; k < GT_KIND_COUNT; k++)
			if (counts[k] > counts[most])
				most = k;
		if (!counts[most] || used >= size)
			break;
		used += (size_t)snprintf(text + used, size - used, "%s%s", between,
					 gt_kind_count(kind, (enum gt_kind)most, counts[most]));
		counts[most] = 0;
	}
}

/* A message instead of an empty chart. */
static void put_no_leaks(const struct drawing *d, struct gt_panel *p, char *text, size_t size)
{
	char *why = gt_ending_of(d->view, NULL);

	p->subtitle = NULL;
	if (gt_head_has_gaps(d->view->recording)) {
		p->message = "No leaks recorded, but the recording has gaps";
	} else if (gt_recording_goes_on(d->view->recording)) {
		p->message = "No leaks so far";
		snprintf(text, size, "%s", why ? why : "");
		p->subtitle = text;
	} else {
		p->message = "No leaks";
		p->tone = GT_TONE_GOOD;
	}
	free(why);
}

/* The call sites of each fate; those of leaks are red, the others say what they are. */
static struct ranked *list_fates(const struct drawing *d,
				 const struct gt_groups by_fate[GT_FATE_COUNT], size_t *count)
{
	struct ranked *list;

	*count = 0;
	for (int fate = 0; fate < GT_FATE_COUNT; fate++)
		*count += by_fate[fate].count;
	list = gt_alloc((*count + 1) * sizeof *list);
	*count = 0;
	for (int fate = 0; fate < GT_FATE_COUNT; fate++)
		for (size_t i = 0; i < by_fate[fate].count; i++) {
			const struct gt_group *group = &by_fate[fate].list[i];
			bool leaked = fate == GT_FATE_LEAKED;

			list[(*count)++] = (struct ranked){
				.site = group->site,
				.bytes = group->bytes,
				.count = group->count,
				.color = leaked ? d->canvas->theme->red :
						  gt_panel_color(d->canvas, 0),
				.note = leaked ? NULL : gt_fate_phrases[fate],
			};
		}
	return list;
}

static void draw_leaks(const struct drawing *d, struct gt_box box)
{
	struct gt_panel p = { .title = "Alive at the End, by Call Site" };
	struct gt_groups groups, by_fate[GT_FATE_COUNT];
	struct ranked *list;
	char text[512] = "";
	size_t count;
	int used;

	gt_groups_init(&groups, d->view->ledger, GT_GROUPS_LEAKS);
	gt_place_groups(&groups, d->view);
	gt_fate_split(d->view, &groups, by_fate);
	list = list_fates(d, by_fate, &count);
	choose_unit(&p, list, count);
	if (p.whole_numbers)
		p.x_label = "Resources";
	used = describe_fates(by_fate, text, sizeof text);
	/* there is room for one or the other */
	if (count_of(by_fate) == 1 && (size_t)used < sizeof text)
		describe_kinds(by_fate, text + used, sizeof text - (size_t)used);
	p.subtitle = text;
	p.tone = by_fate[GT_FATE_LEAKED].count ? GT_TONE_ALARM : GT_TONE_PLAIN;
	if (!count)
		put_no_leaks(d, &p, text, sizeof text);
	draw_ranked(d, &p, list, count, box);
	free(list);
	for (int fate = 0; fate < GT_FATE_COUNT; fate++)
		gt_groups_fini(&by_fate[fate]);
}

static void draw_sites(const struct drawing *d, struct gt_box box)
{
	struct gt_panel p = { .title = "Top Call Sites, by Peak Bytes" };
	struct gt_place_sites sites;
	struct ranked *list;
	size_t count;

	gt_place_sites_init(&sites, d->view->ledger, d->view->frames, NULL);
	count = sites.count;
	list = gt_alloc((count + 1) * sizeof *list);
	for (size_t i = 0; i < count; i++)
		list[i] = (struct ranked){ .site = sites.list[i],
					   .bytes = sites.list[i]->bytes_peak,
					   .count = sites.list[i]->created,
					   .color = gt_panel_color(d->canvas, 0) };
	p.subtitle = "with the total number of resources created";
	choose_unit(&p, list, count);
	if (p.whole_numbers) {
		p.title = "Top Call Sites, by Resources Created";
		p.subtitle = NULL;
		p.x_label = "Created";
	}
	if (!count)
		p.message = "no resources were created";
	draw_ranked(d, &p, list, count, box);
	free(list);
	gt_place_sites_fini(&sites);
}

void gt_recording_draw(struct gt_canvas *c, const struct gt_view *v,
		       const struct gt_recording_parts *parts)
{
	size_t colors[GT_KIND_COUNT] = { 0 };
	struct drawing d = {
		.canvas = c,
		.view = v,
		.history = parts->history,
		.overlay = parts->overlay,
		.colors = colors,
	};
	char events[GT_FORMAT_MAX], span[GT_FORMAT_MAX], moment[GT_FORMAT_MAX], head[512];
	const char *command = gt_recording_info(v->recording, "command");
	const char *host = gt_recording_info(v->recording, "host");
	struct gt_box box, upper, lower, memory = { 0 };

	snprintf(head, sizeof head, "%.200s%s%s events in %s, from %s%s%.60s", command,
		 *command ? ": " : "", gt_format_count(events, v->ledger->events),
		 gt_format_span(span, gt_whole(parts->history->end_s * 1e9)),
		 gt_format_moment(moment, gt_recording_start_real_ns(v->recording)),
		 *host ? " on " : "", host);
	box = gt_picture_head(c, parts->name, head);
	if (parts->memory) {
		memory = box;
		memory.h = box.h * GT_MEMORY_HEIGHT / (GT_RECORDING_HEIGHT + GT_MEMORY_HEIGHT);
		box.h -= memory.h;
		memory.y += box.h * 0.42;
	}
	upper = lower = box;
	upper.h = box.h * 0.42;
	lower.y += upper.h + memory.h;
	lower.h -= upper.h;
	draw_bytes(&d, gt_picture_cell(upper, 1, 1, 0));
	if (parts->memory)
		gt_memory_draw(c, v, parts->memory, parts->history->end_s,
			       gt_picture_cell(memory, 1, 1, 0));
	draw_objects(&d, gt_picture_cell(lower, 2, 1, 0));
	draw_leaks(&d, gt_picture_cell(lower, 2, 2, 2));
	draw_sites(&d, gt_picture_cell(lower, 2, 2, 3));
}

void gt_recording_text(const struct gt_view *v, FILE *out)
{
	struct gt_leaked leaked = gt_ledger_leaked(v->ledger);
	struct gt_fate_sum sums[GT_FATE_COUNT];
	char events[GT_FORMAT_MAX], peak[GT_FORMAT_MAX], left[GT_FORMAT_MAX], bytes[GT_FORMAT_MAX];
	const char *between = ": ";

	fprintf(out, "%s events, device memory peak %s, %s %s (%s) alive at the end",
		gt_format_count(events, v->ledger->events),
		gt_format_bytes(peak, v->ledger->peak_bytes), gt_format_count(left, leaked.count),
		gt_plural(leaked.count, "resource", "resources"),
		gt_format_bytes(bytes, leaked.device_bytes + leaked.host_bytes));
	gt_fate_sums(v, sums);
	for (int fate = 0; fate < GT_FATE_COUNT; fate++) {
		if (!sums[fate].count)
			continue;
		fprintf(out, "%s%s %s (%s)", between, gt_format_count(left, sums[fate].count),
			gt_fate_phrases[fate],
			gt_format_bytes(bytes, sums[fate].device_bytes + sums[fate].host_bytes));
		between = ", ";
	}
	putc('\n', out);
}
