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
	uint32_t stack;               /* of the biggest of the ledger's sites in it */
	uint32_t count, unsure_count; /* of these, so many are not certain to have leaked */
	uint64_t bytes, unsure_bytes;
	uint64_t old_bytes; /* in the baseline */
	uint32_t old_count;
	uint32_t fate : 4;        /* enum gt_fate: the most certain of theirs */
	uint32_t suppressed : 28; /* by this one of the suppressions, + 1; 0: by none */
};

_Static_assert(sizeof(struct gt_leak) == 56, "the price of a leak");

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
	uint32_t *by_key;  /* indices of the list, in the order of the keys */
	uint32_t *of_site; /* by the ledger's site: its leak + 1 */
};

/* Everything alive at the end of v->ledger, by sites of this kind. Needs v->frames. */
void gt_leaks_init(struct gt_leaks *leaks, const struct gt_view *v, enum gt_by by);
/* What each site held at the peak of device memory, as if it had leaked. */
void gt_leaks_init_peak(struct gt_leaks *leaks, const struct gt_view *v, enum gt_by by);
/* No groups of the ledger are asked for any more. */
void gt_leaks_forget_sites(struct gt_leaks *leaks);
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

/* gt_place_frame for the place that held most at the peak; false: none. */
bool gt_peak_frame(const struct gt_view *v, struct gt_frame *frame);
/*
 * A frame's file: relative to --root if that was given, else to the current folder, else to the
 * folder that was recorded in. The caller frees it.
 */
char *gt_frame_file(const struct gt_view *v, const struct gt_frame *frame);
/* A name for the site: its place's function, else its module, else the API's. The caller frees it.
 */
char *gt_leak_name(const struct gt_view *v, const struct gt_leak *leak);
/* How a name differs from gt_leak_name. */
struct gt_leak_distinction {
	uint32_t callers, number; /* number 0: none */
};
/*
 * For each leak, in the order of the list, what makes its name unique within its API and kind: as
 * many callers as it takes, and a number if callers do not suffice. The same leaks have the same
 * names in every recording. The caller frees the list.
 */
struct gt_leak_distinction *gt_leaks_distinguish(const struct gt_leaks *leaks,
						 const struct gt_view *v);
/* "load < step < main #2"; the caller frees it. */
char *gt_leak_full_name(const struct gt_view *v, const struct gt_leak *leak,
			const struct gt_leak_distinction *how);
