/* SPDX-License-Identifier: MIT */
/* shortage.c - a call that failed because memory ran out: what was asked for, who held the rest. */
#include "replay/shortage.h"

#include <stdlib.h>
#include <string.h>

#include "api/results.h"
#include "base/format.h"
#include "base/mem.h"
#include "base/text.h"
#include "replay/autopsy.h"
#include "replay/call_text.h"
#include "replay/ending.h"
#include "replay/group_text.h"
#include "replay/place.h"
#include "replay/stack.h"

enum { HOLDER_COLUMN = 28, LISTED = 1000 };

static bool has_stopped(const struct gt_view *v, const struct gt_shortage *s)
{
	const struct gt_process *p = gt_recording_process(v->recording, s->process);

	const char *status = gt_recording_info(v->recording, "exit_status");
	bool is_only = gt_recording_process_count(v->recording) == 1;

	/* of an import, only the status of the profiled program is known */
	return !s->went_on && p->exit_status != 0 &&
	       (p->exit_status > 0 || !is_only || strcmp(status, "0"));
}

const struct gt_shortage *gt_shortage_of(const struct gt_view *v)
{
	const struct gt_ledger *l = v->ledger;
	const struct gt_shortage *found = NULL;

	for (size_t i = 0; i < l->shortage_count; i++) {
		const struct gt_shortage *s = &l->shortages[i];
		bool stopped = has_stopped(v, s);

		if (!found || stopped > has_stopped(v, found) ||
		    (stopped == has_stopped(v, found) && s->time_ns > found->time_ns))
			found = s;
	}
	return found;
}

const struct gt_shortage *gt_shortage_stopped(const struct gt_view *v, uint32_t process)
{
	const struct gt_ledger *l = v->ledger;

	for (size_t i = 0; i < l->shortage_count; i++)
		if (l->shortages[i].process == process)
			return has_stopped(v, &l->shortages[i]) ? &l->shortages[i] : NULL;
	return NULL;
}

/* "NVIDIA H200" of "GPU 0: NVIDIA H200". */
static const char *device_name(const char *text)
{
	const char *name = strstr(text, ": ");

	return name ? name + 2 : text;
}

/* By name: programs may number the devices in their own order. */
static bool is_device(const char *subject, const char *place)
{
	return *place && !strcmp(device_name(subject), device_name(place));
}

uint64_t gt_device_capacity(const struct gt_view *v, uint16_t place)
{
	const struct gt_samples *samples = &v->ledger->samples;
	const char *name = gt_recording_place(v->recording, place);
	size_t count = gt_recording_series_count(v->recording);
	uint64_t found = 0;

	for (size_t i = 0; i < samples->count && i < count; i++) {
		const struct gt_series *series = gt_recording_series(v->recording, (uint16_t)i);
		int64_t bytes = samples->series[i].last;

		if (!samples->series[i].any || bytes <= 0 ||
		    strcmp(series->name, GT_SERIES_DEVICE_CAPACITY) ||
		    !is_device(series->subject, name))
			continue;
		/* equal devices that differ in size cannot be told apart */
		if (found && found != (uint64_t)bytes)
			return 0;
		found = (uint64_t)bytes;
	}
	return found;
}

/* The capacity of the only device that is known; 0: there are several, or none. */
static uint64_t only_capacity(const struct gt_view *v)
{
	const struct gt_samples *samples = &v->ledger->samples;
	size_t count = gt_recording_series_count(v->recording);
	uint64_t found = 0;

	for (size_t i = 0; i < samples->count && i < count; i++) {
		const struct gt_series *series = gt_recording_series(v->recording, (uint16_t)i);

		if (!samples->series[i].any || samples->series[i].last <= 0 ||
		    strcmp(series->name, GT_SERIES_DEVICE_CAPACITY))
			continue;
		if (found)
			return 0;
		found = (uint64_t)samples->series[i].last;
	}
	return found;
}

uint64_t gt_used_capacity(const struct gt_view *v, unsigned *devices)
{
	const struct gt_breakdown *b = &v->ledger->breakdown;
	uint64_t sum = 0;

	*devices = 0;
	for (size_t i = 0; i < b->place_count; i++) {
		uint64_t capacity;

		if (!b->places[i].peak_bytes)
			continue;
		capacity = i ? gt_device_capacity(v, (uint16_t)i) : only_capacity(v);
		if (!capacity)
			return 0;
		sum += capacity;
		++*devices;
	}
	return sum;
}

/* Memory of the kind that ran out: of the device, unless host memory was asked for. */
static bool on_host(const struct gt_shortage *s)
{
	enum gt_kind kind = (enum gt_kind)gt_functions[s->function].kind;

	return gt_kind_has_bytes(kind) && !gt_kind_on_device(kind);
}

static uint64_t held(const struct gt_shortage *s)
{
	return on_host(s) ? s->host_bytes : s->device_bytes;
}

/* "35.8 of 39.5 GiB": one unit where both have the same. */
static void put_part(FILE *out, uint64_t part, uint64_t whole)
{
	char a[GT_FORMAT_MAX], b[GT_FORMAT_MAX];
	const char *unit_a, *unit_b;

	gt_format_bytes(a, part);
	gt_format_bytes(b, whole);
	unit_a = strchr(a, ' ');
	unit_b = strchr(b, ' ');
	if (unit_a && unit_b && !strcmp(unit_a, unit_b))
		fprintf(out, "%.*s of %s", (int)(unit_a - a), a, b);
	else
		fprintf(out, "%s of %s", a, b);
}

static void write_text(FILE *out, const struct gt_view *v, const struct gt_shortage *s)
{
	char text[GT_FORMAT_MAX], words[GT_KIND_TEXT];
	const char *name = gt_call_name(words, v, s->function, s->stack);
	uint64_t capacity = on_host(s) ? 0 : gt_device_capacity(v, s->place);

	fprintf(out, "at %s: ", gt_format_span(text, gt_view_elapsed(v, s->time_ns)));
	if (s->asked)
		fprintf(out, "%s requested by %s, ", gt_format_bytes(text, s->asked), name);
	else
		fprintf(out, "%s failed, ", name);
	if (capacity)
		put_part(out, held(s), capacity);
	else
		fputs(gt_format_bytes(text, held(s)), out);
	fprintf(out, " of %s memory in use", on_host(s) ? "host" : "device");
}

char *gt_shortage_text(const struct gt_view *v, const struct gt_shortage *s)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return gt_strdup("");
	write_text(out, v, s);
	if (!fclose(out))
		return text;
	free(text);
	return gt_strdup("");
}

const char *gt_shortage_outcome(const struct gt_view *v, const struct gt_shortage *s)
{
	return s->went_on        ? "the program went on" :
	       has_stopped(v, s) ? "the program stopped there" :
				   "the program ended without allocating more";
}

static int most_bytes(const void *a, const void *b)
{
	const struct gt_site *x = *(const struct gt_site *const *)a;
	const struct gt_site *y = *(const struct gt_site *const *)b;

	if (x->bytes_live != y->bytes_live)
		return x->bytes_live > y->bytes_live ? -1 : 1;
	if (x->first_ns != y->first_ns)
		return x->first_ns < y->first_ns ? -1 : 1;
	return (x->stack > y->stack) - (x->stack < y->stack);
}

/* The sites that held memory of this sort then, as they were; the caller frees them. */
static struct gt_site *sites_then(const struct gt_view *v, const struct gt_shortage *s,
				  size_t *count)
{
	struct gt_site *sites = gt_alloc(s->holder_count * sizeof *sites);

	*count = 0;
	for (size_t i = 0; i < s->holder_count; i++) {
		const struct gt_holder *h = &s->holders[i];
		struct gt_site *site = &sites[*count];

		*site = v->ledger->sites[h->site];
		site->live = h->live;
		site->bytes_live = h->bytes;
		*count += gt_kind_on_device((enum gt_kind)site->kind) != on_host(s);
	}
	return sites;
}

static void put_holder(struct gt_printer *p, const struct gt_view *v, const struct gt_site *site)
{
	char text[GT_FORMAT_MAX], count[GT_KIND_TEXT];
	unsigned column;

	gt_print_right(p, GT_PLAIN, gt_format_bytes(text, site->bytes_live), 12);
	gt_print_tab(p, 14);
	gt_print_put(p, GT_PLAIN, "%s", gt_kind_count(count, (enum gt_kind)site->kind, site->live));
	column = p->column + 2;
	gt_print_tab(p, column > HOLDER_COLUMN ? column : HOLDER_COLUMN);
	gt_print_need(p, GT_WHERE_LEAST);
	gt_place_put(p, v, site->stack, gt_print_left(p));
	gt_print_end(p);
}

void gt_shortage_holders_init(struct gt_shortage_holders *h, const struct gt_view *v,
			      const struct gt_shortage *s)
{
	h->then = (struct gt_ledger){ 0 };
	h->then.sites = sites_then(v, s, &h->then.site_count);
	gt_place_sites_init(&h->places, &h->then, v->frames, NULL);
	qsort(h->places.list, h->places.count, sizeof *h->places.list, most_bytes);
}

void gt_shortage_holders_fini(struct gt_shortage_holders *h)
{
	gt_place_sites_fini(&h->places);
	free(h->then.sites);
}

static void put_holders(struct gt_printer *p, const struct gt_view *v,
			const struct gt_place_sites *holders, size_t most)
{
	gt_places_list_sites(v->frames, holders, LISTED);
	for (size_t i = 0; i < holders->count && i < most; i++)
		put_holder(p, v, holders->list[i]);
	gt_put_more(p, v, 14, holders->count > most ? holders->count - most : 0);
}

static void put_asker(struct gt_printer *p, const struct gt_view *v, const struct gt_shortage *s)
{
	char *place = s->stack ? gt_place_text(v->frames, s->stack, v->style.utf8) : NULL;

	if (place)
		gt_print_wrap(p, GT_PLAIN, 2, "requested at %s", place);
	free(place);
}

/* Processes that the kernel killed: what they held through the GPU's APIs is part of the reason. */
static void put_kills(struct gt_printer *p, const struct gt_view *v)
{
	char bytes[GT_FORMAT_MAX];

	for (size_t i = 0; i < gt_recording_process_count(v->recording); i++) {
		const struct gt_process *process = gt_recording_process(v->recording, i);
		char *text = process->is_oom_kill ? gt_ending_text(process) : NULL;

		if (!text)
			continue;
		gt_print_put(p, GT_RED, "OUT OF MEMORY ");
		gt_print_wrap(p, GT_BOLD, 2, "%s", text);
		gt_print_wrap(p, GT_PLAIN, 2, "%s of host memory was held through GPU APIs",
			      gt_format_bytes(bytes, v->ledger->host_left));
		gt_print_end(p);
		free(text);
	}
}

void gt_shortage_put(struct gt_printer *p, const struct gt_view *v, size_t most)
{
	const struct gt_shortage *s = gt_shortage_of(v);
	struct gt_shortage_holders holders;
	char *text, count_text[GT_FORMAT_MAX];

	put_kills(p, v);
	if (!s)
		return;
	gt_shortage_holders_init(&holders, v, s);
	text = gt_shortage_text(v, s);
	gt_print_put(p, GT_RED, "OUT OF MEMORY ");
	gt_print_wrap(p, GT_BOLD, 2, "%s%s", text, holders.places.count ? ", held by" : "");
	put_holders(p, v, &holders.places, most);
	put_asker(p, v, s);
	if (!on_host(s))
		gt_autopsy_put(p, v, s);
	if (s->count > 1)
		gt_print_wrap(p, GT_PLAIN, 2, "%s: this was the last of %s such failures",
			      gt_shortage_outcome(v, s), gt_format_count(count_text, s->count));
	else
		gt_print_wrap(p, GT_PLAIN, 2, "%s", gt_shortage_outcome(v, s));
	gt_print_end(p);
	free(text);
	gt_shortage_holders_fini(&holders);
}

void gt_shortage_json(struct gt_json *j, const char *key, const struct gt_view *v)
{
	const struct gt_shortage *s = gt_shortage_of(v);
	uint64_t capacity;
	char name[GT_KIND_TEXT];

	if (!s) {
		gt_json_null(j, key);
		return;
	}
	capacity = on_host(s) ? 0 : gt_device_capacity(v, s->place);
	gt_json_object(j, key);
	gt_json_int(j, "time_ns", gt_view_time(v, s->time_ns));
	gt_json_uint(j, "pid", gt_recording_process(v->recording, s->process)->pid);
	gt_json_text(j, "function", gt_call_name(name, v, s->function, s->stack));
	gt_result_json(j, s->function, true, s->result);
	if (s->asked)
		gt_json_uint(j, "requested_bytes", s->asked);
	else
		gt_json_null(j, "requested_bytes");
	gt_json_text(j, "memory", on_host(s) ? "host" : "device");
	gt_json_uint(j, "held_bytes", held(s));
	if (capacity)
		gt_json_uint(j, "capacity_bytes", capacity);
	else
		gt_json_null(j, "capacity_bytes");
	gt_json_uint(j, "count", s->count);
	gt_json_bool(j, "stopped", has_stopped(v, s));
	gt_stack_json(j, "stack", v->frames, s->stack);
	if (!on_host(s))
		gt_autopsy_json(j, v, s);
	gt_json_end(j);
}
