/* SPDX-License-Identifier: MIT */
/* difference.c - two recordings compared: what each leaked, held at its peak, and what grows. */
#include "judge/difference_rows.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "replay/group_text.h"

/* More bytes or more resources is growth, even if there is less of the other. */
static enum gt_diff_change change_of(const struct gt_leak *before, const struct gt_leak *now)
{
	if (!before)
		return GT_DIFF_NEW;
	if (!now)
		return GT_DIFF_FIXED;
	if (now->bytes > before->bytes || now->count > before->count)
		return GT_DIFF_GREW;
	if (now->bytes < before->bytes || now->count < before->count)
		return GT_DIFF_SHRANK;
	return GT_DIFF_SAME;
}

static int by_key_then_biggest(const void *a, const void *b)
{
	const struct gt_leak *x = a, *y = b;
	int order = (x->key > y->key) - (x->key < y->key);

	return order ? order : (x->bytes < y->bytes) - (x->bytes > y->bytes);
}

/* What each site held at the peak of device memory; sites with the same words are one. */
static void holds_init(struct gt_leaks *holds, const struct gt_view *v, enum gt_by by)
{
	const struct gt_ledger *l = v->ledger;
	size_t found = 0, room = 0;

	for (size_t i = 0; i < l->site_count; i++) {
		const struct gt_site *s = &l->sites[i];

		if (!s->bytes_at_peak || !gt_kind_on_device((enum gt_kind)s->kind))
			continue;
		GT_GROW(holds->list, found, room);
		holds->list[found++] = (struct gt_leak){ .key = gt_site_key(v, s, GT_FN_NONE, by),
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

		if (holds->count && last[-1].key == one.key) {
			last[-1].count += one.count;
			last[-1].bytes += one.bytes;
			continue;
		}
		*last = one;
		holds->by_key[holds->count++] = last;
	}
}

static int biggest_change_first(const void *a, const void *b)
{
	const struct gt_diff_row *x = a, *y = b;
	uint64_t p = gt_distance(gt_diff_bytes(x->before), gt_diff_bytes(x->now));
	uint64_t q = gt_distance(gt_diff_bytes(y->before), gt_diff_bytes(y->now));

	if (p != q)
		return p > q ? -1 : 1;
	if ((gt_diff_bytes(x->now) > gt_diff_bytes(x->before)) !=
	    (gt_diff_bytes(y->now) > gt_diff_bytes(y->before)))
		return gt_diff_bytes(x->now) > gt_diff_bytes(x->before) ? -1 : 1;
	p = gt_distance(gt_diff_count(x->before), gt_diff_count(x->now));
	q = gt_distance(gt_diff_count(y->before), gt_diff_count(y->now));
	if (p != q)
		return p > q ? -1 : 1;
	p = gt_diff_either(x)->bytes;
	q = gt_diff_either(y)->bytes;
	if (p != q)
		return p > q ? -1 : 1;
	p = gt_diff_either(x)->key;
	q = gt_diff_either(y)->key;
	return (p > q) - (p < q);
}

static int by_change(const void *a, const void *b)
{
	const struct gt_diff_row *x = a, *y = b;

	if (x->change != y->change)
		return (int)x->change - (int)y->change;
	return biggest_change_first(a, b);
}

static void add_row(struct gt_diff_rows *rows, const struct gt_leak *before,
		    const struct gt_leak *now)
{
	enum gt_diff_change change = change_of(before, now);

	rows->list[rows->count++] = (struct gt_diff_row){ change, before, now };
	rows->counts[change]++;
}

static void pair_up(struct gt_diff_rows *rows, const struct gt_leaks *before,
		    const struct gt_leaks *now, int (*order)(const void *, const void *))
{
	rows->list = gt_alloc((before->count + now->count) * sizeof *rows->list);
	for (size_t i = 0; i < now->count; i++)
		add_row(rows, gt_leaks_find(before, now->list[i].key), &now->list[i]);
	for (size_t i = 0; i < before->count; i++)
		if (!gt_leaks_find(now, before->list[i].key))
			add_row(rows, &before->list[i], NULL);
	qsort(rows->list, rows->count, sizeof *rows->list, order);
}

static void add_rise(struct gt_diff *d, enum gt_diff_rise_change change,
		     const struct gt_growing *one)
{
	d->rises[d->rise_count++] = (struct gt_diff_rise){ change, one->rise };
	d->rise_counts[change]++;
}

static void pair_rises(struct gt_diff *d)
{
	const struct gt_growing_sites *old = &d->grew_before, *new = &d->grows_now;

	d->rises = gt_alloc((old->count + new->count) * sizeof *d->rises);
	for (int change = GT_DIFF_RISE_NEW; change <= GT_DIFF_RISE_SAME; change++)
		for (size_t i = 0; i < new->count; i++)
			if (new->list[i].is_known == (change == GT_DIFF_RISE_SAME))
				add_rise(d, (enum gt_diff_rise_change)change, &new->list[i]);
	for (size_t i = 0; i < old->count; i++)
		if (!gt_growing_has(new, old->list[i].key))
			add_rise(d, GT_DIFF_RISE_FIXED, &old->list[i]);
}

struct gt_diff *gt_diff_new(const struct gt_view *old_view, const struct gt_view *new_view,
			    const struct gt_growth_limit *growth)
{
	struct gt_diff *d = gt_alloc(sizeof *d);
	enum gt_by by = gt_frames_by(new_view->frames);

	d->old_view = old_view;
	d->new_view = new_view;
	gt_leaks_init(&d->leaked_before, old_view, by);
	gt_leaks_init(&d->leaked_now, new_view, by);
	holds_init(&d->held_before, old_view, by);
	holds_init(&d->held_now, new_view, by);
	pair_up(&d->leaks, &d->leaked_before, &d->leaked_now, by_change);
	pair_up(&d->holds, &d->held_before, &d->held_now, biggest_change_first);
	gt_growing_init(&d->grew_before, old_view, by);
	gt_growing_init(&d->grows_now, new_view, by);
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

enum gt_worse gt_diff_row_worse(const struct gt_diff_row *row)
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
		if (gt_diff_row_worse(&d->leaks.list[i]) > worst)
			worst = gt_diff_row_worse(&d->leaks.list[i]);
	return worst;
}

char *gt_diff_growth(const struct gt_diff *d)
{
	return gt_growing_failure(&d->grows_now, d->new_view);
}
