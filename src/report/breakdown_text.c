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

/* Memory by process or by device: what is split, and what each ever held of device memory. */
struct axis {
	bool of_processes;
	const struct gt_amount *amounts;
	const struct gt_breakdown_part *parts;
	size_t count, part_count; /* one without a part never held device memory */
	bool is_part;
};

static struct axis processes_of(const struct gt_view *v, const struct gt_split *s)
{
	const struct gt_breakdown *b = &v->ledger->breakdown;

	return (struct axis){
		true, s->processes, b->processes, s->process_count, b->process_count, s->is_part
	};
}

static struct axis places_of(const struct gt_view *v, const struct gt_split *s)
{
	const struct gt_breakdown *b = &v->ledger->breakdown;

	return (struct axis){ false,          s->places,      b->places,
			      s->place_count, b->place_count, s->is_part };
}

/* NULL if it never held any device memory. */
static const struct gt_breakdown_part *part_of(const struct axis *axis, size_t i)
{
	return i < axis->part_count && axis->parts[i].created ? &axis->parts[i] : NULL;
}

static bool is_shown(const struct axis *axis, size_t i)
{
	return part_of(axis, i) && (!axis->is_part || axis->amounts[i].count);
}

static void put_amount(struct gt_printer *p, const char *label, const struct gt_view *v,
		       const struct gt_amount *amount, const struct gt_breakdown_part *part,
		       const char *when)
{
	char bytes[GT_FORMAT_MAX], peak[GT_FORMAT_MAX], at[GT_FORMAT_MAX];

	gt_print_tab(p, 4);
	gt_print_name(p, GT_PLAIN, label, 24);
	gt_print_right(p, GT_PLAIN, gt_format_bytes(bytes, amount->device_bytes), 38);
	gt_print_put(p, GT_DIM, " %s,", when);
	gt_print_line(p, GT_PLAIN, " own peak %s at %s", gt_format_bytes(peak, part->peak_bytes),
		      gt_format_span(at, gt_view_elapsed(v, part->peak_ns)));
}

/* Nothing where there is only one. */
static void put_axis(struct gt_printer *p, const struct gt_view *v, struct axis axis,
		     const char *when)
{
	size_t used = 0, shown = 0;

	for (size_t i = 0; i < axis.part_count; i++)
		used += is_shown(&axis, i);
	if (used < 2)
		return;
	gt_print_wrap(p, GT_PLAIN, 2, axis.of_processes ? "by process:" : "by device:");
	for (size_t i = 0; i < axis.count && shown < ROWS_SHOWN; i++) {
		const struct gt_breakdown_part *part = part_of(&axis, i);
		const char *name = "";
		char label[32] = "(unknown)";

		if (!is_shown(&axis, i))
			continue;
		shown++;
		if (axis.of_processes)
			snprintf(label, sizeof label, "pid %" PRIu32,
				 gt_recording_process(v->recording, i)->pid);
		else
			name = gt_recording_place(v->recording, (uint16_t)i);
		put_amount(p, *name ? name : label, v, &axis.amounts[i], part, when);
	}
	if (shown < used)
		gt_print_wrap(p, GT_DIM, 4, "and %zu more: --format json lists them", used - shown);
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
			      "%s of it is managed or shared memory, which may reside on the host",
			      gt_format_bytes(text, s->shared_bytes));
	put_axis(p, v, processes_of(v, s), when);
	put_axis(p, v, places_of(v, s), when);
}

static void axis_json(struct gt_json *j, const struct gt_view *v, struct axis axis)
{
	gt_json_array(j, axis.of_processes ? "by_process" : "by_device");
	for (size_t i = 0; i < axis.count; i++) {
		const struct gt_breakdown_part *part = part_of(&axis, i);

		if (!part && !axis.amounts[i].count)
			continue;
		gt_json_line(j, NULL);
		if (axis.of_processes)
			gt_json_uint(j, "pid", gt_recording_process(v->recording, i)->pid);
		else
			gt_json_text(j, "device", gt_recording_place(v->recording, (uint16_t)i));
		gt_json_uint(j, "count", axis.amounts[i].count);
		gt_json_uint(j, "device_bytes", axis.amounts[i].device_bytes);
		gt_json_uint(j, "host_bytes", axis.amounts[i].host_bytes);
		gt_json_uint(j, "peak_bytes", part ? part->peak_bytes : 0);
		gt_json_int(j, "peak_time_ns",
			    part && part->peak_bytes ? gt_view_time(v, part->peak_ns) : 0);
		gt_json_end(j);
	}
	gt_json_end(j);
}

void gt_split_json(struct gt_json *j, const struct gt_view *v, const struct gt_split *s)
{
	gt_json_line(j, "classes");
	for (int i = 0; i < GT_ORIGIN_COUNT; i++)
		gt_json_uint(j, gt_origin_names[i], s->origins[i].device_bytes);
	gt_json_end(j);
	gt_json_uint(j, "shared_bytes", s->shared_bytes);
	axis_json(j, v, processes_of(v, s));
	axis_json(j, v, places_of(v, s));
}
