/* SPDX-License-Identifier: MIT */
/* breakdown_text.c - memory by what is known of its origin, by process and by device. */
#include "report/breakdown_text.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/format.h"
#include "base/mem.h"
#include "replay/nsight_words.h"

enum { ROWS_SHOWN = 10 };

static void split_init(struct gt_split *s, const struct gt_view *v)
{
	*s = (struct gt_split){ .process_count = gt_recording_process_count(v->recording),
				.place_count = gt_recording_place_count(v->recording) };
	s->processes = gt_alloc(s->process_count * sizeof *s->processes);
	s->places = gt_alloc(s->place_count * sizeof *s->places);
}

void gt_split_fini(struct gt_split *s)
{
	free(s->processes);
	free(s->places);
}

static void add(struct gt_amount *amount, const struct gt_entry *e)
{
	amount->count++;
	if (gt_kind_on_device(gt_entry_kind(e)))
		amount->device_bytes += gt_entry_bytes(e);
	else
		amount->host_bytes += gt_entry_bytes(e);
}

void gt_split_groups(struct gt_split *s, const struct gt_view *v, const struct gt_ledger *l,
		     const struct gt_groups *groups)
{
	split_init(s, v);
	for (size_t i = 0; i < groups->count; i++)
		for (size_t k = 0; k < groups->list[i].count; k++) {
			const struct gt_entry *e = groups->list[i].objects[k];
			enum gt_kind kind = gt_entry_kind(e);

			add(&s->processes[e->process], e);
			add(&s->places[e->place], e);
			if (gt_kind_on_device(kind))
				add(&s->origins[gt_breakdown_origin(&l->breakdown, e)], e);
			if (gt_kinds[kind].memory == GT_MEMORY_SHARED)
				s->shared_bytes += e->size;
		}
}

void gt_split_now(struct gt_split *s, const struct gt_view *v, const struct gt_ledger *l)
{
	split_init(s, v);
	for (int i = 0; i < GT_ORIGIN_COUNT; i++)
		s->origins[i].device_bytes = l->breakdown.origins[i].bytes;
	for (size_t i = 0; i < s->process_count && i < l->breakdown.process_count; i++)
		s->processes[i].device_bytes = l->breakdown.processes[i].bytes;
	for (size_t i = 0; i < s->place_count && i < l->breakdown.place_count; i++)
		s->places[i].device_bytes = l->breakdown.places[i].bytes;
	for (int api = 0; api < GT_API_COUNT; api++)
		for (int kind = 0; kind < GT_KIND_COUNT; kind++)
			if (gt_kinds[kind].memory == GT_MEMORY_SHARED)
				s->shared_bytes += l->tally[api][kind].bytes_live -
						   l->tally[api][kind].bytes_gone;
}

/* The device memory of a process or place; NULL if it never held any. */
static const struct gt_breakdown_part *part_of(const struct gt_breakdown_part *parts, size_t count,
					       size_t i)
{
	return i < count && parts[i].created ? &parts[i] : NULL;
}

static size_t used(const struct gt_breakdown_part *parts, size_t count)
{
	size_t n = 0;

	for (size_t i = 0; i < count; i++)
		n += parts[i].created != 0;
	return n;
}

static void put_amount(struct gt_printer *p, const char *label, const struct gt_view *v,
		       const struct gt_amount *amount, const struct gt_breakdown_part *part,
		       const char *when)
{
	uint64_t start = gt_recording_start_ns(v->recording);
	char bytes[GT_FORMAT_MAX], peak[GT_FORMAT_MAX], at[GT_FORMAT_MAX];

	gt_print_tab(p, 4);
	gt_print_name(p, GT_PLAIN, label, 24);
	gt_print_right(p, GT_PLAIN, gt_format_bytes(bytes, amount->device_bytes), 38);
	gt_print_put(p, GT_DIM, " %s,", when);
	gt_print_put(p, GT_PLAIN, " own peak %s at %s", gt_format_bytes(peak, part->peak_bytes),
		     gt_format_span(at, part->peak_ns > start ? part->peak_ns - start : 0));
	gt_print_end(p);
}

static void put_rest(struct gt_printer *p, size_t count)
{
	if (count)
		gt_print_wrap(p, GT_DIM, 4, "and %zu more: --format json lists them", count);
}

static void put_processes(struct gt_printer *p, const struct gt_view *v, const struct gt_split *s,
			  const char *when)
{
	const struct gt_breakdown *b = &v->ledger->breakdown;
	size_t count = used(b->processes, b->process_count), shown = 0;
	char label[32];

	if (count < 2)
		return;
	gt_print_wrap(p, GT_PLAIN, 2, "by process:");
	for (size_t i = 0; i < s->process_count && shown < ROWS_SHOWN; i++) {
		const struct gt_breakdown_part *part = part_of(b->processes, b->process_count, i);

		if (!part)
			continue;
		shown++;
		snprintf(label, sizeof label, "pid %" PRIu32,
			 gt_recording_process(v->recording, i)->pid);
		put_amount(p, label, v, &s->processes[i], part, when);
	}
	put_rest(p, count - shown);
}

static void put_places(struct gt_printer *p, const struct gt_view *v, const struct gt_split *s,
		       const char *when)
{
	const struct gt_breakdown *b = &v->ledger->breakdown;
	size_t count = used(b->places, b->place_count), shown = 0;

	if (count < 2)
		return;
	gt_print_wrap(p, GT_PLAIN, 2, "by device:");
	for (size_t i = 0; i < s->place_count && shown < ROWS_SHOWN; i++) {
		const struct gt_breakdown_part *part = part_of(b->places, b->place_count, i);
		const char *name;

		if (!part)
			continue;
		shown++;
		name = gt_recording_place(v->recording, (uint16_t)i);
		put_amount(p, *name ? name : "(unknown)", v, &s->places[i], part, when);
	}
	put_rest(p, count - shown);
}

void gt_origins_text(struct gt_printer *p, const struct gt_view *v,
		     const uint64_t bytes[GT_ORIGIN_COUNT], const char *when)
{
	char valid[GT_FORMAT_MAX], driver[GT_FORMAT_MAX], invalid[GT_FORMAT_MAX];

	if (!*gt_recording_info(v->recording, "imported") && !bytes[GT_ORIGIN_DRIVER] &&
	    !bytes[GT_ORIGIN_INVALID])
		return;
	gt_print_wrap(p, GT_PLAIN, 2, "%s: %s valid, %s driver, %s invalid", when,
		      gt_format_bytes(valid, bytes[GT_ORIGIN_VALID]),
		      gt_format_bytes(driver, bytes[GT_ORIGIN_DRIVER]),
		      gt_format_bytes(invalid, bytes[GT_ORIGIN_INVALID]));
}

void gt_split_text(struct gt_printer *p, const struct gt_view *v, const struct gt_split *s,
		   const char *when)
{
	uint64_t origins[GT_ORIGIN_COUNT];
	char text[GT_FORMAT_MAX];

	for (int i = 0; i < GT_ORIGIN_COUNT; i++)
		origins[i] = s->origins[i].device_bytes;
	gt_origins_text(p, v, origins, when);
	if (s->shared_bytes)
		gt_print_wrap(p, GT_PLAIN, 2,
			      "%s of it is managed or shared memory, which may lie "
			      "on the host",
			      gt_format_bytes(text, s->shared_bytes));
	put_processes(p, v, s, when);
	put_places(p, v, s, when);
}

static void amount_json(struct gt_json *j, const struct gt_view *v, const struct gt_amount *amount,
			const struct gt_breakdown_part *part)
{
	gt_json_uint(j, "count", amount->count);
	gt_json_uint(j, "device_bytes", amount->device_bytes);
	gt_json_uint(j, "host_bytes", amount->host_bytes);
	gt_json_uint(j, "peak_bytes", part ? part->peak_bytes : 0);
	gt_json_int(j, "peak_time_ns",
		    part && part->peak_bytes ? gt_view_time(v, part->peak_ns) : 0);
	gt_json_end(j);
}

void gt_split_json(struct gt_json *j, const struct gt_view *v, const struct gt_split *s)
{
	const struct gt_breakdown *b = &v->ledger->breakdown;

	gt_json_line(j, "classes");
	for (int i = 0; i < GT_ORIGIN_COUNT; i++)
		gt_json_uint(j, gt_origin_names[i], s->origins[i].device_bytes);
	gt_json_end(j);
	gt_json_uint(j, "shared_bytes", s->shared_bytes);
	gt_json_array(j, "by_process");
	for (size_t i = 0; i < s->process_count; i++) {
		const struct gt_breakdown_part *part = part_of(b->processes, b->process_count, i);

		if (!part && !s->processes[i].count)
			continue;
		gt_json_line(j, NULL);
		gt_json_uint(j, "pid", gt_recording_process(v->recording, i)->pid);
		amount_json(j, v, &s->processes[i], part);
	}
	gt_json_end(j);
	gt_json_array(j, "by_device");
	for (size_t i = 0; i < s->place_count; i++) {
		const struct gt_breakdown_part *part = part_of(b->places, b->place_count, i);

		if (!part && !s->places[i].count)
			continue;
		gt_json_line(j, NULL);
		gt_json_text(j, "device", gt_recording_place(v->recording, (uint16_t)i));
		amount_json(j, v, &s->places[i], part);
	}
	gt_json_end(j);
}
