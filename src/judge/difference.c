/* SPDX-License-Identifier: MIT */
/* difference.c - two recordings compared: what each leaked, held at its peak, and what grows. */
#include "judge/difference_rows.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "replay/group_text.h"
#include "replay/held.h"

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
		    const struct gt_leak *now, const struct gt_view *v)
{
	enum gt_diff_change change = change_of(before, now);

	rows->list[rows->count++] = (struct gt_diff_row){ change, before, now, v };
	rows->counts[change]++;
}

/* What one side has, and the recordings it is from. */
struct part {
	const struct gt_merged *merged;
	const struct gt_views *views;
};

static void pair_up(struct gt_diff_rows *rows, const struct part *old, const struct part *new,
		    int (*order)(const void *, const void *))
{
	const struct gt_leaks *before = &old->merged->leaks, *now = &new->merged->leaks;
	size_t gone = 0;

	for (size_t i = 0; i < before->count; i++)
		gone += !gt_leaks_find(now, before->list[i].key);
	rows->list = gt_alloc((gone + now->count) * sizeof *rows->list);
	for (size_t i = 0; i < now->count; i++)
		add_row(rows, gt_leaks_find(before, now->list[i].key), &now->list[i],
			new->views->list[new->merged->from[i]]);
	for (size_t i = 0; i < before->count; i++)
		if (!gt_leaks_find(now, before->list[i].key))
			add_row(rows, &before->list[i], NULL,
				old->views->list[old->merged->from[i]]);
	qsort(rows->list, rows->count, sizeof *rows->list, order);
}

static void add_rise(struct gt_diff *d, enum gt_diff_rise_change change,
		     const struct gt_growing *one, const struct gt_view *v)
{
	d->rises[d->rise_count++] = (struct gt_diff_rise){ change, one->rise, v };
	d->rise_counts[change]++;
}

static bool grows_before(const struct gt_diff_side *side, size_t view, uint64_t key)
{
	for (size_t i = 0; i < view; i++)
		if (gt_growing_has(&side->growing[i], key))
			return true;
	return false;
}

/* Adds the rises of a side that make this change, each call site once. */
static void add_rises(struct gt_diff *d, const struct gt_diff_side *side,
		      enum gt_diff_rise_change change)
{
	for (size_t view = 0; view < side->views.count; view++)
		for (size_t i = 0; i < side->growing[view].count; i++) {
			const struct gt_growing *one = &side->growing[view].list[i];
			bool changes = change == GT_DIFF_RISE_FIXED ?
					       !gt_growing_has(&d->new.grows, one->key) :
					       one->is_known == (change == GT_DIFF_RISE_SAME);

			if (changes && !grows_before(side, view, one->key))
				add_rise(d, change, one, side->views.list[view]);
		}
}

static void pair_rises(struct gt_diff *d)
{
	d->rises = gt_alloc((d->old.grows.count + d->new.grows.count) * sizeof *d->rises);
	add_rises(d, &d->new, GT_DIFF_RISE_NEW);
	add_rises(d, &d->new, GT_DIFF_RISE_SAME);
	add_rises(d, &d->old, GT_DIFF_RISE_FIXED);
}

struct gt_diff *gt_diff_new(void)
{
	return gt_alloc(sizeof(struct gt_diff));
}

static struct gt_diff_side *side_of(struct gt_diff *d, enum gt_diff_which which)
{
	return which == GT_DIFF_OF_OLD ? &d->old : &d->new;
}

/* The lists that `init` makes of the views, as one. */
static void merge(struct gt_merged *merged, const struct gt_views *views,
		  void (*init)(struct gt_leaks *, const struct gt_view *, enum gt_by))
{
	struct gt_leaks *leaks = gt_alloc(views->count * sizeof *leaks);
	const struct gt_leaks **lists = gt_alloc(views->count * sizeof *lists);

	for (size_t i = 0; i < views->count; i++) {
		init(&leaks[i], views->list[i], gt_frames_by(views->list[i]->frames));
		lists[i] = &leaks[i];
	}
	gt_merged_init_lists(merged, lists, views->count);
	if (merged->is_borrowed) {
		gt_leaks_forget_sites(&merged->leaks);
		merged->is_borrowed = false;
	} else {
		for (size_t i = 0; i < views->count; i++)
			gt_leaks_fini(&leaks[i]);
	}
	free(leaks);
	free(lists);
}

void gt_diff_take(struct gt_diff *d, enum gt_diff_which which, const char *name,
		  const struct gt_views *views)
{
	struct gt_diff_side *side = side_of(d, which);

	side->name = name;
	side->view = views->list[0];
	side->views = *views;
	side->growing = gt_alloc(views->count * sizeof *side->growing);
	merge(&side->leaked, views, gt_leaks_init);
	merge(&side->held, views, gt_leaks_init_peak);
	for (size_t i = 0; i < views->count; i++) {
		const struct gt_view *v = views->list[i];
		struct gt_fate_sum sums[GT_FATE_COUNT];

		gt_growing_init(&side->growing[i], v, gt_frames_by(v->frames));
		gt_growing_add_keys(&side->grows, &side->growing[i]);
		gt_fate_sums(v, sums);
		for (int fate = 0; fate < GT_FATE_COUNT; fate++) {
			side->fates[fate].count += sums[fate].count;
			side->fates[fate].device_bytes += sums[fate].device_bytes;
			side->fates[fate].host_bytes += sums[fate].host_bytes;
		}
	}
	if (views->count == 1)
		side->held_line = gt_held_line(side->view->ledger);
}

bool gt_diff_is_of_tests(const struct gt_diff *d)
{
	return d->old.views.count > 1 || d->new.views.count > 1;
}

void gt_diff_forget(struct gt_diff *d, enum gt_diff_which which, struct gt_ledger *l)
{
	struct gt_diff_side *side = side_of(d, which);
	struct gt_growing_sites *g = side->growing;
	uint32_t *sites = gt_alloc(g->count * sizeof *sites);

	for (size_t i = 0; i < g->count; i++) {
		sites[i] = g->rises[i].site;
		g->rises[i].site = (uint32_t)i;
	}
	gt_ledger_keep_sites(l, sites, g->count);
	for (size_t i = 0; i < g->count; i++)
		g->list[i].site = &l->sites[i];
	free(sites);
}

void gt_diff_compare(struct gt_diff *d, const struct gt_growth_limit *growth)
{
	pair_up(&d->leaks, &(struct part){ &d->old.leaked, &d->old.views },
		&(struct part){ &d->new.leaked, &d->new.views }, by_change);
	pair_up(&d->holds, &(struct part){ &d->old.held, &d->old.views },
		&(struct part){ &d->new.held, &d->new.views }, biggest_change_first);
	for (size_t i = 0; i < d->new.views.count; i++)
		gt_growing_judge(
			&d->new.growing[i], d->new.views.list[i],
			&(struct gt_growing_judge){ .limit = growth, .baseline = &d->old.grows });
	pair_rises(d);
}

static void side_fini(struct gt_diff_side *side)
{
	gt_merged_fini(&side->leaked);
	gt_merged_fini(&side->held);
	for (size_t i = 0; i < side->views.count; i++)
		gt_growing_fini(&side->growing[i]);
	free(side->growing);
	gt_growing_fini(&side->grows);
	free(side->held_line);
}

void gt_diff_free(struct gt_diff *d)
{
	side_fini(&d->old);
	side_fini(&d->new);
	free(d->leaks.list);
	free(d->holds.list);
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
	char *text = NULL, *test, *named;
	size_t i = 0;

	while (i < d->new.views.count && !d->new.growing[i].failing)
		i++;
	if (i < d->new.views.count)
		text = gt_growing_failure(&d->new.growing[i], d->new.views.list[i]);
	if (!text || d->new.views.count == 1)
		return text;
	test = gt_test_name(gt_recording_path(d->new.views.list[i]->recording));
	if (asprintf(&named, "%s: %s", test, text) < 0)
		named = gt_strdup(text);
	free(test);
	free(text);
	return named;
}
