/* SPDX-License-Identifier: MIT */
/* growth_text.c - the places that keep growing, and their words. */
#include "replay/growth_text.h"

#include <stdlib.h>
#include <string.h>

#include "base/format.h"
#include "base/mem.h"
#include "replay/place.h"

/* A rise and the place of its site. */
struct placed {
	uint64_t key;
	size_t index; /* in the list: the steepest first */
};

static int by_place(const void *a, const void *b)
{
	const struct placed *x = a, *y = b;

	if (x->key != y->key)
		return x->key < y->key ? -1 : 1;
	return x->index < y->index ? -1 : x->index > y->index;
}

static const struct gt_site *site_of(const struct gt_view *v, const struct gt_rise *r)
{
	return &v->ledger->sites[r->site];
}

static bool is_one_place(const struct gt_view *v, const struct gt_rise *a, const struct gt_rise *b)
{
	const struct gt_site *x = site_of(v, a), *y = site_of(v, b);

	return x->api == y->api && x->kind == y->kind && a->bytes == b->bytes;
}

/* The steepest gives the stack. */
static void add_rise(struct gt_rise *sum, const struct gt_rise *one)
{
	sum->per_second += one->per_second;
	sum->from += one->from;
	sum->to += one->to;
	sum->created += one->created;
	sum->live += one->live;
	sum->bytes_live += one->bytes_live;
	sum->given_back &= one->given_back;
	if (one->steadiness < sum->steadiness)
		sum->steadiness = one->steadiness;
	if (one->since_ns < sum->since_ns)
		sum->since_ns = one->since_ns;
	if (one->until_ns > sum->until_ns)
		sum->until_ns = one->until_ns;
	for (size_t i = 0; i < sum->floor_count && i < one->floor_count; i++)
		sum->floor[i] += one->floor[i];
}

/* Returns how many are left. */
static size_t merge(const struct gt_view *v, struct gt_rise *rises, size_t count)
{
	struct placed *list = gt_alloc(count * sizeof *list);
	struct gt_rise *merged = gt_alloc(count * sizeof *merged);
	size_t used = 0;

	for (size_t i = 0; i < count; i++)
		list[i] =
			(struct placed){ gt_place_key(v->frames, site_of(v, &rises[i])->stack), i };
	qsort(list, count, sizeof *list, by_place);
	for (size_t i = 0; i < count; i++) {
		const struct gt_rise *one = &rises[list[i].index];

		if (i && list[i].key && list[i].key == list[i - 1].key &&
		    is_one_place(v, &merged[used - 1], one))
			add_rise(&merged[used - 1], one);
		else
			merged[used++] = *one;
	}
	for (size_t i = 0; i < used; i++)
		rises[i] = merged[i];
	free(merged);
	free(list);
	return used;
}

struct gt_rise *gt_view_rises(const struct gt_view *v, size_t *count)
{
	struct gt_rise *rises;

	*count = 0;
	if (!v->ledger->growth)
		return NULL;
	rises = gt_growth_find(v->ledger->growth, v->ledger, count);
	*count = merge(v, rises, *count);
	if (*count)
		qsort(rises, *count, sizeof *rises, gt_rise_steepest_first);
	return rises;
}

void gt_view_rises_list(const struct gt_view *v, const struct gt_rise *rises, size_t count)
{
	uint32_t *stacks = gt_alloc(count * sizeof *stacks);

	for (size_t i = 0; i < count; i++)
		stacks[i] = site_of(v, &rises[i])->stack;
	gt_places_list(v->frames, stacks, count);
	free(stacks);
}

/* "+1.20 MiB/s", "+3.2/s", "+14/min", "+2/h": the unit of time in which it is a number to read. */
static const char *rate(char out[2 * GT_FORMAT_MAX], const struct gt_rise *r)
{
	static const struct {
		double seconds;
		const char *name;
	} units[] = { { 1, "s" }, { 60, "min" }, { 3600, "h" }, { 86400, "day" } };
	char text[GT_FORMAT_MAX];
	size_t i = 0;

	while (i + 1 < sizeof units / sizeof *units && r->per_second * units[i].seconds < 1)
		i++;
	if (r->bytes)
		gt_format_bytes(text, (uint64_t)(r->per_second * units[i].seconds + 0.5));
	else if (r->per_second * units[i].seconds < 100)
		snprintf(text, sizeof text, "%.1f", r->per_second * units[i].seconds);
	else
		gt_format_count(text, (uint64_t)(r->per_second * units[i].seconds + 0.5));
	snprintf(out, 2 * GT_FORMAT_MAX, "+%s/%s", text, units[i].name);
	return out;
}

/* "never freed", "61 % freed", "all freed at the end". */
static const char *freed(char out[GT_FORMAT_MAX], const struct gt_rise *r)
{
	uint64_t ended = r->created - r->live;

	if (r->given_back)
		return "freed only at the end";
	if (!ended)
		return "never freed";
	snprintf(out, GT_FORMAT_MAX, "%.0f %% freed", 100.0 * (double)ended / (double)r->created);
	return out;
}

void gt_growth_rate(struct gt_printer *p, const struct gt_view *v, const struct gt_rise *r)
{
	char speed[2 * GT_FORMAT_MAX], when[GT_FORMAT_MAX], part[GT_FORMAT_MAX];

	gt_print_put(p, GT_RED, "%s", rate(speed, r));
	gt_print_put(p, GT_PLAIN, " since %s, %s",
		     gt_format_span(when, gt_view_elapsed(v, r->since_ns)), freed(part, r));
}

bool gt_growth_line(struct gt_printer *p, const struct gt_view *v, const struct gt_rise *r)
{
	uint32_t stack = site_of(v, r)->stack;

	gt_growth_rate(p, v, r);
	/* what would be cut is said better on a line of its own */
	if (gt_place_columns(v->frames, stack, p->style.utf8) + strlen(", ") > gt_print_left(p))
		return false;
	gt_print_put(p, GT_PLAIN, ", ");
	gt_place_put(p, v, stack, gt_print_left(p));
	return true;
}
