/* SPDX-License-Identifier: MIT */
/* difference_text.c - a comparison of two recordings, as text and as JSON. */
#include <stdlib.h>

#include "base/format.h"
#include "base/json.h"
#include "base/mem.h"
#include "judge/difference_rows.h"
#include "replay/call_text.h"
#include "replay/group_text.h"
#include "replay/growth_text.h"
#include "replay/head.h"
#include "replay/held.h"
#include "replay/place.h"
#include "replay/shortage.h"
#include "replay/stack.h"

enum { LEAKS_SHOWN = 20, HOLDS_SHOWN = 5, FRAMES_SHOWN = 3 };

static const struct {
	const char *name, *title;
	enum gt_paint paint;
} changes[] = {
	[GT_DIFF_NEW] = { "new", "NEW", GT_RED },
	[GT_DIFF_GREW] = { "grew", "GREW", GT_RED },
	[GT_DIFF_SHRANK] = { "shrank", "SHRANK", GT_YELLOW },
	[GT_DIFF_FIXED] = { "fixed", "FIXED", GT_GREEN },
	[GT_DIFF_SAME] = { "same", "AS BEFORE", GT_DIM },
};

static const struct {
	const char *name, *title;
	enum gt_paint paint;
} rise_changes[GT_DIFF_RISE_CHANGES] = {
	[GT_DIFF_RISE_NEW] = { "new", "GROWING", GT_RED },
	[GT_DIFF_RISE_SAME] = { "same", "GROWING AS BEFORE", GT_YELLOW },
	[GT_DIFF_RISE_FIXED] = { "fixed", "NO LONGER GROWING", GT_GREEN },
};

static const struct gt_site *site_of(const struct gt_view *v, const struct gt_rise *r)
{
	return &v->ledger->sites[r->site];
}

static int by_number(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static uint64_t place_of(const struct gt_leak *leak)
{
	return gt_site_key_place(leak->key, leak->api, leak->kind, leak->function);
}

/*
 * How many places the rows with this change are of: by process, rows of several kinds may be of
 * one. With `worse`, only those that are worse for certain.
 */
static size_t count_places(const struct gt_diff *d, enum gt_diff_change change, bool worse)
{
	enum gt_by by = gt_frames_by(d->new.view->frames);
	uint64_t *places = gt_alloc(d->leaks.count * sizeof *places);
	size_t count = 0, distinct = 0;

	for (size_t i = 0; i < d->leaks.count; i++) {
		const struct gt_diff_row *row = &d->leaks.list[i];

		if (row->change == change && (!worse || gt_diff_row_worse(row) == GT_WORSE))
			places[count++] = place_of(gt_diff_either(row));
	}
	qsort(places, count, sizeof *places, by_number);
	for (size_t i = 0; i < count; i++)
		distinct += !i || places[i] != places[i - 1];
	free(places);
	return by == GT_BY_LINE || by == GT_BY_STACK ? count : distinct;
}

void gt_diff_outcome(const struct gt_diff *d, struct gt_printer *p)
{
	const struct gt_frames *f = d->new.view->frames;
	size_t new = count_places(d, GT_DIFF_NEW, true), grew = count_places(d, GT_DIFF_GREW, true);

	if (!grew)
		gt_print_wrap(p, GT_RED, 0, "FAILED  %zu %s %s that did not leak before", new,
			      gt_place_noun(f, new), gt_plural(new, "leaks", "leak"));
	else if (!new)
		gt_print_wrap(p, GT_RED, 0, "FAILED  %zu %s %s more than before", grew,
			      gt_place_noun(f, grew), gt_plural(grew, "leaks", "leak"));
	else
		gt_print_wrap(p, GT_RED, 0,
			      "FAILED  %zu %s %s that did not leak before, %zu %s more than before",
			      new, gt_place_noun(f, new), gt_plural(new, "leaks", "leak"), grew,
			      gt_plural(grew, "leaks", "leak"));
}

static void put_leak(struct gt_printer *p, const struct gt_diff *d, const struct gt_diff_row *row)
{
	const struct gt_leak *leak = gt_diff_either(row);
	char a[GT_KIND_TEXT], b[GT_FORMAT_MAX], c[GT_FORMAT_MAX];
	bool both = row->now && row->before;

	gt_put_change(p, gt_diff_bytes(row->before), gt_diff_bytes(row->now), true, 12);
	gt_put_change(p, gt_diff_count(row->before), gt_diff_count(row->now), false, 20);
	gt_print_tab(p, 22);
	gt_print_put(p, GT_PLAIN, "%s", gt_kind_count(a, (enum gt_kind)leak->kind, leak->count));
	if (both && row->change != GT_DIFF_SAME)
		gt_print_put(p, GT_DIM, " (was %s, %s)", gt_format_count(b, row->before->count),
			     gt_format_bytes(c, row->before->bytes));
	gt_print_line(p, GT_PLAIN, " by %s (%s)%s%s",
		      gt_call_name(a, row->view, leak->function, leak->stack),
		      gt_api_names[leak->api], leak->fate == GT_FATE_LEAKED ? "" : ", ",
		      leak->fate == GT_FATE_LEAKED ? "" : gt_fate_phrases[leak->fate]);
	gt_stack_brief(p, row->view, leak->stack, FRAMES_SHOWN, 24);
}

static void list_rows_of(const struct gt_views *views, const struct gt_diff_row *rows, size_t count)
{
	uint32_t *stacks = gt_alloc(count * sizeof *stacks);

	for (size_t view = 0; view < views->count; view++) {
		size_t used = 0;

		for (size_t i = 0; i < count; i++)
			if (rows[i].view == views->list[view])
				stacks[used++] = gt_diff_either(&rows[i])->stack;
		gt_places_list(views->list[view]->frames, stacks, used);
	}
	free(stacks);
}

/* gt_places_list for these rows, of all recordings. */
static void list_rows(const struct gt_diff *d, const struct gt_diff_row *rows, size_t count)
{
	list_rows_of(&d->old.views, rows, count);
	list_rows_of(&d->new.views, rows, count);
}

/* gt_places_list for each recording of the rows, which are in their order. Returns the places. */
static size_t list_rises(const struct gt_diff_rise *rows, size_t count)
{
	uint32_t *stacks = gt_alloc(count * sizeof *stacks);
	size_t places = 0;

	for (size_t i = 0, of_view = 0; i < count; i++) {
		stacks[of_view++] = site_of(rows[i].view, rows[i].rise)->stack;
		if (i + 1 < count && rows[i + 1].view == rows[i].view)
			continue;
		gt_places_list(rows[i].view->frames, stacks, of_view);
		places += gt_place_count(rows[i].view->frames, stacks, of_view);
		of_view = 0;
	}
	free(stacks);
	return places;
}

/* "peak 1.00 GiB, 9 resources created, 18 events": a line under a recording's name. */
static void put_totals(struct gt_printer *p, const struct gt_view *v)
{
	struct gt_tally total = gt_ledger_total(v->ledger);
	char peak[GT_FORMAT_MAX], created[GT_FORMAT_MAX], events[GT_FORMAT_MAX];

	gt_print_wrap(p, GT_DIM, 6, "peak %s, %s %s created, %s %s",
		      gt_format_bytes(peak, v->ledger->peak_bytes),
		      gt_format_count(created, total.created),
		      gt_plural(total.created, "resource", "resources"),
		      gt_format_count(events, v->ledger->events),
		      gt_plural(v->ledger->events, "event", "events"));
}

static void put_recording(struct gt_printer *p, const char *word, const struct gt_diff_side *side)
{
	const struct gt_fate_sum *sums = side->fates;
	const struct gt_view *v = side->view;
	char a[GT_FORMAT_MAX], b[GT_FORMAT_MAX];
	const struct gt_shortage *shortage = gt_shortage_of(v);
	char *text = shortage ? gt_shortage_text(v, shortage) : NULL;
	uint64_t count, bytes;

	count = sums[GT_FATE_LEAKED].count;
	bytes = sums[GT_FATE_LEAKED].device_bytes + sums[GT_FATE_LEAKED].host_bytes;
	gt_print_put(p, GT_PLAIN, "  %s ", word);
	gt_print_path(p, GT_PLAIN, gt_style_relative(&v->style, gt_recording_path(v->recording)),
		      gt_print_left(p) / 2);
	gt_print_put(p, GT_PLAIN, ": %s %s leaked", gt_format_count(a, count),
		     gt_plural(count, "resource", "resources"));
	if (bytes)
		gt_print_put(p, GT_PLAIN, ", %s", gt_format_bytes(b, bytes));
	for (int fate = GT_FATE_PERHAPS; fate < GT_FATE_COUNT; fate++)
		if (sums[fate].count)
			gt_print_put(p, GT_YELLOW, ", %s %s", gt_format_count(a, sums[fate].count),
				     gt_fate_phrases[fate]);
	gt_print_end(p);
	put_totals(p, v);
	if (side->held_line)
		gt_print_wrap(p, GT_DIM, 6, "%s", side->held_line);
	if (shortage)
		gt_print_wrap(p, GT_YELLOW, 6, "out of memory %s; %s", text,
			      gt_shortage_outcome(v, shortage));
	free(text);
	gt_head_gaps(p, v);
}

static bool side_has_gaps(const struct gt_diff_side *side)
{
	for (size_t i = 0; i < side->views.count; i++)
		if (gt_head_has_gaps(side->views.list[i]->recording))
			return true;
	return false;
}

static bool has_gaps(const struct gt_diff *d)
{
	return side_has_gaps(&d->old) || side_has_gaps(&d->new);
}

static void put_hold(struct gt_printer *p, const struct gt_diff *d, const struct gt_diff_row *row)
{
	const struct gt_leak *hold = gt_diff_either(row);
	char a[GT_KIND_TEXT], b[GT_FORMAT_MAX], e[GT_FORMAT_MAX];

	gt_put_change(p, gt_diff_bytes(row->before), gt_diff_bytes(row->now), true, 12);
	gt_put_change(p, gt_diff_count(row->before), gt_diff_count(row->now), false, 20);
	gt_print_tab(p, 22);
	gt_kind_count(a, (enum gt_kind)hold->kind, hold->count);
	gt_format_bytes(b, hold->bytes);
	if (row->now)
		gt_print_put(p, GT_PLAIN, "%s, %s", a, b);
	else
		gt_print_put(p, GT_PLAIN, "gone (was %s, %s)", a, b);
	if (row->now && row->before)
		gt_print_put(p, GT_DIM, " (was %s, %s)", gt_format_count(b, row->before->count),
			     gt_format_bytes(e, row->before->bytes));
	gt_print_end(p);
	gt_stack_brief(p, row->view, hold->stack, FRAMES_SHOWN, 24);
}

static void put_peak(struct gt_printer *p, const struct gt_diff *d, size_t most)
{
	uint64_t before = d->old.view->ledger->peak_bytes, now = d->new.view->ledger->peak_bytes;
	size_t changed = d->holds.count - d->holds.counts[GT_DIFF_SAME];
	size_t shown = changed < most ? changed : most;
	char a[GT_FORMAT_MAX], b[GT_FORMAT_MAX], e[GT_FORMAT_MAX];

	if (!before && !now)
		return;
	gt_print_end(p);
	gt_print_put(p, now > before ? GT_RED : now < before ? GT_GREEN : GT_BOLD, "PEAK");
	if (now == before)
		gt_print_line(p, GT_BOLD, "  %s of device memory, unchanged",
			      gt_format_bytes(a, now));
	else
		gt_print_line(p, GT_BOLD, "  %s %s %s of device memory, %s%s",
			      gt_format_bytes(a, before), p->style.utf8 ? "→" : "->",
			      gt_format_bytes(b, now), now > before ? "+" : "-",
			      gt_format_bytes(e, gt_distance(before, now)));
	list_rows(d, d->holds.list, changed);
	for (size_t i = 0; i < shown; i++)
		put_hold(p, d, &d->holds.list[i]);
	if (shown < changed)
		gt_print_wrap(p, GT_DIM, 22, "and %zu more: --top N shows them", changed - shown);
}

static void put_rises(struct gt_printer *p, const struct gt_diff *d,
		      enum gt_diff_rise_change change, const struct gt_diff_rise *rows, size_t most)
{
	size_t count = d->rise_counts[change], shown = count < most ? count : most, places;

	if (!count)
		return;
	places = list_rises(rows, count);
	gt_print_end(p);
	gt_print_put(p, rise_changes[change].paint, "%s", rise_changes[change].title);
	gt_print_line(p, GT_BOLD, "  %zu %s%s", places, gt_place_noun(rows->view->frames, places),
		      change == GT_DIFF_RISE_NEW ? " that did not grow before" : "");
	for (size_t i = 0; i < shown; i++) {
		const struct gt_view *v = rows[i].view;

		gt_print_tab(p, 4);
		gt_growth_rate(p, v, rows[i].rise);
		gt_print_end(p);
		gt_stack_brief(p, v, site_of(v, rows[i].rise)->stack, FRAMES_SHOWN, 8);
	}
	if (shown < count)
		gt_print_wrap(p, GT_DIM, 22, "and %zu more: --top N shows them", count - shown);
}

void gt_diff_text(const struct gt_diff *d, FILE *out)
{
	size_t top = (size_t)d->new.view->top, at = 0;
	size_t most = top ? top : LEAKS_SHOWN;
	struct gt_printer p;

	gt_print_init(&p, out, &d->new.view->style);
	gt_print_line(&p, GT_BOLD, "gputrack diff");
	if (gt_diff_is_of_tests(d)) {
		gt_diff_tests_text(d, &p);
	} else {
		put_recording(&p, "old", &d->old);
		put_recording(&p, "new", &d->new);
	}
	for (int change = 0; change < GT_DIFF_COUNT; at += d->leaks.counts[change++]) {
		size_t shown = d->leaks.counts[change] < most ? d->leaks.counts[change] : most;
		size_t places = count_places(d, (enum gt_diff_change)change, false);

		/* for sites that did not change the number is enough */
		if (!d->leaks.counts[change])
			continue;
		gt_print_end(&p);
		gt_print_put(&p, changes[change].paint, "%s", changes[change].title);
		gt_print_line(&p, GT_BOLD, "  %zu %s", places,
			      gt_place_noun(d->new.view->frames, places));
		if (change == GT_DIFF_SAME)
			continue;
		list_rows(d, &d->leaks.list[at], d->leaks.counts[change]);
		for (size_t i = 0; i < shown; i++)
			put_leak(&p, d, &d->leaks.list[at + i]);
		if (shown < d->leaks.counts[change])
			gt_print_wrap(&p, GT_DIM, 22, "and %zu more: --top N shows them",
				      d->leaks.counts[change] - shown);
	}
	most = top ? top : HOLDS_SHOWN;
	if (!gt_diff_is_of_tests(d))
		put_peak(&p, d, most);
	at = 0;
	for (int change = 0; change < GT_DIFF_RISE_CHANGES; at += d->rise_counts[change++])
		put_rises(&p, d, (enum gt_diff_rise_change)change, &d->rises[at], most);
	if (gt_diff_worse(d) == GT_NOT_WORSE && !has_gaps(d)) {
		gt_print_end(&p);
		gt_print_wrap(&p, GT_GREEN, 0, "No new or larger leaks.");
	}
}

static void totals_json(struct gt_json *j, const char *key, const struct gt_diff_side *side)
{
	const struct gt_fate_sum *sums = side->fates, *leaked = &sums[GT_FATE_LEAKED];
	uint64_t events = 0, created = 0, bytes = 0, failed = 0, held = 0, held_bytes = 0;

	for (size_t i = 0; i < side->views.count; i++) {
		const struct gt_ledger *l = side->views.list[i]->ledger;
		struct gt_tally total = gt_ledger_total(l);

		events += l->events;
		created += total.created;
		bytes += total.bytes_total;
		failed += total.failed;
		held += l->held.count;
		held_bytes += l->held.device_bytes + l->held.host_bytes;
	}
	gt_json_line(j, key);
	gt_json_uint(j, "events", events);
	gt_json_uint(j, "created", created);
	gt_json_uint(j, "created_bytes", bytes);
	gt_json_uint(j, "failed", failed);
	gt_json_uint(j, "leaked", leaked->count);
	gt_json_uint(j, "leaked_bytes", leaked->device_bytes + leaked->host_bytes);
	for (int fate = GT_FATE_PERHAPS; fate < GT_FATE_COUNT; fate++)
		gt_json_uint(j, gt_fate_keys[fate], sums[fate].count);
	gt_json_uint(j, "held", held);
	gt_json_uint(j, "held_bytes", held_bytes);
	gt_shortage_json(j, "out_of_memory", side->view);
	gt_json_end(j);
}

/* Of several recordings, the highest. */
static void peak_json(struct gt_json *j, const char *key, const struct gt_diff_side *side)
{
	const struct gt_view *v = side->view;
	const struct gt_ledger *l;

	for (size_t i = 1; i < side->views.count; i++)
		if (side->views.list[i]->ledger->peak_bytes > v->ledger->peak_bytes)
			v = side->views.list[i];
	l = v->ledger;
	gt_json_line(j, key);
	gt_json_int(j, "time_ns", l->peak_bytes ? gt_view_time(v, l->peak_ns) : 0);
	gt_json_uint(j, "device_bytes", l->peak_bytes);
	gt_json_uint(j, "objects", l->peak_live);
	gt_json_end(j);
}

static void sum_json(struct gt_json *j, const char *key, const struct gt_leak *leak)
{
	gt_json_line(j, key);
	gt_json_uint(j, "count", gt_diff_count(leak));
	gt_json_uint(j, "bytes", gt_diff_bytes(leak));
	gt_json_end(j);
}

static void rise_json(struct gt_json *j, const struct gt_diff_rise *row)
{
	const struct gt_view *v = row->view;
	const struct gt_site *s = site_of(v, row->rise);

	gt_json_object(j, NULL);
	gt_json_text(j, "change", rise_changes[row->change].name);
	gt_kind_json(j, s->api, s->kind);
	gt_json_text(j, "unit", row->rise->bytes ? "bytes" : "resources");
	gt_json_real(j, "per_second", row->rise->per_second);
	gt_json_bool(j, "given_back", row->rise->given_back);
	gt_place_and_stack_json(j, v->frames, s->stack);
	gt_json_end(j);
}

/* `change` and `function` are of leaks alone. */
static void row_json(struct gt_json *j, const struct gt_diff *d, const struct gt_diff_row *row,
		     bool is_leak)
{
	const struct gt_leak *leak = gt_diff_either(row);

	gt_json_object(j, NULL);
	if (is_leak)
		gt_json_text(j, "change", changes[row->change].name);
	gt_kind_json(j, leak->api, leak->kind);
	if (is_leak) {
		gt_json_text(j, "function", gt_function_names[leak->function]);
		gt_json_text(j, "fate", gt_fate_keys[leak->fate]);
	}
	sum_json(j, "old", row->before);
	sum_json(j, "new", row->now);
	gt_place_and_stack_json(j, row->view->frames, leak->stack);
	gt_json_end(j);
}

/* `most` call sites in a list. */
static void diff_json(struct gt_json *j, const struct gt_diff *d, size_t most)
{
	size_t holds = d->holds.count < most ? d->holds.count : most;
	size_t leaks = d->leaks.count < most ? d->leaks.count : most;

	gt_json_uint(j, "schema", 1);
	gt_json_text(j, "analysis", "diff");
	gt_json_text(j, "old", d->old.name);
	gt_json_text(j, "new", d->new.name);
	gt_json_bool(j, "gaps", has_gaps(d));
	gt_json_line(j, "counts");
	for (int change = 0; change < GT_DIFF_COUNT; change++)
		gt_json_uint(j, changes[change].name, d->leaks.counts[change]);
	gt_json_end(j);
	if (gt_diff_is_of_tests(d))
		gt_diff_tests_json(d, j);
	gt_json_object(j, "totals");
	totals_json(j, "old", &d->old);
	totals_json(j, "new", &d->new);
	gt_json_end(j);
	gt_json_object(j, "peak");
	peak_json(j, "old", &d->old);
	peak_json(j, "new", &d->new);
	gt_json_end(j);
	list_rows(d, d->holds.list, holds);
	gt_json_array(j, "at_peak");
	for (size_t i = 0; i < holds; i++)
		row_json(j, d, &d->holds.list[i], false);
	gt_json_end(j);
	gt_json_array(j, "growing");
	for (size_t i = 0, change = 0; change < GT_DIFF_RISE_CHANGES; change++) {
		size_t end = i + d->rise_counts[change];

		list_rises(&d->rises[i], end - i);
		for (; i < end; i++)
			rise_json(j, &d->rises[i]);
	}
	gt_json_end(j);
	list_rows(d, d->leaks.list, leaks);
	gt_json_array(j, "sites");
	for (size_t i = 0; i < leaks; i++)
		row_json(j, d, &d->leaks.list[i], true);
	gt_json_end(j);
	gt_json_finish(j);
}

void gt_diff_json(const struct gt_diff *d, FILE *out)
{
	struct gt_json j;

	gt_json_begin(&j, out);
	diff_json(&j, d, SIZE_MAX);
}

void gt_diff_page_json(const struct gt_diff *d, size_t most, FILE *out)
{
	struct gt_json j;

	gt_json_begin(&j, out);
	j.in_html = true;
	j.flat = 1;
	diff_json(&j, d, most);
}
