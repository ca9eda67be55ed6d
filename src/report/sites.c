/* SPDX-License-Identifier: MIT */
/* sites.c - call sites as a table: what each holds, held at most and created. */
#include <inttypes.h>
#include <stdlib.h>

#include "base/format.h"
#include "base/text.h"
#include "replay/group_text.h"
#include "replay/head.h"
#include "replay/place.h"
#include "replay/stack.h"
#include "report/analyses.h"

enum {
	TOP_DEFAULT = 20,
	WIDE_PAGE = 110,
	LISTED = 1000, /* a place that is shown differs from so many, shown or not */
};

enum unit { UNIT_COUNT, UNIT_BYTES };

struct column {
	const char *title; /* text */
	const char *name;  /* machine forms */
	unsigned width;
	enum unit unit;
	size_t at; /* in struct gt_site */
};

static const struct column columns[] = {
	{ "live", "live", 9, UNIT_COUNT, offsetof(struct gt_site, live) },
	{ "bytes", "live_bytes", 11, UNIT_BYTES, offsetof(struct gt_site, bytes_live) },
	{ "peak", "peak_bytes", 11, UNIT_BYTES, offsetof(struct gt_site, bytes_peak) },
	{ "created", "created", 12, UNIT_COUNT, offsetof(struct gt_site, created) },
	{ "total", "total_bytes", 11, UNIT_BYTES, offsetof(struct gt_site, bytes_total) },
};

enum { COLUMN_COUNT = sizeof columns / sizeof *columns };

static uint64_t value_of(const struct gt_site *site, const struct column *c)
{
	return *(const uint64_t *)((const char *)site + c->at);
}

/* The first and second key of each order. */
static const size_t keys[][2] = {
	[GT_SORT_LIVE] = { offsetof(struct gt_site, bytes_live), offsetof(struct gt_site, live) },
	[GT_SORT_TOTAL] = { offsetof(struct gt_site, bytes_total),
			    offsetof(struct gt_site, created) },
	[GT_SORT_COUNT] = { offsetof(struct gt_site, created),
			    offsetof(struct gt_site, bytes_total) },
};

static int compare(const void *a, const void *b, void *sort)
{
	const struct gt_site *x = *(const struct gt_site *const *)a;
	const struct gt_site *y = *(const struct gt_site *const *)b;
	const size_t *key = keys[*(const enum gt_sort *)sort];

	for (int i = 0; i < 2; i++) {
		uint64_t p = *(const uint64_t *)((const char *)x + key[i]);
		uint64_t q = *(const uint64_t *)((const char *)y + key[i]);

		if (p != q)
			return p > q ? -1 : 1;
	}
	if (x->created != y->created)
		return x->created > y->created ? -1 : 1;
	if (x->first_ns != y->first_ns)
		return x->first_ns < y->first_ns ? -1 : 1;
	return (x->stack > y->stack) - (x->stack < y->stack);
}

/* The call sites in the order that was asked for. */
struct sites {
	struct gt_place_sites all;
	size_t shown;
};

/* `suits` are shown if nobody asked for a number. The caller finishes `all`. */
static struct sites sorted(const struct gt_view *v, size_t suits)
{
	struct sites s = { 0 };
	enum gt_sort sort = v->sort;
	uint64_t top = v->top ? v->top : suits;

	gt_place_sites_init(&s.all, v->ledger, v->frames, NULL);
	s.shown = top < s.all.count ? (size_t)top : s.all.count;
	qsort_r(s.all.list, s.all.count, sizeof *s.all.list, compare, &sort);
	gt_places_list_sites(v->frames, &s.all, s.shown < LISTED ? LISTED : s.shown);
	return s;
}

static void put_row(struct gt_printer *p, const struct gt_view *v, const struct gt_site *site)
{
	char text[GT_FORMAT_MAX];
	unsigned end = 0;

	for (int i = 0; i < COLUMN_COUNT; i++) {
		uint64_t value = value_of(site, &columns[i]);

		end += columns[i].width;
		if (columns[i].unit == UNIT_BYTES)
			gt_print_right(p, GT_PLAIN, value ? gt_format_bytes(text, value) : "-",
				       end);
		else
			gt_print_right(p, GT_PLAIN, gt_format_count(text, value), end);
	}
	gt_print_tab(p, end + 2);
	gt_print_put(p, GT_BOLD, "%s", gt_kinds[site->kind].name);
	if (p->style.width < WIDE_PAGE) {
		gt_print_end(p);
		gt_print_tab(p, 11);
	} else {
		gt_print_tab(p, end + 18);
	}
	gt_place_put(p, v, site->stack, gt_print_left(p));
	gt_print_end(p);
}

void gt_sites_text(const struct gt_view *v, FILE *out)
{
	static const char *const orders[] = {
		[GT_SORT_LIVE] = "bytes alive at the end",
		[GT_SORT_TOTAL] = "total bytes created",
		[GT_SORT_COUNT] = "resources created",
	};
	struct sites sites = sorted(v, TOP_DEFAULT);
	bool is_line = gt_frames_by(v->frames) == GT_BY_LINE;
	size_t places = gt_place_count_sites(v->frames, &sites.all);
	struct gt_printer p;
	unsigned end = 0;

	gt_head_open(&p, out, v);
	gt_print_line(&p, GT_BOLD, "CALL SITES  %zu%s%s, by %s", places, is_line ? "" : " ",
		      is_line ? "" : gt_place_noun(v->frames, places), orders[v->sort]);
	if (sites.shown) {
		for (int i = 0; i < COLUMN_COUNT; i++)
			gt_print_right(&p, GT_DIM, columns[i].title, end += columns[i].width);
		gt_print_tab(&p, end + 2);
		gt_print_put(&p, GT_DIM, "kind");
		if (p.style.width >= WIDE_PAGE) {
			gt_print_tab(&p, end + 18);
			gt_print_put(&p, GT_DIM, "where");
		}
		gt_print_end(&p);
	}
	for (size_t i = 0; i < sites.shown; i++)
		put_row(&p, v, sites.all.list[i]);
	if (sites.shown < sites.all.count)
		gt_print_wrap(&p, GT_DIM, 2, "and %zu more: --top N shows them",
			      sites.all.count - sites.shown);
	gt_head_modules(&p, v, 3);
	gt_place_sites_fini(&sites.all);
}

static void site_json(struct gt_json *j, const struct gt_view *v, const struct gt_site *site)
{
	gt_json_object(j, NULL);
	gt_kind_json(j, site->api, site->kind);
	gt_json_uint(j, "count", site->live);
	gt_json_uint(j, "bytes", site->bytes_live);
	gt_json_uint(j, "peak_bytes", site->bytes_peak);
	gt_json_uint(j, "created", site->created);
	gt_json_uint(j, "total_bytes", site->bytes_total);
	gt_json_int(j, "first_ns", gt_view_time(v, site->first_ns));
	gt_json_int(j, "last_ns", gt_view_time(v, site->last_ns));
	gt_place_and_stack_json(j, v->frames, site->stack);
	gt_json_end(j);
}

void gt_sites_json(const struct gt_view *v, FILE *out)
{
	struct sites sites = sorted(v, SIZE_MAX);
	struct gt_tally total = gt_ledger_total(v->ledger);
	struct gt_json j;

	gt_head_json(&j, out, v, "sites");
	gt_totals_json(&j, total.live, total.bytes_live);
	gt_json_array(&j, "groups");
	for (size_t i = 0; i < sites.shown; i++)
		site_json(&j, v, sites.all.list[i]);
	gt_json_end(&j);
	gt_foot_json(&j, v);
	gt_place_sites_fini(&sites.all);
}

void gt_sites_tsv(const struct gt_view *v, FILE *out)
{
	struct sites sites = sorted(v, SIZE_MAX);

	for (int i = 0; i < COLUMN_COUNT; i++)
		fprintf(out, "%s\t", columns[i].name);
	fputs("api\tkind\tstack\twhere\n", out);
	for (size_t i = 0; i < sites.shown; i++) {
		const struct gt_site *site = sites.all.list[i];

		for (int k = 0; k < COLUMN_COUNT; k++)
			fprintf(out, "%" PRIu64 "\t", value_of(site, &columns[k]));
		fprintf(out, "%s\t%s\t", gt_api_keys[site->api], gt_kinds[site->kind].name);
		gt_place_end_tsv(out, v->frames, site->stack);
	}
	gt_place_sites_fini(&sites.all);
}
