/* SPDX-License-Identifier: MIT */
/* memory.c - where the device's memory went: at the peak, at an out-of-memory error, at any time.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "base/format.h"
#include "base/mem.h"
#include "base/text.h"
#include "replay/device_memory.h"
#include "replay/group_text.h"
#include "replay/head.h"
#include "replay/place.h"
#include "replay/shortage.h"
#include "replay/stack.h"
#include "report/analyses.h"

enum { TOP_DEFAULT = 5, PINS_SHOWN = 3, LISTED = 1000 };

/* Columns at which numbers end and words begin; inner ones for what a part consists of. */
enum { BYTES_END = 12, SHARE_END = 19, WORDS = 21, INNER_END = 31, INNER_WORDS = 33 };

static const char *const when_keys[] = {
	[GT_AT_BEST] = "peak",    [GT_AT_PEAK] = "peak", [GT_AT_END] = "end",
	[GT_AT_SHORTAGE] = "oom", [GT_AT_TIME] = "time",
};

/* Which moment the user means. */
static enum gt_when moment_of(const struct gt_view *v, uint64_t *time_ns)
{
	const struct gt_shortage *s = gt_shortage_of(v);
	enum gt_when when = v->at;

	if (when == GT_AT_BEST && s && !s->went_on)
		when = GT_AT_SHORTAGE;
	if (when == GT_AT_SHORTAGE && !s)
		when = GT_AT_PEAK;
	*time_ns = when == GT_AT_SHORTAGE ? s->time_ns :
		   when == GT_AT_END      ? v->ledger->last_ns :
		   when == GT_AT_TIME     ? gt_recording_start_ns(v->recording) + v->at_ns :
					    v->ledger->peak_ns;
	return when;
}

static void put_when(struct gt_printer *p, const struct gt_view *v, enum gt_when when,
		     uint64_t time_ns)
{
	static const char *const words[] = { [GT_AT_PEAK] = "at the peak, ",
					     [GT_AT_BEST] = "at the peak, ",
					     [GT_AT_END] = "after the last call, ",
					     [GT_AT_SHORTAGE] = "when memory ran out, ",
					     [GT_AT_TIME] = "at " };
	char text[GT_FORMAT_MAX];

	gt_print_put(p, GT_YELLOW, "MEMORY  ");
	gt_print_line(p, GT_BOLD, "%s%s", words[when],
		      gt_format_span(text, gt_view_elapsed(v, time_ns)));
}

static void put_share(struct gt_printer *p, uint64_t part, uint64_t whole)
{
	char text[GT_FORMAT_MAX];
	double share = whole ? 100.0 * (double)part / (double)whole : 0;

	snprintf(text, sizeof text, share && share < 0.95 ? "%.1f %%" : "%.0f %%", share);
	gt_print_right(p, GT_PLAIN, text, SHARE_END);
	gt_print_tab(p, WORDS);
}

static void put_bytes(struct gt_printer *p, enum gt_paint paint, uint64_t bytes, unsigned end,
		      unsigned words)
{
	char text[GT_FORMAT_MAX];

	gt_print_right(p, paint, gt_format_bytes(text, bytes), end);
	gt_print_tab(p, words);
}

static void put_place(struct gt_printer *p, const struct gt_view *v, const struct gt_group *g)
{
	char count[GT_KIND_TEXT];

	put_bytes(p, GT_PLAIN, g->bytes, INNER_END, INNER_WORDS);
	gt_print_put(p, GT_PLAIN, "%s",
		     gt_kind_count(count, (enum gt_kind)g->site->kind, g->count));
	gt_print_tab(p, p->column + 2);
	gt_print_need(p, GT_WHERE_LEAST);
	gt_place_put(p, v, g->site->stack, gt_print_left(p));
	gt_print_end(p);
}

static void put_places(struct gt_printer *p, const struct gt_view *v,
		       const struct gt_groups *places)
{
	size_t most = v->top ? v->top : TOP_DEFAULT;

	gt_places_list_groups(v->frames, places, LISTED);
	for (size_t i = 0; i < places->count && i < most; i++)
		put_place(p, v, &places->list[i]);
	gt_put_more(p, v, INNER_WORDS, places->count > most ? places->count - most : 0);
}

/* As gt_pools_pins; their places are settled. */
static size_t find_pins(const struct gt_view *v, const struct gt_memory_moment *m,
			struct gt_pool_pin **pins)
{
	size_t count = gt_pools_pins(&m->pools, m->ledger, pins);
	uint32_t *stacks = gt_alloc((count + 1) * sizeof *stacks);

	for (size_t i = 0; i < count; i++)
		stacks[i] = (*pins)[i].site->stack;
	gt_places_list(v->frames, stacks, count < LISTED ? count : LISTED);
	free(stacks);
	return count;
}

/* Who keeps the pool from giving back what it has cached. */
static void put_pins(struct gt_printer *p, const struct gt_view *v,
		     const struct gt_memory_moment *m)
{
	struct gt_pool_pin *pins;
	size_t count = find_pins(v, m, &pins);
	char blocks[GT_FORMAT_MAX], bytes[GT_FORMAT_MAX];

	for (size_t i = 0; i < count && i < PINS_SHOWN && pins[i].pinned; i++) {
		put_bytes(p, GT_PLAIN, pins[i].pinned, INNER_END, INNER_WORDS);
		gt_print_put(p, GT_PLAIN, "pinned by %s %s, %s",
			     gt_format_count(blocks, pins[i].blocks),
			     gt_plural(pins[i].blocks, "block", "blocks"),
			     gt_format_bytes(bytes, pins[i].bytes));
		gt_print_tab(p, p->column + 2);
		gt_print_need(p, GT_WHERE_LEAST);
		gt_place_put(p, v, pins[i].site->stack, gt_print_left(p));
		gt_print_end(p);
	}
	if (m->pools.free_pieces) {
		gt_print_tab(p, INNER_WORDS);
		gt_print_wrap(p, GT_PLAIN, INNER_WORDS, "%s free %s, the largest %s",
			      gt_format_count(blocks, m->pools.free_pieces),
			      gt_plural(m->pools.free_pieces, "piece", "pieces"),
			      gt_format_bytes(bytes, m->pools.largest_free));
	}
	free(pins);
}

static void put_libraries(struct gt_printer *p, const struct gt_device_memory *d)
{
	char count[GT_FORMAT_MAX];

	for (size_t i = 0; i < d->library_count; i++) {
		const struct gt_part *part = &d->libraries[i].part;

		put_bytes(p, GT_PLAIN, part->bytes, INNER_END, INNER_WORDS);
		gt_print_line(p, GT_PLAIN, "%s, in %s %s", d->libraries[i].name,
			      gt_format_count(count, part->count),
			      gt_plural(part->count, "block", "blocks"));
	}
}

static void put_part(struct gt_printer *p, const struct gt_view *v,
		     const struct gt_memory_moment *m, const struct gt_device_memory *d,
		     enum gt_memory_part part)
{
	if (!d->parts[part].bytes && part != GT_PART_UNKNOWN)
		return;
	if (part == GT_PART_UNKNOWN && !d->is_reported)
		return;
	put_bytes(p, GT_BOLD, d->parts[part].bytes, BYTES_END, BYTES_END);
	put_share(p, d->parts[part].bytes, d->program);
	gt_print_line(p, GT_PLAIN, "%s", gt_part_names[part]);
	if (part == GT_PART_PLACES)
		put_places(p, v, &d->places);
	else if (part == GT_PART_LIBRARIES)
		put_libraries(p, d);
	else if (part == GT_PART_FRAGMENTED)
		put_pins(p, v, m);
}

static void put_device(struct gt_printer *p, const struct gt_view *v,
		       const struct gt_memory_moment *m, const struct gt_device_memory *d)
{
	char used[GT_FORMAT_MAX], text[GT_FORMAT_MAX];

	gt_print_end(p);
	gt_print_put(p, GT_BOLD, "%s of ", gt_format_bytes(used, d->program));
	gt_print_name(p, GT_BOLD,
		      d->place ? gt_recording_place(v->recording, d->place) : "device memory",
		      gt_print_left(p));
	gt_print_line(p, GT_BOLD, " in use by the program");
	if (!d->is_reported)
		gt_print_wrap(p, GT_PLAIN, 2,
			      "by its calls: what the device itself reports is not known, nor what "
			      "contexts and code take");
	else if (d->is_of_program)
		gt_print_wrap(p, GT_PLAIN, 2, "as the GPU reports it");
	else
		gt_print_wrap(
			p, GT_PLAIN, 2,
			"as the GPU reports it for all programs, less what was in use before");
	if (d->capacity)
		gt_print_wrap(p, GT_PLAIN, 2, "%s in all", gt_format_bytes(text, d->capacity));
	if (d->total > d->program)
		gt_print_wrap(p, GT_PLAIN, 2, "%s are in use by other processes and the driver",
			      gt_format_bytes(text, d->total - d->program));
	for (int part = 0; part < GT_PART_COUNT; part++)
		put_part(p, v, m, d, (enum gt_memory_part)part);
}

void gt_memory_text(const struct gt_view *v, FILE *out)
{
	struct gt_memory_moment m;
	struct gt_printer p;
	uint64_t time_ns;
	enum gt_when when = moment_of(v, &time_ns);

	gt_memory_init(&m, v, time_ns);
	gt_head_open(&p, out, v);
	if (m.device_count)
		put_when(&p, v, when, time_ns);
	else
		gt_print_line(&p, GT_PLAIN, "No device memory was in use then.");
	for (size_t i = 0; i < m.device_count; i++)
		put_device(&p, v, &m, &m.devices[i]);
	gt_memory_fini(&m);
}

/* A row of what a device's memory consists of. */
struct row {
	const struct gt_device_memory *device;
	enum gt_memory_part part;
	const char *library;
	const struct gt_group *group; /* of places */
	uint64_t bytes, count;
};

typedef void row_fn(void *context, const struct gt_view *v, const struct row *row);

static void each_of_device(const struct gt_view *v, const struct gt_device_memory *d, row_fn *each,
			   void *context)
{
	for (int part = 0; part < GT_PART_COUNT; part++) {
		struct row row = { .device = d, .part = (enum gt_memory_part)part };

		row.bytes = d->parts[part].bytes;
		row.count = d->parts[part].count;
		if (part != GT_PART_PLACES && part != GT_PART_LIBRARIES &&
		    (row.bytes || (part == GT_PART_UNKNOWN && d->is_reported)))
			each(context, v, &row);
		for (size_t i = 0; part == GT_PART_LIBRARIES && i < d->library_count; i++) {
			row.library = d->libraries[i].name;
			row.bytes = d->libraries[i].part.bytes;
			row.count = d->libraries[i].part.count;
			each(context, v, &row);
		}
		for (size_t i = 0;
		     part == GT_PART_PLACES && i < d->places.count && (!v->top || i < v->top);
		     i++) {
			row.group = &d->places.list[i];
			row.bytes = row.group->bytes;
			row.count = row.group->count;
			each(context, v, &row);
		}
	}
}

static const char *device_name(const struct gt_view *v, const struct gt_device_memory *d)
{
	return d->place ? gt_recording_place(v->recording, d->place) : "";
}

static bool is_measured(enum gt_memory_part part)
{
	return part == GT_PART_CODE || part == GT_PART_GRAPHS || part == GT_PART_CONTEXTS;
}

static void row_json(void *context, const struct gt_view *v, const struct row *row)
{
	struct gt_json *j = context;

	gt_json_line(j, NULL);
	gt_json_text(j, "device", device_name(v, row->device));
	gt_json_text(j, "part", gt_part_keys[row->part]);
	if (row->library)
		gt_json_text(j, "library", row->library);
	if (row->group) {
		gt_kind_json(j, row->group->site->api, row->group->site->kind);
		gt_place_json(j, "place", v->frames, row->group->site->stack);
	}
	gt_json_bool(j, "measured", is_measured(row->part));
	gt_json_uint(j, "count", row->count);
	gt_json_uint(j, "bytes", row->bytes);
	gt_json_end(j);
}

static void uint_or_null(struct gt_json *j, const char *key, bool is_known, uint64_t value)
{
	if (is_known)
		gt_json_uint(j, key, value);
	else
		gt_json_null(j, key);
}

static void pools_json(struct gt_json *j, const struct gt_view *v, const struct gt_memory_moment *m)
{
	struct gt_pool_pin *pins;
	size_t count = find_pins(v, m, &pins);

	gt_json_object(j, "pool");
	gt_json_uint(j, "reserved_bytes", m->pools.reserved);
	gt_json_uint(j, "live_bytes", m->pools.live);
	gt_json_uint(j, "cached_bytes", m->pools.cached);
	gt_json_uint(j, "fragmented_bytes", m->pools.fragmented);
	gt_json_uint(j, "largest_free_bytes", m->pools.largest_free);
	gt_json_uint(j, "free_pieces", m->pools.free_pieces);
	gt_json_array(j, "pins");
	for (size_t i = 0; i < count && (!v->top || i < v->top); i++) {
		gt_json_line(j, NULL);
		gt_json_uint(j, "pinned_bytes", pins[i].pinned);
		gt_json_uint(j, "pinned_alone_bytes", pins[i].pinned_alone);
		gt_json_uint(j, "count", pins[i].blocks);
		gt_json_uint(j, "bytes", pins[i].bytes);
		gt_place_json(j, "place", v->frames, pins[i].site->stack);
		gt_json_end(j);
	}
	gt_json_end(j);
	gt_json_end(j);
	free(pins);
}

void gt_memory_json(const struct gt_view *v, FILE *out)
{
	struct gt_memory_moment m;
	uint64_t time_ns, count = 0, bytes = 0;
	struct gt_json j;
	enum gt_when when = moment_of(v, &time_ns);

	gt_memory_init(&m, v, time_ns);
	gt_head_json(&j, out, v, "memory");
	for (size_t i = 0; i < m.device_count; i++) {
		gt_places_list_groups(v->frames, &m.devices[i].places, LISTED);
		for (int part = 0; part < GT_PART_COUNT; part++)
			count += m.devices[i].parts[part].count;
		bytes += m.devices[i].program;
	}
	gt_totals_json(&j, count, bytes);
	gt_json_text(&j, "at", when_keys[when]);
	gt_json_int(&j, "time_ns", gt_view_time(v, time_ns));
	gt_json_array(&j, "devices");
	for (size_t i = 0; i < m.device_count; i++) {
		const struct gt_device_memory *d = &m.devices[i];

		gt_json_line(&j, NULL);
		gt_json_text(&j, "device", device_name(v, d));
		gt_json_bool(&j, "reported", d->is_reported);
		gt_json_uint(&j, "program_bytes", d->program);
		uint_or_null(&j, "used_bytes", d->is_reported, d->total);
		uint_or_null(&j, "capacity_bytes", d->capacity, d->capacity);
		gt_json_end(&j);
	}
	gt_json_end(&j);
	pools_json(&j, v, &m);
	gt_json_array(&j, "groups");
	for (size_t i = 0; i < m.device_count; i++)
		each_of_device(v, &m.devices[i], row_json, &j);
	gt_json_end(&j);
	gt_foot_json(&j, v);
	gt_memory_fini(&m);
}

static void row_tsv(void *context, const struct gt_view *v, const struct row *row)
{
	char *place = row->group ? gt_place_text(v->frames, row->group->site->stack, true) : NULL;
	FILE *out = context;

	gt_tsv_put(out, device_name(v, row->device));
	fprintf(out, "\t%s\t", gt_part_keys[row->part]);
	gt_tsv_put(out, place ? place : row->library ? row->library : "");
	fprintf(out, "\t%" PRIu64 "\t%" PRIu64 "\n", row->count, row->bytes);
	free(place);
}

void gt_memory_tsv(const struct gt_view *v, FILE *out)
{
	struct gt_memory_moment m;
	uint64_t time_ns;

	moment_of(v, &time_ns);
	gt_memory_init(&m, v, time_ns);
	fputs("device\tpart\twhat\tcount\tbytes\n", out);
	for (size_t i = 0; i < m.device_count; i++) {
		gt_places_list_groups(v->frames, &m.devices[i].places, LISTED);
		each_of_device(v, &m.devices[i], row_tsv, out);
	}
	gt_memory_fini(&m);
}
