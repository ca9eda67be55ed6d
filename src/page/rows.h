/* SPDX-License-Identifier: MIT */
/* rows.h - the call sites of one API, kind and place (replay/place.h) as one row of a page. */
#pragma once

#include "ledger/ledger.h"
#include "replay/ending.h"
#include "replay/place.h"

struct gt_page_rows {
	const struct gt_ledger *ledger;
	const struct gt_site_fates *site_fates; /* by the ledger's site; NULL: of no interest */
	size_t count;
	uint32_t *row_of;   /* by the ledger's site */
	uint32_t *sites;    /* the ledger's sites, row by row, those of most bytes first */
	uint32_t *first_of; /* by row, and one more: where its sites begin in `sites` */
	/* of rows with several sites */
	uint32_t *sum_of;            /* by row: index in `sums`, + 1; 0: it has one site */
	struct gt_site *sums;        /* as of gt_place_sites */
	struct gt_site_fates *fates; /* likewise */
};

/* The same for sites that are in one row. */
uint64_t gt_page_row_key(struct gt_frames *f, const struct gt_site *site);

/* `fates` by site, which must stay; NULL: of no interest. */
void gt_page_rows_init(struct gt_page_rows *rows, const struct gt_ledger *l, struct gt_frames *f,
		       const struct gt_site_fates *fates);
void gt_page_rows_fini(struct gt_page_rows *rows);

/* A row as a site, and its fates. */
static inline const struct gt_site *gt_page_row(const struct gt_page_rows *rows, size_t row)
{
	return rows->sum_of[row] ? &rows->sums[rows->sum_of[row] - 1] :
				   &rows->ledger->sites[rows->sites[rows->first_of[row]]];
}

static inline const struct gt_site_fates *gt_page_row_fates(const struct gt_page_rows *rows,
							    size_t row)
{
	return rows->sum_of[row] ? &rows->fates[rows->sum_of[row] - 1] :
				   &rows->site_fates[rows->sites[rows->first_of[row]]];
}
