/* SPDX-License-Identifier: MIT */
/* rows.c - the call sites of one API, kind and place as one row of a page. */
#include "page/rows.h"

#include <stdlib.h>

#include "base/containers.h"
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

void gt_page_rows_init(struct gt_page_rows *rows, const struct gt_ledger *l, struct gt_frames *f,
		       const struct gt_site_fates *fates)
{
	uint64_t *biggest = gt_alloc((l->site_count + 1) * sizeof *biggest);
	struct gt_map known = { 0 }; /* of keys: the row, + 1 */

	*rows = (struct gt_page_rows){
		.sums = gt_alloc((l->site_count + 1) * sizeof *rows->sums),
		.fates = gt_alloc((l->site_count + 1) * sizeof *rows->fates),
		.row_of = gt_alloc((l->site_count + 1) * sizeof *rows->row_of),
	};
	for (size_t i = 0; i < l->site_count; i++) {
		uintptr_t *row = (uintptr_t *)gt_map_at(&known, gt_page_row_key(f, &l->sites[i]));

		if (*row) {
			gt_place_add_site(&rows->sums[*row - 1], &l->sites[i], &biggest[*row - 1]);
		} else {
			rows->sums[rows->count] = l->sites[i];
			biggest[rows->count] = l->sites[i].bytes_total;
			*row = ++rows->count;
		}
		rows->row_of[i] = (uint32_t)(*row - 1);
		if (fates)
			add_fates(&rows->fates[*row - 1], &fates[i]);
	}
	gt_map_fini(&known);
	free(biggest);
	list_sites(rows, l);
}

void gt_page_rows_fini(struct gt_page_rows *rows)
{
	free(rows->sums);
	free(rows->fates);
	free(rows->row_of);
	free(rows->sites);
	free(rows->first_of);
}
