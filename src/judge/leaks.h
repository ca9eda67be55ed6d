/* SPDX-License-Identifier: MIT */
/* leaks.h - leaks by call sites that another recording can recognise, their names and words. */
#pragma once

#include "judge/site_key.h"
#include "ledger/groups.h"
#include "replay/ending.h"
#include "replay/suppressions.h"

struct gt_leak {
	uint64_t key; /* its words: site_key.h */
	uint8_t api, kind;
	uint16_t function;
	uint32_t stack; /* of the biggest of the ledger's sites in it */
	uint64_t count, bytes;
	enum gt_fate fate;                       /* the most certain of theirs */
	uint64_t unsure_count, unsure_bytes;     /* of these, not certain to have leaked */
	uint64_t old_count, old_bytes;           /* in the baseline */
	const struct gt_suppression *suppressed; /* by this; NULL: not suppressed */
};

/* The part of a leak that counts. */
struct gt_leak_part {
	uint64_t count, bytes;
};
/* Beyond the baseline, if it is not suppressed. */
struct gt_leak_part gt_leak_new(const struct gt_leak *leak);
/* Of that, what is certain to have leaked. */
struct gt_leak_part gt_leak_sure(const struct gt_leak *leak);

struct gt_leaks {
	struct gt_leak *list; /* most bytes first, then most resources */
	size_t count;
	struct gt_leak **by_key; /* in the order of the numbers */
	uint32_t *of_site;       /* by the ledger's site: its leak + 1 */
};

/* Everything alive at the end of v->ledger, by sites of this kind. Needs v->frames. */
void gt_leaks_init(struct gt_leaks *leaks, const struct gt_view *v, enum gt_by by);
void gt_leaks_fini(struct gt_leaks *leaks);

/* NULL when no leak has this key. */
struct gt_leak *gt_leaks_find(const struct gt_leaks *leaks, uint64_t key);

/* Leaks that a suppression matches no longer count; the suppression counts them instead. */
void gt_leaks_suppress(struct gt_leaks *leaks, const struct gt_view *v,
		       struct gt_suppressions *suppressions);
/* Leaks that `old` has too no longer count. */
void gt_leaks_subtract(struct gt_leaks *leaks, const struct gt_leaks *old);

/* Removes the groups that do not count and leaves the others unchanged; NULL removes none. */
void gt_leaks_filter(const struct gt_leaks *leaks, const struct gt_ledger *l,
		     struct gt_groups *groups);

/* gt_places_list for all of them: the words below are then those of one list. */
void gt_leaks_list_places(const struct gt_leaks *leaks, const struct gt_view *v);
/*
 * "20 events leaked by clEnqueueTask (OpenCL) at step src/loop.c:12", and the bytes if any; the
 * caller frees it.
 */
char *gt_leak_title(const struct gt_view *v, const struct gt_leak *leak);
/* The title, how much the baseline had, and the stack, one frame a line. The caller frees it. */
char *gt_leak_text(const struct gt_view *v, const struct gt_leak *leak);
/* Why it does not count: "suppressed by FILE:LINE leak:…", "already in OLD.gt"; NULL: it counts. */
char *gt_leak_excuse(const struct gt_view *v, const struct gt_leak *leak);

/* All leaks, for continuous integration; these need v->verdict. */
gt_view_fn gt_leaks_junit, gt_leaks_sarif, gt_leaks_github;

/* gt_place_frame for the place that held most at the peak; false: none. */
bool gt_peak_frame(const struct gt_view *v, struct gt_frame *frame);
/* A frame's file, relative to the current folder or else to a root; the caller frees it. */
char *gt_frame_file(const struct gt_view *v, const struct gt_frame *frame);
/* A name for the site: its place's function, else its module, else the API's. The caller frees it.
 */
char *gt_leak_name(const struct gt_view *v, const struct gt_leak *leak);
/*
 * A name for each leak, in the order of the list, that is unique within its API and kind: the
 * function, as many callers as it takes, and a number if callers do not suffice. The same leaks
 * have the same names in every recording. The caller frees each name and the list.
 */
char **gt_leak_names(const struct gt_view *v, const struct gt_leaks *leaks);
