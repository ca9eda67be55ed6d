/* SPDX-License-Identifier: MIT */
/*
 * leaks.h - what leaked, by call sites that can be told again in another recording.
 *
 * The ledger's sites are stacks of addresses. Here a site is its words: API, kind, the API's
 * function, and of each frame its function and the name of its file without folder and line. So a
 * line that moved, another folder or another machine make no new site; two calls of one function
 * within one other function are one. A frame without names is its module's name and offset.
 */
#pragma once

#include "ledger/groups.h"
#include "judge/suppressions.h"
#include "replay/view.h"

struct gt_leak {
	char *key; /* the words; equal for the same site */
	uint8_t api, kind;
	uint16_t function;
	uint32_t stack; /* of the biggest of the ledger's sites in it */
	uint64_t count, bytes;
	uint64_t held_count, held_bytes; /* of these what programs hold that go on */
	uint64_t old_count, old_bytes;   /* what the baseline had of it */
	uint64_t new_count, new_bytes;   /* what counts: beyond the baseline, not suppressed */
	uint64_t left_count, left_bytes; /* … of what programs left that have ended */
	const struct gt_suppression *suppressed; /* NULL: by none */
};

struct gt_leaks {
	struct gt_leak *list; /* most bytes first, then most resources */
	size_t count;
	struct gt_leak **by_key;
	uint32_t *of_site; /* by the ledger's site: its leak + 1 */
};

/* A site's words; GT_FN_NONE: whatever function of the API it calls. The caller frees them. */
char *gt_site_key(const struct gt_view *v, const struct gt_site *site, uint16_t function);

/* All that is alive at the end of v->ledger. Needs v->frames. */
void gt_leaks_init(struct gt_leaks *leaks, const struct gt_view *v);
void gt_leaks_fini(struct gt_leaks *leaks);

/* NULL when there is none with these words. */
struct gt_leak *gt_leaks_find(const struct gt_leaks *leaks, const char *key);

/* Takes out what the suppressions fit, and counts it in them. */
void gt_leaks_suppress(struct gt_leaks *leaks, const struct gt_view *v,
		       struct gt_suppressions *suppressions);
/* Takes out what `old` had already. */
void gt_leaks_subtract(struct gt_leaks *leaks, const struct gt_leaks *old);

/* Leaves only groups that count, as whole as they were; NULL leaves all. */
void gt_leaks_filter(const struct gt_leaks *leaks, const struct gt_ledger *l,
		     struct gt_groups *groups);
