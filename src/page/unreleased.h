/* SPDX-License-Identifier: MIT */
/* unreleased.h - what was not released, as a page shows it: by fate, and by call site. */
#pragma once

#include "page/encode.h"
#include "page/rows.h"
#include "replay/ending.h"

/* "fates", "leaked…", "unreleased…", "held_line", "no_leaks" and "is_certain": sums, in the words
 * of reports.
 */
void gt_page_fates_json(struct gt_json *j, const struct gt_view *v,
			const struct gt_page_rows *rows);

/* The rows that are in the page. */
struct gt_page_sites {
	const struct gt_page_rows *rows;
	const bool *marks;       /* by row: it is in the page */
	const uint32_t *numbers; /* by row: the page's number */
};

/* "leaks", with an element for each row and fate, and "held", what libraries hold. */
void gt_page_leaks_json(struct gt_json *j, const struct gt_view *v, struct gt_page_names *names,
			const struct gt_page_sites *sites);
