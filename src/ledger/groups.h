/* SPDX-License-Identifier: MIT */
/* groups.h - the living resources of a ledger by call site, the biggest first. For the tool. */
#pragma once

#include "ledger/ledger.h"

/* The living resources of one site, in no order until gt_group_sort. */
struct gt_group {
	const struct gt_site *site;
	const struct gt_entry **objects; /* borrowed from the ledger */
	size_t count;
	uint64_t bytes;
};

struct gt_groups {
	struct gt_group *list; /* most bytes first, then most objects */
	size_t count;
	const struct gt_entry **objects; /* all of them, group by group */
	uint64_t object_count, bytes;
};

enum gt_groups_of {
	GT_GROUPS_LEAKS,   /* except those meant to last (GT_LASTING) and those libraries hold */
	GT_GROUPS_LASTING, /* only those meant to last */
	GT_GROUPS_HELD,    /* only those that libraries hold (gt_ledger_hold) */
	GT_GROUPS_DEVICE,  /* device memory of processes that have not ended: the parts of a peak */
};

/* True for a site whose living resources are GT_GROUPS_LEAKS. */
static inline bool gt_site_leaks(const struct gt_site *site)
{
	return !(gt_kinds[site->kind].habits & GT_LASTING) && !site->held;
}

/* Good until the ledger changes. */
void gt_groups_init(struct gt_groups *g, const struct gt_ledger *l, enum gt_groups_of which);
void gt_groups_fini(struct gt_groups *g);
/* Those resources of `all` that `selects` returns true for, with `context` and `which`. */
void gt_groups_select(struct gt_groups *g, const struct gt_groups *all,
		      bool (*selects)(const void *context, const struct gt_entry *entry, int which),
		      const void *context, int which);
/*
 * Merges the groups of one API and kind to which `key` gives the same number; the biggest gives
 * the site.
 */
void gt_groups_merge(struct gt_groups *g,
		     uint64_t (*key)(void *context, const struct gt_group *group), void *context);
/* Sorts a group's objects, oldest first. */
void gt_group_sort(const struct gt_group *g);
