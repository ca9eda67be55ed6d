/* SPDX-License-Identifier: MIT */
/* compare.c - what two recordings used: their peaks and who held them, their totals, what grows. */
#include "judge/difference.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/format.h"
#include "base/mem.h"
#include "replay/group_text.h"
#include "replay/stack.h"

enum { HOLDS_SHOWN = 5, FRAMES_SHOWN = 3 };

static int by_key(const void *a, const void *b)
{
	const struct gt_hold *x = a, *y = b;

	return strcmp(x->key, y->key);
}

/* Sites with the same words become one. */
static void merge(struct gt_holds *h)
{
	size_t count = 0;

	for (size_t i = 0; i < h->count; i++) {
		struct gt_hold *last = count ? &h->list[count - 1] : NULL, one = h->list[i];

		if (!last || strcmp(last->key, one.key)) {
			h->list[count++] = one;
			continue;
		}
		last->count += one.count;
		last->bytes += one.bytes;
		if (one.bytes_most > last->bytes_most) {
			last->bytes_most = one.bytes_most;
			last->stack = one.stack;
		}
		free(one.key);
	}
	h->count = count;
}

static void holds_init(struct gt_holds *h, const struct gt_view *v)
{
	const struct gt_ledger *l = v->ledger;
	size_t room = 0;

	for (size_t i = 0; i < l->site_count; i++) {
		const struct gt_site *s = &l->sites[i];

		if (!s->bytes_at_peak || !gt_kind_on_device((enum gt_kind)s->kind))
			continue;
		GT_GROW(h->list, h->count, room);
		h->list[h->count++] = (struct gt_hold){ .key = gt_site_key(v, s, GT_FN_NONE),
							.api = s->api,
							.kind = s->kind,
							.stack = s->stack,
							.count = s->live_at_peak,
							.bytes = s->bytes_at_peak,
							.bytes_most = s->bytes_at_peak };
	}
	if (h->count)
		qsort(h->list, h->count, sizeof *h->list, by_key);
	merge(h);
}

static void holds_fini(struct gt_holds *h)
{
	for (size_t i = 0; i < h->count; i++)
		free(h->list[i].key);
	free(h->list);
}

static uint64_t bytes_of(const struct gt_hold *hold)
{
	return hold ? hold->bytes : 0;
}

static uint64_t count_of(const struct gt_hold *hold)
{
	return hold ? hold->count : 0;
}

static uint64_t change_of(const struct gt_hold_row *row)
{
	return gt_distance(bytes_of(row->before), bytes_of(row->now));
}

static int biggest_change_first(const void *a, const void *b)
{
	const struct gt_hold_row *x = a, *y = b;
	uint64_t p = change_of(x), q = change_of(y);

	if (p != q)
		return p > q ? -1 : 1;
	if ((bytes_of(x->now) > bytes_of(x->before)) != (bytes_of(y->now) > bytes_of(y->before)))
		return bytes_of(x->now) > bytes_of(x->before) ? -1 : 1;
	p = gt_distance(count_of(x->before), count_of(x->now));
	q = gt_distance(count_of(y->before), count_of(y->now));
	if (p != q)
		return p > q ? -1 : 1;
	return by_key(x->now ? x->now : x->before, y->now ? y->now : y->before);
}

/* Both lists are sorted by key: walks them side by side, the lower key first. */
static void pair_holds(struct gt_compare *c)
{
	size_t i = 0, k = 0;

	c->holds = gt_alloc((c->before.count + c->now.count) * sizeof *c->holds);
	while (i < c->before.count || k < c->now.count) {
		const struct gt_hold *before = i < c->before.count ? &c->before.list[i] : NULL;
		const struct gt_hold *now = k < c->now.count ? &c->now.list[k] : NULL;
		int o = !before ? 1 : !now ? -1 : by_key(before, now);
		struct gt_hold_row *row = &c->holds[c->hold_count++];

		*row = (struct gt_hold_row){ o <= 0 ? before : NULL, o >= 0 ? now : NULL };
		i += o <= 0;
		k += o >= 0;
		c->changed += bytes_of(row->before) != bytes_of(row->now) ||
			      count_of(row->before) != count_of(row->now);
	}
	if (c->hold_count)
		qsort(c->holds, c->hold_count, sizeof *c->holds, biggest_change_first);
}

static const struct gt_site *site_of(const struct gt_view *v, const struct gt_rise *r)
{
	return &v->ledger->sites[r->site];
}

static char **rise_keys(const struct gt_view *v, const struct gt_rise *rises, size_t count)
{
	char **keys = gt_alloc(count * sizeof *keys);

	for (size_t i = 0; i < count; i++)
		keys[i] = gt_site_key(v, site_of(v, &rises[i]), GT_FN_NONE);
	return keys;
}

static void free_keys(char **keys, size_t count)
{
	for (size_t i = 0; i < count; i++)
		free(keys[i]);
	free(keys);
}

/* The keys are few enough to search one by one. */
static bool has_key(char **keys, size_t count, const char *key)
{
	for (size_t i = 0; i < count; i++)
		if (!strcmp(keys[i], key))
			return true;
	return false;
}

static void add_rises(struct gt_compare *c, enum gt_rise_change change, const struct gt_rise *rises,
		      char **keys, size_t count, char **others, size_t other_count)
{
	for (size_t i = 0; i < count; i++)
		if (has_key(others, other_count, keys[i]) == (change == GT_RISE_SAME)) {
			c->rises[c->rise_count++] = (struct gt_rise_row){ change, &rises[i] };
			c->counts[change]++;
		}
}

static void pair_rises(struct gt_compare *c)
{
	size_t old_count, new_count;
	char **old_keys, **new_keys;

	c->old_rises = gt_view_rises(c->old_view->ledger, &old_count);
	c->new_rises = gt_view_rises(c->new_view->ledger, &new_count);
	old_keys = rise_keys(c->old_view, c->old_rises, old_count);
	new_keys = rise_keys(c->new_view, c->new_rises, new_count);
	c->rises = gt_alloc((old_count + new_count) * sizeof *c->rises);
	add_rises(c, GT_RISE_NEW, c->new_rises, new_keys, new_count, old_keys, old_count);
	add_rises(c, GT_RISE_SAME, c->new_rises, new_keys, new_count, old_keys, old_count);
	add_rises(c, GT_RISE_FIXED, c->old_rises, old_keys, old_count, new_keys, new_count);
	free_keys(old_keys, old_count);
	free_keys(new_keys, new_count);
}

void gt_compare_init(struct gt_compare *c, const struct gt_view *old_view,
		     const struct gt_view *new_view)
{
	*c = (struct gt_compare){ .old_view = old_view, .new_view = new_view };
	holds_init(&c->before, old_view);
	holds_init(&c->now, new_view);
	pair_holds(c);
	pair_rises(c);
}

void gt_compare_fini(struct gt_compare *c)
{
	holds_fini(&c->before);
	holds_fini(&c->now);
	free(c->holds);
	free(c->old_rises);
	free(c->new_rises);
	free(c->rises);
}

void gt_compare_totals(struct gt_printer *p, const struct gt_view *v)
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

static void put_hold(struct gt_printer *p, const struct gt_compare *c,
		     const struct gt_hold_row *row)
{
	const struct gt_hold *hold = row->now ? row->now : row->before;
	char a[GT_KIND_TEXT], b[GT_FORMAT_MAX], d[GT_FORMAT_MAX];

	gt_put_change(p, bytes_of(row->before), bytes_of(row->now), true, 12);
	gt_put_change(p, count_of(row->before), count_of(row->now), false, 20);
	gt_print_tab(p, 22);
	gt_kind_count(a, (enum gt_kind)hold->kind, hold->count);
	gt_format_bytes(b, hold->bytes);
	if (row->now)
		gt_print_put(p, GT_PLAIN, "%s, %s", a, b);
	else
		gt_print_put(p, GT_PLAIN, "none any more (were %s, %s)", a, b);
	if (row->now && row->before)
		gt_print_put(p, GT_DIM, " (were %s, %s)", gt_format_count(b, row->before->count),
			     gt_format_bytes(d, row->before->bytes));
	gt_print_end(p);
	gt_stack_text(p, row->now ? c->new_view : c->old_view, hold->stack, FRAMES_SHOWN, 24);
}

static void put_peak(struct gt_printer *p, const struct gt_compare *c, size_t most)
{
	uint64_t before = c->old_view->ledger->peak_bytes, now = c->new_view->ledger->peak_bytes;
	size_t shown = c->changed < most ? c->changed : most;
	char a[GT_FORMAT_MAX], b[GT_FORMAT_MAX], d[GT_FORMAT_MAX];

	if (!before && !now)
		return;
	gt_print_end(p);
	gt_print_put(p, now > before ? GT_RED : now < before ? GT_GREEN : GT_BOLD, "PEAK");
	if (now == before)
		gt_print_put(p, GT_BOLD, "  %s of device memory, as before",
			     gt_format_bytes(a, now));
	else
		gt_print_put(p, GT_BOLD, "  %s %s %s of device memory, %s%s",
			     gt_format_bytes(a, before), p->style.utf8 ? "→" : "->",
			     gt_format_bytes(b, now), now > before ? "+" : "-",
			     gt_format_bytes(d, gt_distance(before, now)));
	gt_print_end(p);
	for (size_t i = 0; i < shown; i++)
		put_hold(p, c, &c->holds[i]);
	if (shown < c->changed)
		gt_print_wrap(p, GT_DIM, 22, "and %zu more: --top N shows them",
			      c->changed - shown);
}

static const struct {
	const char *name, *title;
	enum gt_paint paint;
} rise_changes[GT_RISE_CHANGES] = {
	[GT_RISE_NEW] = { "new", "GROWING", GT_RED },
	[GT_RISE_SAME] = { "same", "GROWING AS BEFORE", GT_YELLOW },
	[GT_RISE_FIXED] = { "fixed", "NO LONGER GROWING", GT_GREEN },
};

static const struct gt_view *view_of(const struct gt_compare *c, enum gt_rise_change change)
{
	return change == GT_RISE_FIXED ? c->old_view : c->new_view;
}

static void put_rises(struct gt_printer *p, const struct gt_compare *c, enum gt_rise_change change,
		      const struct gt_rise_row *rows, size_t most)
{
	const struct gt_view *v = view_of(c, change);
	size_t count = c->counts[change], shown = count < most ? count : most;

	if (!count)
		return;
	gt_print_end(p);
	gt_print_put(p, rise_changes[change].paint, "%s", rise_changes[change].title);
	gt_print_put(p, GT_BOLD, "  %zu %s%s", count, gt_plural(count, "call site", "call sites"),
		     change == GT_RISE_NEW ? " that did not before" : "");
	gt_print_end(p);
	for (size_t i = 0; i < shown; i++) {
		gt_print_tab(p, 4);
		gt_growth_rate(p, v, rows[i].rise);
		gt_print_end(p);
		gt_stack_text(p, v, site_of(v, rows[i].rise)->stack, FRAMES_SHOWN, 8);
	}
	if (shown < count)
		gt_print_wrap(p, GT_DIM, 22, "and %zu more: --top N shows them", count - shown);
}

void gt_compare_text(struct gt_printer *p, const struct gt_compare *c, size_t most)
{
	size_t at = 0;

	put_peak(p, c, most ? most : HOLDS_SHOWN);
	for (int change = 0; change < GT_RISE_CHANGES; at += c->counts[change++])
		put_rises(p, c, (enum gt_rise_change)change, &c->rises[at],
			  most ? most : HOLDS_SHOWN);
}

static void totals_json(struct gt_json *j, const char *key, const struct gt_ledger *l)
{
	struct gt_tally total = gt_ledger_total(l);
	struct gt_leaked leaked = gt_ledger_leaked(l);

	gt_json_line(j, key);
	gt_json_uint(j, "events", l->events);
	gt_json_uint(j, "created", total.created);
	gt_json_uint(j, "created_bytes", total.bytes_total);
	gt_json_uint(j, "failed", total.failed);
	gt_json_uint(j, "leaked", leaked.count);
	gt_json_uint(j, "leaked_bytes", leaked.device_bytes + leaked.host_bytes);
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

static void hold_json(struct gt_json *j, const char *key, const struct gt_hold *hold)
{
	gt_json_line(j, key);
	gt_json_uint(j, "count", count_of(hold));
	gt_json_uint(j, "bytes", bytes_of(hold));
	gt_json_end(j);
}

static void kind_json(struct gt_json *j, uint8_t api, uint8_t kind)
{
	gt_json_text(j, "api", gt_api_keys[api]);
	gt_json_text(j, "kind", gt_kinds[kind].name);
	gt_json_text(j, "type", gt_kinds[kind].type[api]);
}

static void rise_json(struct gt_json *j, const struct gt_compare *c, const struct gt_rise_row *row)
{
	const struct gt_view *v = view_of(c, row->change);
	const struct gt_site *s = site_of(v, row->rise);

	gt_json_object(j, NULL);
	gt_json_text(j, "change", rise_changes[row->change].name);
	kind_json(j, s->api, s->kind);
	gt_json_text(j, "unit", row->rise->bytes ? "bytes" : "resources");
	gt_json_real(j, "per_second", row->rise->per_second);
	gt_json_bool(j, "given_back", row->rise->given_back);
	gt_stack_json(j, "stack", v->frames, s->stack);
	gt_json_end(j);
}

void gt_compare_json(struct gt_json *j, const struct gt_compare *c)
{
	gt_json_object(j, "totals");
	totals_json(j, "old", c->old_view->ledger);
	totals_json(j, "new", c->new_view->ledger);
	gt_json_end(j);
	gt_json_object(j, "peak");
	peak_json(j, "old", c->old_view);
	peak_json(j, "new", c->new_view);
	gt_json_end(j);
	gt_json_array(j, "at_peak");
	for (size_t i = 0; i < c->hold_count; i++) {
		const struct gt_hold_row *row = &c->holds[i];
		const struct gt_hold *hold = row->now ? row->now : row->before;

		gt_json_object(j, NULL);
		kind_json(j, hold->api, hold->kind);
		hold_json(j, "old", row->before);
		hold_json(j, "new", row->now);
		gt_stack_json(j, "stack", (row->now ? c->new_view : c->old_view)->frames,
			      hold->stack);
		gt_json_end(j);
	}
	gt_json_end(j);
	gt_json_array(j, "growing");
	for (size_t i = 0; i < c->rise_count; i++)
		rise_json(j, c, &c->rises[i]);
	gt_json_end(j);
}
