/* SPDX-License-Identifier: MIT */
/* rows.c - the call sites of one API, kind and place as one row of a page. */
#include "page/rows.h"

#include <stdlib.h>

#include "base/mem.h"

uint64_t gt_page_row_key(struct gt_frames *f, const struct gt_site *site)
{
	uint64_t key = gt_place_key(f, site->stack);

	/* without a stack a site is its function */
	key = (key ? key : site->function) * 0x9e3779b97f4a7c15u;
	return (key ^ key >> 32) + ((uint64_t)site->api << 8 | site->kind);
}

static void add_fates(struct gt_site_fates *sum, const struct gt_site_fates *one)
{
	for (int fate = 0; fate < GT_FATE_COUNT; fate++) {
		sum->count[fate] += one->count[fate];
		sum->bytes[fate] += one->bytes[fate];
	}
}

static int most_first(const void *a, const void *b, void *ledger)
{
	const struct gt_site *sites = ((const struct gt_ledger *)ledger)->sites;
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	if (sites[x].bytes_total != sites[y].bytes_total)
		return sites[x].bytes_total > sites[y].bytes_total ? -1 : 1;
	return x < y ? -1 : x > y;
}

/* Lists the sites of each row. */
static void list_sites(struct gt_page_rows *rows, const struct gt_ledger *l)
{
	uint32_t *next = gt_alloc((rows->count + 1) * sizeof *next);

	rows->sites = gt_alloc((l->site_count + 1) * sizeof *rows->sites);
	rows->first_of = gt_alloc((rows->count + 1) * sizeof *rows->first_of);
	for (size_t i = 0; i < l->site_count; i++)
		rows->first_of[rows->row_of[i] + 1]++;
	for (size_t row = 0; row < rows->count; row++) {
		rows->first_of[row + 1] += rows->first_of[row];
		next[row] = rows->first_of[row];
	}
	for (size_t i = 0; i < l->site_count; i++)
		rows->sites[next[rows->row_of[i]]++] = (uint32_t)i;
	free(next);
	for (size_t row = 0; row < rows->count; row++) {
		size_t count = rows->first_of[row + 1] - rows->first_of[row];

		if (count > 1)
			qsort_r(rows->sites + rows->first_of[row], count, sizeof *rows->sites,
				most_first, (void *)l);
	}
}

/* A site and the row that it belongs to. */
struct keyed {
	uint64_t key;
	uint32_t site;
};

static int by_key(const void *a, const void *b)
{
	const struct keyed *x = a, *y = b;

	if (x->key != y->key)
		return x->key < y->key ? -1 : 1;
	return (x->site > y->site) - (x->site < y->site);
}

/* Numbers the rows by their first sites. */
static void find_rows(struct gt_page_rows *rows, struct gt_frames *f)
{
	const struct gt_ledger *l = rows->ledger;
	struct keyed *list = gt_alloc((l->site_count + 1) * sizeof *list);

	rows->row_of = gt_alloc((l->site_count + 1) * sizeof *rows->row_of);
	for (size_t i = 0; i < l->site_count; i++)
		list[i] = (struct keyed){ gt_page_row_key(f, &l->sites[i]), (uint32_t)i };
	qsort(list, l->site_count, sizeof *list, by_key);
	/* at first, of each site the first of its row */
	for (size_t i = 0; i < l->site_count; i++)
		rows->row_of[list[i].site] = i && list[i].key == list[i - 1].key ?
						     rows->row_of[list[i - 1].site] :
						     list[i].site;
	free(list);
	for (size_t i = 0; i < l->site_count; i++)
		rows->row_of[i] = rows->row_of[i] == i ? (uint32_t)rows->count++ :
							 rows->row_of[rows->row_of[i]];
}

static void add_up(struct gt_page_rows *rows, size_t row, uint32_t sum)
{
	uint32_t first = rows->first_of[row], end = rows->first_of[row + 1], least = UINT32_MAX;
	uint64_t biggest;

	/* what a sum does not add is its first site's */
	for (uint32_t i = first; i < end; i++)
		least = rows->sites[i] < least ? rows->sites[i] : least;
	rows->sums[sum] = rows->ledger->sites[least];
	biggest = rows->sums[sum].bytes_total;
	for (uint32_t i = first; i < end; i++) {
		uint32_t site = rows->sites[i];

		if (site != least)
			gt_place_add_site(&rows->sums[sum], &rows->ledger->sites[site], &biggest);
		if (rows->site_fates)
			add_fates(&rows->fates[sum], &rows->site_fates[site]);
	}
	rows->sum_of[row] = sum + 1;
}

void gt_page_rows_init(struct gt_page_rows *rows, const struct gt_ledger *l, struct gt_frames *f,
		       const struct gt_site_fates *fates)
{
	uint32_t several = 0;

	*rows = (struct gt_page_rows){ .ledger = l, .site_fates = fates };
	find_rows(rows, f);
	list_sites(rows, l);
	for (size_t row = 0; row < rows->count; row++)
		several += rows->first_of[row + 1] - rows->first_of[row] > 1;
	rows->sum_of = gt_alloc((rows->count + 1) * sizeof *rows->sum_of);
	rows->sums = gt_alloc(several * sizeof *rows->sums);
	rows->fates = gt_alloc((fates ? several : 0) * sizeof *rows->fates);
	several = 0;
	for (size_t row = 0; row < rows->count; row++)
		if (rows->first_of[row + 1] - rows->first_of[row] > 1)
			add_up(rows, row, several++);
}

void gt_page_rows_fini(struct gt_page_rows *rows)
{
	free(rows->sums);
	free(rows->fates);
	free(rows->sum_of);
	free(rows->row_of);
	free(rows->sites);
	free(rows->first_of);
}
