/* SPDX-License-Identifier: MIT */
/* sites.c - call sites as a table: what each holds, held at most and created. */
#include <inttypes.h>
#include <stdlib.h>

#include "base/format.h"
#include "base/mem.h"
#include "replay/group_text.h"
#include "replay/head.h"
#include "replay/stack.h"
#include "report/analyses.h"

enum { TOP_DEFAULT = 20, WIDE_PAGE = 110 };

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
	/* the ledger's order: by first creation */
	return x < y ? -1 : x > y;
}

static const struct gt_site **sorted(const struct gt_view *v)
{
	const struct gt_ledger *l = v->ledger;
	const struct gt_site **list = gt_alloc(l->site_count * sizeof(const struct gt_site *));
	enum gt_sort sort = v->sort;

	for (size_t i = 0; i < l->site_count; i++)
		list[i] = &l->sites[i];
	qsort_r(list, l->site_count, sizeof *list, compare, &sort);
	return list;
}

static size_t shown_of(const struct gt_view *v, size_t suits)
{
	uint64_t top = v->top ? v->top : suits;

	return top < v->ledger->site_count ? (size_t)top : v->ledger->site_count;
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
	gt_stack_where(p, v, site->stack, gt_print_left(p));
	gt_print_end(p);
}

void gt_sites_text(const struct gt_view *v, FILE *out)
{
	static const char *const orders[] = {
		[GT_SORT_LIVE] = "bytes alive at the end",
		[GT_SORT_TOTAL] = "total bytes created",
		[GT_SORT_COUNT] = "resources created",
	};
	const struct gt_site **list = sorted(v);
	size_t shown = shown_of(v, TOP_DEFAULT);
	struct gt_printer p;
	unsigned end = 0;

	gt_head_open(&p, out, v);
	gt_print_line(&p, GT_BOLD, "CALL SITES  %zu, by %s", v->ledger->site_count,
		      orders[v->sort]);
	if (shown) {
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
	for (size_t i = 0; i < shown; i++)
		put_row(&p, v, list[i]);
	if (shown < v->ledger->site_count)
		gt_print_wrap(&p, GT_DIM, 2, "and %zu more: --top N shows them",
			      v->ledger->site_count - shown);
	gt_head_modules(&p, v, 3);
	free(list);
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
	gt_stack_json(j, "stack", v->frames, site->stack);
	gt_json_end(j);
}

void gt_sites_json(const struct gt_view *v, FILE *out)
{
	const struct gt_site **list = sorted(v);
	struct gt_tally total = gt_ledger_total(v->ledger);
	size_t shown = shown_of(v, SIZE_MAX);
	struct gt_json j;

	gt_head_json(&j, out, v, "sites");
	gt_totals_json(&j, total.live, total.bytes_live);
	gt_json_array(&j, "groups");
	for (size_t i = 0; i < shown; i++)
		site_json(&j, v, list[i]);
	gt_json_end(&j);
	gt_foot_json(&j, v);
	free(list);
}

void gt_sites_tsv(const struct gt_view *v, FILE *out)
{
	const struct gt_site **list = sorted(v);
	size_t shown = shown_of(v, SIZE_MAX);

	for (int i = 0; i < COLUMN_COUNT; i++)
		fprintf(out, "%s\t", columns[i].name);
	fputs("api\tkind\tstack\n", out);
	for (size_t i = 0; i < shown; i++) {
		for (int k = 0; k < COLUMN_COUNT; k++)
			fprintf(out, "%" PRIu64 "\t", value_of(list[i], &columns[k]));
		fprintf(out, "%s\t%s\t", gt_api_keys[list[i]->api], gt_kinds[list[i]->kind].name);
		gt_stack_tsv(out, v->frames, list[i]->stack);
		putc('\n', out);
	}
	free(list);
}
