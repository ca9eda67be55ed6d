/* SPDX-License-Identifier: MIT */
/* difference.c - two recordings compared: what each leaked, held at its peak, and what grows. */
#include "judge/difference.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/format.h"
#include "base/json.h"
#include "base/mem.h"
#include "judge/leaks.h"
#include "ledger/growing_sites.h"
#include "replay/group_text.h"
#include "replay/head.h"
#include "replay/held.h"
#include "replay/stack.h"

enum { LEAKS_SHOWN = 20, HOLDS_SHOWN = 5, FRAMES_SHOWN = 3 };

enum change { NEW, GREW, SHRANK, FIXED, SAME, CHANGE_COUNT };

static const struct {
	const char *name, *title;
	enum gt_paint paint;
} changes[] = {
	[NEW] = { "new", "NEW", GT_RED },
	[GREW] = { "grew", "GREW", GT_RED },
	[SHRANK] = { "shrank", "SHRANK", GT_YELLOW },
	[FIXED] = { "fixed", "FIXED", GT_GREEN },
	[SAME] = { "same", "AS BEFORE", GT_DIM },
};

enum rise_change { RISE_NEW, RISE_SAME, RISE_FIXED, RISE_CHANGES };

static const struct {
	const char *name, *title;
	enum gt_paint paint;
} rise_changes[RISE_CHANGES] = {
	[RISE_NEW] = { "new", "GROWING", GT_RED },
	[RISE_SAME] = { "same", "GROWING AS BEFORE", GT_YELLOW },
	[RISE_FIXED] = { "fixed", "NO LONGER GROWING", GT_GREEN },
};

/* A site in both recordings; NULL: it has none in that one. */
struct row {
	enum change change;
	const struct gt_leak *before, *now;
};

struct rows {
	struct row *list;
	size_t count, counts[CHANGE_COUNT];
};

struct rise_row {
	enum rise_change change;
	const struct gt_rise *rise; /* the new recording's, but for what is fixed */
};

struct gt_diff {
	const struct gt_view *old_view, *new_view;
	struct gt_leaks leaked_before, leaked_now;
	struct gt_leaks held_before, held_now; /* at the peaks: sites by key */
	struct rows leaks;                     /* by change, then the biggest first */
	struct rows holds;                     /* the biggest change first */
	struct gt_growing_sites grew_before, grows_now;
	struct rise_row *rises; /* by change, then the steepest first */
	size_t rise_count, rise_counts[RISE_CHANGES];
};

static uint64_t count_of(const struct gt_leak *leak)
{
	return leak ? leak->count : 0;
}

static uint64_t bytes_of(const struct gt_leak *leak)
{
	return leak ? leak->bytes : 0;
}

static const struct gt_leak *either(const struct row *row)
{
	return row->now ? row->now : row->before;
}

static const struct gt_view *view_of(const struct gt_diff *d, const struct row *row)
{
	return row->now ? d->new_view : d->old_view;
}

/* More bytes or more resources is growth, even if there is less of the other. */
static enum change change_of(const struct gt_leak *before, const struct gt_leak *now)
{
	if (!before)
		return NEW;
	if (!now)
		return FIXED;
	if (now->bytes > before->bytes || now->count > before->count)
		return GREW;
	if (now->bytes < before->bytes || now->count < before->count)
		return SHRANK;
	return SAME;
}

static int by_key_then_biggest(const void *a, const void *b)
{
	const struct gt_leak *x = a, *y = b;
	int order = strcmp(x->key, y->key);

	return order ? order : (x->bytes < y->bytes) - (x->bytes > y->bytes);
}

/* What each site held at the peak of device memory; sites with the same words are one. */
static void holds_init(struct gt_leaks *holds, const struct gt_view *v)
{
	const struct gt_ledger *l = v->ledger;
	size_t found = 0, room = 0;

	for (size_t i = 0; i < l->site_count; i++) {
		const struct gt_site *s = &l->sites[i];

		if (!s->bytes_at_peak || !gt_kind_on_device((enum gt_kind)s->kind))
			continue;
		GT_GROW(holds->list, found, room);
		holds->list[found++] = (struct gt_leak){ .key = gt_site_key(v, s, GT_FN_NONE),
							 .api = s->api,
							 .kind = s->kind,
							 .stack = s->stack,
							 .count = s->live_at_peak,
							 .bytes = s->bytes_at_peak };
	}
	if (found)
		qsort(holds->list, found, sizeof *holds->list, by_key_then_biggest);
	holds->by_key = gt_alloc(found * sizeof *holds->by_key);
	for (size_t i = 0; i < found; i++) {
		struct gt_leak one = holds->list[i], *last = &holds->list[holds->count];

		if (holds->count && !strcmp(last[-1].key, one.key)) {
			last[-1].count += one.count;
			last[-1].bytes += one.bytes;
			free(one.key);
			continue;
		}
		*last = one;
		holds->by_key[holds->count++] = last;
	}
}

static int biggest_change_first(const void *a, const void *b)
{
	const struct row *x = a, *y = b;
	uint64_t p = gt_distance(bytes_of(x->before), bytes_of(x->now));
	uint64_t q = gt_distance(bytes_of(y->before), bytes_of(y->now));

	if (p != q)
		return p > q ? -1 : 1;
	if ((bytes_of(x->now) > bytes_of(x->before)) != (bytes_of(y->now) > bytes_of(y->before)))
		return bytes_of(x->now) > bytes_of(x->before) ? -1 : 1;
	p = gt_distance(count_of(x->before), count_of(x->now));
	q = gt_distance(count_of(y->before), count_of(y->now));
	if (p != q)
		return p > q ? -1 : 1;
	return strcmp(either(x)->key, either(y)->key);
}

static int by_change(const void *a, const void *b)
{
	const struct row *x = a, *y = b;

	if (x->change != y->change)
		return (int)x->change - (int)y->change;
	return biggest_change_first(a, b);
}

static void add_row(struct rows *rows, const struct gt_leak *before, const struct gt_leak *now)
{
	enum change change = change_of(before, now);

	rows->list[rows->count++] = (struct row){ change, before, now };
	rows->counts[change]++;
}

static void pair_up(struct rows *rows, const struct gt_leaks *before, const struct gt_leaks *now,
		    int (*order)(const void *, const void *))
{
	rows->list = gt_alloc((before->count + now->count) * sizeof *rows->list);
	for (size_t i = 0; i < now->count; i++)
		add_row(rows, gt_leaks_find(before, now->list[i].key), &now->list[i]);
	for (size_t i = 0; i < before->count; i++)
		if (!gt_leaks_find(now, before->list[i].key))
			add_row(rows, &before->list[i], NULL);
	qsort(rows->list, rows->count, sizeof *rows->list, order);
}

static const struct gt_site *site_of(const struct gt_view *v, const struct gt_rise *r)
{
	return &v->ledger->sites[r->site];
}

static void add_rise(struct gt_diff *d, enum rise_change change, const struct gt_growing *one)
{
	d->rises[d->rise_count++] = (struct rise_row){ change, one->rise };
	d->rise_counts[change]++;
}

static void pair_rises(struct gt_diff *d)
{
	const struct gt_growing_sites *old = &d->grew_before, *new = &d->grows_now;

	d->rises = gt_alloc((old->count + new->count) * sizeof *d->rises);
	for (int change = RISE_NEW; change <= RISE_SAME; change++)
		for (size_t i = 0; i < new->count; i++)
			if (new->list[i].is_known == (change == RISE_SAME))
				add_rise(d, (enum rise_change)change, &new->list[i]);
	for (size_t i = 0; i < old->count; i++)
		if (!gt_growing_has(new, old->list[i].key))
			add_rise(d, RISE_FIXED, &old->list[i]);
}

struct gt_diff *gt_diff_new(const struct gt_view *old_view, const struct gt_view *new_view,
			    const struct gt_growth_limit *growth)
{
	struct gt_diff *d = gt_alloc(sizeof *d);

	d->old_view = old_view;
	d->new_view = new_view;
	gt_leaks_init(&d->leaked_before, old_view);
	gt_leaks_init(&d->leaked_now, new_view);
	holds_init(&d->held_before, old_view);
	holds_init(&d->held_now, new_view);
	pair_up(&d->leaks, &d->leaked_before, &d->leaked_now, by_change);
	pair_up(&d->holds, &d->held_before, &d->held_now, biggest_change_first);
	gt_growing_init(&d->grew_before, old_view);
	gt_growing_init(&d->grows_now, new_view);
	gt_growing_judge(
		&d->grows_now, new_view,
		&(struct gt_growing_judge){ .limit = growth, .baseline = &d->grew_before });
	pair_rises(d);
	return d;
}

void gt_diff_free(struct gt_diff *d)
{
	gt_leaks_fini(&d->leaked_before);
	gt_leaks_fini(&d->leaked_now);
	gt_leaks_fini(&d->held_before);
	gt_leaks_fini(&d->held_now);
	free(d->leaks.list);
	free(d->holds.list);
	gt_growing_fini(&d->grew_before);
	gt_growing_fini(&d->grows_now);
	free(d->rises);
	free(d);
}

/* By what certainly leaked now and may have leaked before, or the reverse. */
static enum gt_worse row_worse(const struct row *row)
{
	const struct gt_leak none = { 0 };
	const struct gt_leak *now = row->now ? row->now : &none;
	const struct gt_leak *before = row->before ? row->before : &none;

	if (now->count - now->unsure_count > before->count ||
	    now->bytes - now->unsure_bytes > before->bytes)
		return GT_WORSE;
	if (now->count > before->count - before->unsure_count ||
	    now->bytes > before->bytes - before->unsure_bytes)
		return GT_PERHAPS_WORSE;
	return GT_NOT_WORSE;
}

enum gt_worse gt_diff_worse(const struct gt_diff *d)
{
	enum gt_worse worst = GT_NOT_WORSE;

	for (size_t i = 0; i < d->leaks.count; i++)
		if (row_worse(&d->leaks.list[i]) > worst)
			worst = row_worse(&d->leaks.list[i]);
	return worst;
}

void gt_diff_outcome(const struct gt_diff *d, struct gt_printer *p)
{
	size_t counts[CHANGE_COUNT] = { 0 };

	for (size_t i = 0; i < d->leaks.count; i++)
		counts[d->leaks.list[i].change] += row_worse(&d->leaks.list[i]) == GT_WORSE;
	if (!counts[GREW])
		gt_print_wrap(p, GT_RED, 0, "FAILED  %zu %s that did not leak before", counts[NEW],
			      gt_plural(counts[NEW], "call site leaks", "call sites leak"));
	else if (!counts[NEW])
		gt_print_wrap(p, GT_RED, 0, "FAILED  %zu %s more than before", counts[GREW],
			      gt_plural(counts[GREW], "call site leaks", "call sites leak"));
	else
		gt_print_wrap(p, GT_RED, 0,
			      "FAILED  %zu %s that did not leak before, %zu %s more than before",
			      counts[NEW],
			      gt_plural(counts[NEW], "call site leaks", "call sites leak"),
			      counts[GREW], gt_plural(counts[GREW], "leaks", "leak"));
}

char *gt_diff_growth(const struct gt_diff *d)
{
	return gt_growing_failure(&d->grows_now, d->new_view);
}

static void put_leak(struct gt_printer *p, const struct gt_diff *d, const struct row *row)
{
	const struct gt_leak *leak = either(row);
	char a[GT_KIND_TEXT], b[GT_FORMAT_MAX], c[GT_FORMAT_MAX];
	bool both = row->now && row->before;

	gt_put_change(p, bytes_of(row->before), bytes_of(row->now), true, 12);
	gt_put_change(p, count_of(row->before), count_of(row->now), false, 20);
	gt_print_tab(p, 22);
	gt_print_put(p, GT_PLAIN, "%s", gt_kind_count(a, (enum gt_kind)leak->kind, leak->count));
	if (both && row->change != SAME)
		gt_print_put(p, GT_DIM, " (was %s, %s)", gt_format_count(b, row->before->count),
			     gt_format_bytes(c, row->before->bytes));
	gt_print_line(p, GT_PLAIN, " by %s (%s)%s%s", gt_function_words(a, leak->function),
		      gt_api_names[leak->api], leak->fate == GT_FATE_LEAKED ? "" : ", ",
		      leak->fate == GT_FATE_LEAKED ? "" : gt_fate_phrases[leak->fate]);
	gt_stack_text(p, view_of(d, row), leak->stack, FRAMES_SHOWN, 24);
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

static void put_recording(struct gt_printer *p, const char *word, const struct gt_view *v)
{
	char a[GT_FORMAT_MAX], b[GT_FORMAT_MAX];
	char *held = gt_held_line(v->ledger);
	struct gt_fate_sum sums[GT_FATE_COUNT];
	uint64_t count, bytes;

	gt_fate_sums(v, sums);
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
	if (held)
		gt_print_wrap(p, GT_DIM, 6, "%s", held);
	free(held);
	gt_head_gaps(p, v);
}

static bool has_gaps(const struct gt_diff *d)
{
	return gt_head_has_gaps(d->old_view->recording) || gt_head_has_gaps(d->new_view->recording);
}

static void put_hold(struct gt_printer *p, const struct gt_diff *d, const struct row *row)
{
	const struct gt_leak *hold = either(row);
	char a[GT_KIND_TEXT], b[GT_FORMAT_MAX], e[GT_FORMAT_MAX];

	gt_put_change(p, bytes_of(row->before), bytes_of(row->now), true, 12);
	gt_put_change(p, count_of(row->before), count_of(row->now), false, 20);
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
	gt_stack_text(p, view_of(d, row), hold->stack, FRAMES_SHOWN, 24);
}

static void put_peak(struct gt_printer *p, const struct gt_diff *d, size_t most)
{
	uint64_t before = d->old_view->ledger->peak_bytes, now = d->new_view->ledger->peak_bytes;
	size_t changed = d->holds.count - d->holds.counts[SAME];
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
	for (size_t i = 0; i < shown; i++)
		put_hold(p, d, &d->holds.list[i]);
	if (shown < changed)
		gt_print_wrap(p, GT_DIM, 22, "and %zu more: --top N shows them", changed - shown);
}

static const struct gt_view *rise_view(const struct gt_diff *d, enum rise_change change)
{
	return change == RISE_FIXED ? d->old_view : d->new_view;
}

static void put_rises(struct gt_printer *p, const struct gt_diff *d, enum rise_change change,
		      const struct rise_row *rows, size_t most)
{
	const struct gt_view *v = rise_view(d, change);
	size_t count = d->rise_counts[change], shown = count < most ? count : most;

	if (!count)
		return;
	gt_print_end(p);
	gt_print_put(p, rise_changes[change].paint, "%s", rise_changes[change].title);
	gt_print_line(p, GT_BOLD, "  %zu %s%s", count, gt_plural(count, "call site", "call sites"),
		      change == RISE_NEW ? " that did not grow before" : "");
	for (size_t i = 0; i < shown; i++) {
		gt_print_tab(p, 4);
		gt_growth_rate(p, v, rows[i].rise);
		gt_print_end(p);
		gt_stack_text(p, v, site_of(v, rows[i].rise)->stack, FRAMES_SHOWN, 8);
	}
	if (shown < count)
		gt_print_wrap(p, GT_DIM, 22, "and %zu more: --top N shows them", count - shown);
}

void gt_diff_text(const struct gt_diff *d, FILE *out)
{
	size_t top = (size_t)d->new_view->top, at = 0;
	size_t most = top ? top : LEAKS_SHOWN;
	struct gt_printer p;

	gt_print_init(&p, out, &d->new_view->style);
	gt_print_line(&p, GT_BOLD, "gputrack diff");
	put_recording(&p, "old", d->old_view);
	put_recording(&p, "new", d->new_view);
	for (int change = 0; change < CHANGE_COUNT; at += d->leaks.counts[change++]) {
		size_t shown = d->leaks.counts[change] < most ? d->leaks.counts[change] : most;

		/* for sites that did not change the number is enough */
		if (!d->leaks.counts[change])
			continue;
		gt_print_end(&p);
		gt_print_put(&p, changes[change].paint, "%s", changes[change].title);
		gt_print_line(&p, GT_BOLD, "  %zu %s", d->leaks.counts[change],
			      gt_plural(d->leaks.counts[change], "call site", "call sites"));
		if (change == SAME)
			continue;
		for (size_t i = 0; i < shown; i++)
			put_leak(&p, d, &d->leaks.list[at + i]);
		if (shown < d->leaks.counts[change])
			gt_print_wrap(&p, GT_DIM, 22, "and %zu more: --top N shows them",
				      d->leaks.counts[change] - shown);
	}
	most = top ? top : HOLDS_SHOWN;
	put_peak(&p, d, most);
	at = 0;
	for (int change = 0; change < RISE_CHANGES; at += d->rise_counts[change++])
		put_rises(&p, d, (enum rise_change)change, &d->rises[at], most);
	if (gt_diff_worse(d) == GT_NOT_WORSE && !has_gaps(d)) {
		gt_print_end(&p);
		gt_print_wrap(&p, GT_GREEN, 0, "No new or larger leaks.");
	}
}

static void totals_json(struct gt_json *j, const char *key, const struct gt_view *v)
{
	const struct gt_ledger *l = v->ledger;
	struct gt_tally total = gt_ledger_total(l);
	struct gt_fate_sum sums[GT_FATE_COUNT], *leaked = &sums[GT_FATE_LEAKED];

	gt_fate_sums(v, sums);

	gt_json_line(j, key);
	gt_json_uint(j, "events", l->events);
	gt_json_uint(j, "created", total.created);
	gt_json_uint(j, "created_bytes", total.bytes_total);
	gt_json_uint(j, "failed", total.failed);
	gt_json_uint(j, "leaked", leaked->count);
	gt_json_uint(j, "leaked_bytes", leaked->device_bytes + leaked->host_bytes);
	for (int fate = GT_FATE_PERHAPS; fate < GT_FATE_COUNT; fate++)
		gt_json_uint(j, gt_fate_keys[fate], sums[fate].count);
	gt_json_uint(j, "held", l->held.count);
	gt_json_uint(j, "held_bytes", l->held.device_bytes + l->held.host_bytes);
	gt_json_end(j);
}

static void peak_json(struct gt_json *j, const char *key, const struct gt_view *v)
{
	const struct gt_ledger *l = v->ledger;

	gt_json_line(j, key);
	gt_json_int(j, "time_ns", l->peak_bytes ? gt_view_time(v, l->peak_ns) : 0);
	gt_json_uint(j, "device_bytes", l->peak_bytes);
	gt_json_uint(j, "objects", l->peak_live);
	gt_json_end(j);
}

static void sum_json(struct gt_json *j, const char *key, const struct gt_leak *leak)
{
	gt_json_line(j, key);
	gt_json_uint(j, "count", count_of(leak));
	gt_json_uint(j, "bytes", bytes_of(leak));
	gt_json_end(j);
}

static void rise_json(struct gt_json *j, const struct gt_diff *d, const struct rise_row *row)
{
	const struct gt_view *v = rise_view(d, row->change);
	const struct gt_site *s = site_of(v, row->rise);

	gt_json_object(j, NULL);
	gt_json_text(j, "change", rise_changes[row->change].name);
	gt_kind_json(j, s->api, s->kind);
	gt_json_text(j, "unit", row->rise->bytes ? "bytes" : "resources");
	gt_json_real(j, "per_second", row->rise->per_second);
	gt_json_bool(j, "given_back", row->rise->given_back);
	gt_stack_json(j, "stack", v->frames, s->stack);
	gt_json_end(j);
}

/* `change` and `function` are of leaks alone. */
static void row_json(struct gt_json *j, const struct gt_diff *d, const struct row *row,
		     bool is_leak)
{
	const struct gt_leak *leak = either(row);

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
	gt_stack_json(j, "stack", view_of(d, row)->frames, leak->stack);
	gt_json_end(j);
}

void gt_diff_json(const struct gt_diff *d, FILE *out)
{
	struct gt_json j;

	gt_json_begin(&j, out);
	gt_json_uint(&j, "schema", 1);
	gt_json_text(&j, "analysis", "diff");
	gt_json_text(&j, "old", gt_recording_path(d->old_view->recording));
	gt_json_text(&j, "new", gt_recording_path(d->new_view->recording));
	gt_json_bool(&j, "gaps", has_gaps(d));
	gt_json_line(&j, "counts");
	for (int change = 0; change < CHANGE_COUNT; change++)
		gt_json_uint(&j, changes[change].name, d->leaks.counts[change]);
	gt_json_end(&j);
	gt_json_object(&j, "totals");
	totals_json(&j, "old", d->old_view);
	totals_json(&j, "new", d->new_view);
	gt_json_end(&j);
	gt_json_object(&j, "peak");
	peak_json(&j, "old", d->old_view);
	peak_json(&j, "new", d->new_view);
	gt_json_end(&j);
	gt_json_array(&j, "at_peak");
	for (size_t i = 0; i < d->holds.count; i++)
		row_json(&j, d, &d->holds.list[i], false);
	gt_json_end(&j);
	gt_json_array(&j, "growing");
	for (size_t i = 0; i < d->rise_count; i++)
		rise_json(&j, d, &d->rises[i]);
	gt_json_end(&j);
	gt_json_array(&j, "sites");
	for (size_t i = 0; i < d->leaks.count; i++)
		row_json(&j, d, &d->leaks.list[i], true);
	gt_json_end(&j);
	gt_json_finish(&j);
}
