/* SPDX-License-Identifier: MIT */
/*
 * growing.h - growing call sites, judged: which of them --fail-on-growth lets fail.
 *
 * A site that grew in the baseline, that is suppressed, or that libraries hold, does not count.
 */
#pragma once

#include "base/mem.h"
#include "ledger/growing_sites.h"
#include "replay/suppressions.h"
#include "replay/view.h"

/* How fast call sites may grow. Negative: sites of that unit are not judged. */
struct gt_growth_limit {
	const char *text; /* as it was given */
	double bytes_per_second, resources_per_second;
};

/*
 * RATE is "any", or one or two rates separated by a comma: "1MB/h" limits memory, "10/min" all
 * other resources; either alone leaves the other unlimited. 0, or -EINVAL and a sentence.
 */
int gt_growth_limit_parse(struct gt_growth_limit *limit, const char *text, struct gt_error *error);

struct gt_growing {
	const struct gt_rise *rise;
	const struct gt_site *site;
	uint64_t key;                            /* its words: site_key.h */
	const struct gt_suppression *suppressed; /* by this; NULL: not suppressed */
	bool is_known;                           /* grows in the baseline, too */
	bool fails;
};

struct gt_growing_sites {
	struct gt_growing *list; /* in the order of the rises */
	size_t count, failing;
	struct gt_rise *rises;
};

/* The growing sites of v->ledger; none if it did not follow growth. Without a limit none fails. */
void gt_growing_init(struct gt_growing_sites *g, const struct gt_view *v, enum gt_by by);
void gt_growing_fini(struct gt_growing_sites *g);
/* Adds sites to `g`, by their keys alone: it can then be asked for them, and finished. */
void gt_growing_add_keys(struct gt_growing_sites *g, const struct gt_growing_sites *more);
bool gt_growing_has(const struct gt_growing_sites *g, uint64_t key);

struct gt_growing_judge {
	const struct gt_growth_limit *limit;     /* NULL: none fails */
	struct gt_suppressions *suppressions;    /* NULL: none */
	const struct gt_growing_sites *baseline; /* NULL: none */
};
void gt_growing_judge(struct gt_growing_sites *g, const struct gt_view *v,
		      const struct gt_growing_judge *judge);

/* "+1.20 MiB/s since 3.2 s, never freed, load  src/load.c:12"; the caller frees it. */
char *gt_growing_text(const struct gt_view *v, const struct gt_growing *one);
/* "keeps growing: " and the text; the caller frees it. */
char *gt_growing_title(const struct gt_view *v, const struct gt_growing *one);
/* Why it does not count: "suppressed by …", "already grows in OLD.gt"; NULL. The caller frees it.
 */
char *gt_growing_excuse(const struct gt_growing *one, const char *baseline_path);
/* The text of the fastest that fails, "and 2 more call sites"; NULL: none. The caller frees it. */
char *gt_growing_failure(const struct gt_growing_sites *g, const struct gt_view *v);
