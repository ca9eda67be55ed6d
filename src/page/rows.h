/* SPDX-License-Identifier: MIT */
/* rows.h - the call sites of one API, kind and place (replay/place.h) as one row of a page. */
#pragma once

#include "ledger/ledger.h"
#include "replay/ending.h"
#include "replay/place.h"

struct gt_page_rows {
	struct gt_site *sums;        /* by row, as of gt_place_sites */
	struct gt_site_fates *fates; /* by row */
	size_t count;
	uint32_t *row_of;   /* by the ledger's site */
	uint32_t *sites;    /* the ledger's sites, row by row, those of most bytes first */
	uint32_t *first_of; /* by row, and one more: where its sites begin in `sites` */
};

/* The same for sites that are in one row. */
uint64_t gt_page_row_key(struct gt_frames *f, const struct gt_site *site);

/* `fates` by site; NULL: of no interest. */
void gt_page_rows_init(struct gt_page_rows *rows, const struct gt_ledger *l, struct gt_frames *f,
		       const struct gt_site_fates *fates);
void gt_page_rows_fini(struct gt_page_rows *rows);
