/* SPDX-License-Identifier: MIT */
/* data.c - what a page is drawn from, as a JSON document. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "replay/group_text.h"
#include "replay/head.h"
#include "page/page.h"
#include "page/blocks.h"
#include "page/encode.h"
#include "page/life_matrix.h"
#include "page/memory_json.h"
#include "page/shortage_json.h"
#include "judge/residue.h"
#include "api/results.h"
#include "replay/call_text.h"
#include "replay/ending.h"
#include "replay/growth_text.h"
#include "replay/phase.h"
#include "page/unreleased.h"

enum { ROWS_MAX = 4000, SET_ROWS_MAX = 600, PARTS_MAX = 64, MISTAKES_MAX = 200, PHASES_MAX = 256 };
enum { LIVES_BYTES = 1400000, SET_LIVES_BYTES = 500000 }; /* compressed; as text a third more */

/* One set being written. */
struct writing {
	const struct gt_page *page;
	const struct gt_page_set *set;
	struct gt_page_names *names;
	struct gt_json *json;
	struct gt_view view;         /* of the set */
	struct gt_site_fates *fates; /* by site */
	struct gt_page_rows rows;
	bool *marks;       /* by row: it is in the page */
	uint32_t *numbers; /* by row: the page's number */
	uint32_t number_count;
};

static int64_t since_start(const struct gt_page *h, uint64_t time_ns)
{
	return (int64_t)(time_ns - h->start_ns);
}

/* Lives until its process ends, so it is never leaked. */
static bool lasts(uint8_t kind)
{
	return gt_kinds[kind].habits & GT_LASTING;
}

static void kinds_json(struct writing *w)
{
	static const char *const memories[] = {
		[GT_MEMORY_NO] = "none",       [GT_MEMORY_VIEW] = "view",
		[GT_MEMORY_DEVICE] = "device", [GT_MEMORY_SHARED] = "shared",
		[GT_MEMORY_HOST] = "host",
	};
	struct gt_json *j = w->json;

	gt_json_array(j, "kinds");
	for (size_t i = 0; i < w->page->kind_count; i++) {
		const struct gt_page_kind *k = &w->page->kinds[i];
		const struct gt_tally *t = &w->set->ledger->tally[k->api][k->kind];

		gt_json_object(j, NULL);
		gt_json_text(j, "api", gt_api_names[k->api]);
		gt_json_text(j, "name", gt_kinds[k->kind].name);
		gt_json_text(j, "plural", gt_kinds[k->kind].plural);
		gt_json_text(j, "memory", memories[gt_kinds[k->kind].memory]);
		gt_json_bool(j, "lasting", lasts(k->kind));
		gt_json_uint(j, "created", t->created);
		gt_json_uint(j, "live", t->live);
		gt_json_uint(j, "live_bytes", t->bytes_live);
		gt_json_uint(j, "total_bytes", t->bytes_total);
		gt_page_channel_json(j, "bytes", &w->set->kinds, k->channel);
		gt_page_channel_json(j, "objects", &w->set->kinds, k->channel + 1);
		gt_json_end(j);
	}
	gt_json_end(j);
}

static void totals_json(struct writing *w)
{
	static const char *const channels[] = { "device", "host", "objects" };
	const struct gt_time_series *p = &w->set->totals;
	struct gt_json *j = w->json;

	gt_json_object(j, "rows");
	gt_json_uint(j, "step_ns", p->step_ns);
	gt_page_times_json(j, "times", p);
	for (size_t i = 0; i < sizeof channels / sizeof *channels; i++)
		gt_page_channel_json(j, channels[i], p, i);
	gt_json_end(j);
	gt_json_object(j, "kind_rows");
	gt_json_uint(j, "step_ns", w->set->kinds.step_ns);
	gt_page_times_json(j, "times", &w->set->kinds);
	gt_json_end(j);
}

static void sums_json(struct writing *w)
{
	const struct gt_ledger *l = w->set->ledger;
	struct gt_tally total = gt_ledger_total(l);
	struct gt_json *j = w->json;

	gt_json_uint(j, "events", l->events);
	gt_json_uint(j, "created", total.created);
	gt_json_uint(j, "created_bytes", total.bytes_total);
	gt_page_fates_json(j, &w->view, &w->rows);
	gt_json_uint(j, "lasting", l->lasting.count);
	gt_json_uint(j, "freed_with_owner", l->freed.count);
	gt_json_object(j, "peak");
	gt_json_uint(j, "bytes", l->peak_bytes);
	gt_json_int(j, "time_ns", l->peak_bytes ? since_start(w->page, l->peak_ns) : 0);
	gt_json_uint(j, "objects", l->peak_live);
	gt_json_end(j);
}

static size_t kind_of(const struct gt_page *h, const struct gt_site *s)
{
	size_t i = 0;

	while (i < h->kind_count && (h->kinds[i].api != s->api || h->kinds[i].kind != s->kind))
		i++;
	return i;
}

/* Over all fates. */
static uint64_t sum_of(const uint64_t values[GT_FATE_COUNT])
{
	uint64_t sum = 0;

	for (int fate = 0; fate < GT_FATE_COUNT; fate++)
		sum += values[fate];
	return sum;
}

/* What flame graphs show of a stack. */
struct part {
	uint32_t stack; /* the page's number */
	uint64_t values[8];
};

static void add_part(struct writing *w, struct part *part, uint32_t site)
{
	const struct gt_site *s = &w->set->ledger->sites[site];
	const struct gt_site_fates *fates = &w->fates[site];
	const uint64_t values[] = {
		fates->count[GT_FATE_LEAKED],
		fates->bytes[GT_FATE_LEAKED],
		sum_of(fates->count),
		sum_of(fates->bytes),
		s->live_at_peak,
		s->bytes_at_peak,
		s->created,
		s->bytes_total,
	};

	for (size_t i = 0; i < sizeof values / sizeof *values; i++)
		part->values[i] += values[i];
}

/*
 * The stacks of a row, if they are several in the page's words, in the order of viewer/data.js's
 * PART; those beyond the limit count as the biggest.
 */
static void parts_json(struct writing *w, size_t row)
{
	const struct gt_page_rows *rows = &w->rows;
	struct part parts[PARTS_MAX];
	uint32_t first = rows->first_of[row], end = rows->first_of[row + 1];
	size_t count = 0;

	for (uint32_t i = first; end - first > 1 && i < end; i++) {
		const struct gt_site *s = &w->set->ledger->sites[rows->sites[i]];
		uint32_t stack = count < PARTS_MAX ? gt_page_stack(w->names, s->stack) : 0;
		size_t k = 0;

		while (k < count && parts[k].stack != stack)
			k++;
		if (k == count && count < PARTS_MAX)
			parts[count++] = (struct part){ .stack = stack };
		add_part(w, &parts[k < count ? k : 0], rows->sites[i]);
	}
	gt_json_array(w->json, NULL);
	for (size_t i = 0; count > 1 && i < count; i++) {
		gt_json_uint(w->json, NULL, parts[i].stack);
		for (size_t k = 0; k < sizeof parts->values / sizeof *parts->values; k++)
			gt_json_uint(w->json, NULL, parts[i].values[k]);
	}
	gt_json_end(w->json);
}

/* In the order of viewer/data.js's SITE. */
static void row_json(struct writing *w, size_t row)
{
	const struct gt_site *s = gt_page_row(&w->rows, row);
	const struct gt_site_fates *fates = gt_page_row_fates(&w->rows, row);
	struct gt_json *j = w->json;
	uint32_t place = gt_page_place(w->names, s->stack);

	gt_json_array(j, NULL);
	gt_json_uint(j, NULL, gt_page_stack(w->names, s->stack));
	gt_json_uint(j, NULL, kind_of(w->page, s));
	gt_json_uint(j, NULL, s->live);
	gt_json_uint(j, NULL, s->bytes_live);
	gt_json_uint(j, NULL, s->live_at_peak);
	gt_json_uint(j, NULL, s->bytes_at_peak);
	gt_json_uint(j, NULL, s->created);
	gt_json_uint(j, NULL, s->bytes_total);
	gt_json_uint(j, NULL, s->bytes_peak);
	gt_json_int(j, NULL, since_start(w->page, s->first_ns));
	gt_json_int(j, NULL, since_start(w->page, s->last_ns));
	gt_json_uint(j, NULL, s->held);
	gt_json_uint(j, NULL, fates->count[GT_FATE_LEAKED]);
	gt_json_uint(j, NULL, fates->bytes[GT_FATE_LEAKED]);
	gt_json_uint(j, NULL, sum_of(fates->count));
	gt_json_uint(j, NULL, sum_of(fates->bytes));
	gt_json_uint(j, NULL, place);
	gt_json_uint(j, NULL, w->rows.first_of[row + 1] - w->rows.first_of[row]);
	parts_json(w, row);
	gt_json_end(j);
}

/* Settles how many callers the rows of the page need to be told apart. */
static void list_places(struct writing *w)
{
	uint32_t *stacks = gt_alloc((w->rows.count + 1) * sizeof *stacks);
	size_t count = 0;

	for (size_t i = 0; i < w->rows.count; i++)
		if (w->marks[i])
			stacks[count++] = gt_page_row(&w->rows, i)->stack;
	gt_places_list(w->page->frames, stacks, count);
	free(stacks);
}

static void sites_json(struct writing *w)
{
	struct gt_site rest = { 0 };
	uint64_t leaked = 0, leaked_bytes = 0;
	uint32_t number = 0;
	struct gt_json *j = w->json;

	list_places(w);
	gt_json_array(j, "sites");
	for (size_t i = 0; i < w->rows.count; i++) {
		const struct gt_site *s = gt_page_row(&w->rows, i);
		const struct gt_site_fates *fates = gt_page_row_fates(&w->rows, i);

		if (w->marks[i] && kind_of(w->page, s) < w->page->kind_count) {
			w->numbers[i] = number++;
			row_json(w, i);
			continue;
		}
		w->marks[i] = false;
		leaked += fates->count[GT_FATE_LEAKED];
		leaked_bytes += fates->bytes[GT_FATE_LEAKED];
		rest.live += sum_of(fates->count);
		rest.bytes_live += sum_of(fates->bytes);
		rest.live_at_peak += s->live_at_peak;
		rest.bytes_at_peak += s->bytes_at_peak;
		rest.created += s->created;
		rest.bytes_total += s->bytes_total;
	}
	gt_json_end(j);
	w->number_count = number;
	gt_json_object(j, "rest");
	gt_json_uint(j, "sites", w->rows.count - number);
	gt_json_uint(j, "leaked", leaked);
	gt_json_uint(j, "leaked_bytes", leaked_bytes);
	gt_json_uint(j, "live", rest.live);
	gt_json_uint(j, "live_bytes", rest.bytes_live);
	gt_json_uint(j, "peak", rest.live_at_peak);
	gt_json_uint(j, "peak_bytes", rest.bytes_at_peak);
	gt_json_uint(j, "created", rest.created);
	gt_json_uint(j, "total_bytes", rest.bytes_total);
	gt_json_end(j);
}

/* Numbers the stacks of a row as parts_json does: those beyond the limit count as the biggest. */
static void number_stacks(struct writing *w, size_t row, struct gt_page_life_numbers *numbers)
{
	uint32_t found[PARTS_MAX];
	size_t count = 0;

	for (uint32_t i = w->rows.first_of[row]; i < w->rows.first_of[row + 1]; i++) {
		uint32_t site = w->rows.sites[i], stack;
		size_t k = 0;

		numbers->sites[site] = w->numbers[row];
		stack = count < PARTS_MAX ?
				gt_page_stack(w->names, w->set->ledger->sites[site].stack) :
				found[0];
		while (k < count && found[k] != stack)
			k++;
		if (k == count && count < PARTS_MAX)
			found[count++] = stack;
		numbers->stacks[site] = found[k < count ? k : 0];
	}
}

static void lives_json(struct writing *w, size_t bytes_max)
{
	size_t count = w->set->ledger->site_count;
	struct gt_page_life_numbers numbers = {
		.sites = gt_alloc((count + 1) * sizeof *numbers.sites),
		.stacks = gt_alloc((count + 1) * sizeof *numbers.stacks),
		.rest = w->number_count,
		.names = w->names,
		.recording = w->page->recording,
	};

	for (size_t i = 0; i < count; i++)
		numbers.sites[i] = w->number_count;
	for (size_t i = 0; i < w->rows.count; i++)
		if (w->marks[i])
			number_stacks(w, i, &numbers);
	gt_page_lives_json(w->json, w->set->lives, &numbers, bytes_max);
	gt_page_blocks_json(w->json, w->set->blocks, w->page, &numbers);
	free(numbers.sites);
	free(numbers.stacks);
}

static void growth_json(struct writing *w)
{
	struct gt_json *j = w->json;
	size_t count;
	struct gt_rise *rises = gt_view_rises(&w->view, &count);

	gt_json_array(j, "growth");
	for (size_t i = 0; i < count; i++) {
		const struct gt_rise *r = &rises[i];
		uint32_t row = w->rows.row_of[r->site];

		if (!w->marks[row])
			continue;
		gt_json_object(j, NULL);
		gt_json_uint(j, "site", w->numbers[row]);
		gt_json_text(j, "unit", r->bytes ? "bytes" : "objects");
		gt_json_real(j, "per_second", r->per_second);
		gt_json_real(j, "steadiness", r->steadiness);
		gt_json_bool(j, "given_back", r->given_back);
		gt_json_uint(j, "from", r->from);
		gt_json_uint(j, "to", r->to);
		gt_json_int(j, "since_ns", since_start(w->page, r->since_ns));
		gt_json_int(j, "until_ns", since_start(w->page, r->until_ns));
		gt_json_end(j);
	}
	gt_json_end(j);
	free(rises);
}

static void call_json(struct writing *w, uint16_t function, uint32_t stack, bool has_result,
		      int32_t result)
{
	gt_json_uint(w->json, "place", gt_page_place(w->names, stack));
	gt_json_text(w->json, "function", gt_function_names[function]);
	gt_json_text(w->json, "kind", gt_kinds[gt_functions[function].kind].name);
	gt_result_json(w->json, function, has_result, result);
}

static void redundant_json(struct writing *w, const struct gt_redundant *r)
{
	struct gt_json *j = w->json;

	gt_json_object(j, NULL);
	call_json(w, r->function, r->stack, !r->fatal, r->result);
	gt_json_hex(j, "handle", r->handle);
	gt_json_uint(j, "pid", gt_recording_process(w->page->recording, r->process)->pid);
	gt_json_int(j, "time_ns", since_start(w->page, r->time_ns));
	gt_json_uint(j, "count", r->count);
	gt_json_bool(j, "fatal", r->fatal);
	gt_json_uint(j, "stack", gt_page_stack(w->names, r->stack));
	gt_json_uint(j, "ended", gt_page_stack(w->names, r->ended_stack));
	gt_json_uint(j, "created", gt_page_stack(w->names, r->created_stack));
	gt_json_end(j);
}

static void interior_json(struct writing *w, const struct gt_interior *f)
{
	struct gt_json *j = w->json;

	gt_json_object(j, NULL);
	call_json(w, f->function, f->stack, false, 0);
	gt_json_hex(j, "handle", f->handle);
	gt_json_uint(j, "offset", f->offset);
	gt_json_uint(j, "bytes", f->bytes);
	gt_json_uint(j, "count", f->count);
	gt_json_uint(j, "stack", gt_page_stack(w->names, f->stack));
	gt_json_uint(j, "created", gt_page_stack(w->names, f->created_stack));
	gt_json_end(j);
}

static void failure_json(struct writing *w, const struct gt_failure *f)
{
	struct gt_json *j = w->json;

	gt_json_object(j, NULL);
	call_json(w, f->function, f->stack, f->result != 0, f->result);
	gt_json_uint(j, "count", f->count);
	gt_json_uint(j, "bytes", f->bytes_most);
	gt_json_int(j, "time_ns", since_start(w->page, f->time_ns));
	gt_json_uint(j, "stack", gt_page_stack(w->names, f->stack));
	gt_json_end(j);
}

static void last_call_json(struct writing *w, const struct gt_last_call *call)
{
	struct gt_json *j = w->json;
	char *end = gt_end_words(gt_recording_process(w->page->recording, call->process));

	gt_json_object(j, NULL);
	call_json(w, call->event.function, call->event.stack, false, 0);
	gt_json_hex(j, "handle", call->event.handle);
	gt_json_uint(j, "pid", gt_recording_process(w->page->recording, call->process)->pid);
	gt_json_uint(j, "tid", call->event.tid);
	gt_json_int(j, "time_ns", since_start(w->page, call->event.time_ns));
	gt_arguments_json(j, w->page->recording, call);
	gt_json_text(j, "end", end);
	gt_json_uint(j, "stack", gt_page_stack(w->names, call->event.stack));
	gt_json_end(j);
	free(end);
}

static size_t at_most(size_t count)
{
	return count < MISTAKES_MAX ? count : MISTAKES_MAX;
}

static void mistakes_json(struct writing *w)
{
	const struct gt_ledger *l = w->set->ledger;
	struct gt_json *j = w->json;

	gt_json_object(j, "mistakes");
	gt_json_array(j, "redundant");
	for (size_t i = 0; i < at_most(l->redundant_count); i++)
		redundant_json(w, &l->redundant[i]);
	gt_json_end(j);
	gt_json_array(j, "interior");
	for (size_t i = 0; i < at_most(l->interior_count); i++)
		interior_json(w, &l->interior[i]);
	gt_json_end(j);
	gt_json_array(j, "failures");
	for (size_t i = 0; i < at_most(l->failure_count); i++)
		failure_json(w, &l->failures[i]);
	gt_json_end(j);
	gt_json_array(j, "last_calls");
	for (size_t i = 0; i < at_most(l->last_call_count); i++)
		last_call_json(w, &l->last_calls[i]);
	gt_json_end(j);
	gt_json_uint(j, "left_out",
		     l->redundant_count - at_most(l->redundant_count) + l->interior_count -
			     at_most(l->interior_count) + l->failure_count -
			     at_most(l->failure_count) + l->last_call_count -
			     at_most(l->last_call_count));
	gt_json_uint(j, "failed", gt_ledger_total(l).failed);
	gt_json_uint(j, "unknown_ends", l->unknown_ends);
	gt_json_uint(j, "unsure_ends", l->unsure_ends);
	gt_json_uint(j, "replaced", l->replaced);
	gt_json_uint(j, "size_mismatches", l->size_mismatches);
	gt_json_end(j);
}

/* The room of a set's matrix of lives: with all others it must fit a page. */
static size_t life_bytes(const struct gt_page *h, const struct gt_page_set *set)
{
	if (set->pid)
		return SET_LIVES_BYTES / (h->set_count - 1);
	return h->set_count > 1 ? LIVES_BYTES - SET_LIVES_BYTES : LIVES_BYTES;
}

static void tick(const struct gt_page *h)
{
	if (h->tick)
		h->tick(GT_TICK_WRITING);
}

static void set_json(struct writing *w)
{
	struct gt_ledger *l = w->set->ledger;
	struct gt_page_sites sites;

	w->view = (struct gt_view){ .recording = w->page->recording,
				    .ledger = l,
				    .frames = w->page->frames,
				    .strict = w->page->strict };
	tick(w->page);
	w->fates = gt_site_fates(&w->view);
	gt_page_rows_init(&w->rows, l, w->page->frames, w->fates);
	w->marks = gt_alloc((w->rows.count + 1) * sizeof *w->marks);
	w->numbers = gt_alloc((w->rows.count + 1) * sizeof *w->numbers);
	gt_page_pick(&w->rows, w->set->pid ? SET_ROWS_MAX : ROWS_MAX, w->marks);
	gt_json_object(w->json, NULL);
	gt_json_uint(w->json, "pid", w->set->pid);
	sums_json(w);
	totals_json(w);
	kinds_json(w);
	tick(w->page);
	sites_json(w);
	tick(w->page);
	lives_json(w, life_bytes(w->page, w->set));
	tick(w->page);
	sites = (struct gt_page_sites){ &w->rows, w->marks, w->numbers };
	gt_page_leaks_json(w->json, &w->view, w->names, &sites);
	gt_page_shortage_json(w->json, &w->view, w->names);
	gt_page_capacity_json(w->json, &w->view);
	growth_json(w);
	mistakes_json(w);
	gt_json_end(w->json);
	gt_page_rows_fini(&w->rows);
	free(w->fates);
	free(w->marks);
	free(w->numbers);
}

/* When phases began, by their first events; two recordings are aligned by them. */
static void phases_json(const struct gt_page *h, struct gt_json *j)
{
	size_t shown = 0;

	gt_json_array(j, "phases");
	for (uint32_t i = 1; i < h->phase_count && shown < PHASES_MAX; i++) {
		char *text;

		if (!h->phase_ns[i])
			continue;
		text = gt_recording_phase_text(h->recording, i);
		gt_json_object(j, NULL);
		gt_json_text(j, "name", text);
		gt_json_int(j, "time_ns", since_start(h, h->phase_ns[i]));
		gt_json_end(j);
		free(text);
		shown++;
	}
	gt_json_end(j);
}

static void samples_json(const struct gt_page *h, struct gt_json *j)
{
	gt_json_array(j, "samples");
	for (size_t i = 0; i < h->sample_count; i++) {
		const struct gt_page_samples *s = &h->samples[i];
		const struct gt_series *series = gt_recording_series(h->recording, s->series);

		gt_json_object(j, NULL);
		gt_json_text(j, "name", series->name);
		gt_json_text(j, "unit", series->unit);
		gt_json_text(j, "subject", series->subject);
		gt_json_uint(j, "pid",
			     s->process == GT_NO_PROCESS ?
				     0 :
				     gt_recording_process(h->recording, s->process)->pid);
		gt_page_trail_json(j, "points", &s->trail);
		gt_json_end(j);
	}
	gt_json_end(j);
}

void gt_page_data(const struct gt_page *h, double threshold_kb, FILE *out)
{
	struct gt_json j;
	struct writing w = { .page = h, .json = &j, .names = gt_page_names_new(h->frames) };
	struct gt_view v = { .recording = h->recording,
			     .ledger = h->sets[0].ledger,
			     .frames = h->frames,
			     .strict = h->strict,
			     .tick = h->tick };

	gt_json_begin(&j, out);
	j.in_html = true;
	j.flat = 1;
	gt_json_uint(&j, "schema", 1);
	gt_json_text(&j, "made_by", GT_VERSION);
	gt_json_text(&j, "directory", gt_recording_info(h->recording, "directory"));
	gt_recording_json(&j, &v);
	gt_residue_json(&j, h->recording);
	gt_json_int(&j, "end_ns", since_start(h, h->end_ns));
	gt_json_uint(&j, "processes_left_out", h->process_left_out);
	gt_json_array(&j, "sets");
	for (size_t i = 0; i < h->set_count; i++) {
		w.set = &h->sets[i];
		set_json(&w);
	}
	gt_json_end(&j);
	tick(h);
	samples_json(h, &j);
	phases_json(h, &j);
	gt_page_memory_json(&j, &v);
	gt_page_metrics_json(&j, h, threshold_kb);
	gt_page_names_json(w.names, &j);
	gt_json_finish(&j);
	gt_page_names_free(w.names);
}
