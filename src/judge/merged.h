/* SPDX-License-Identifier: MIT */
/*
 * merged.h - recordings that are judged together: each leak once, whatever the number of runs.
 *
 * Recordings of one test have one name: that of their folder, without ".gt".
 */
#pragma once

#include "judge/leaks.h"

/* In the order of their tests' names. */
struct gt_views {
	const struct gt_view *const *list;
	size_t count;
};

typedef void gt_views_fn(const struct gt_views *views, FILE *out);

/* Call sites of several recordings, each as in the recording where it counts most. */
struct gt_merged {
	struct gt_leaks leaks; /* each a copy; of a single list, that list itself */
	uint32_t *from;        /* by leak: its recording, whose view says it */
	bool is_borrowed;      /* the leaks belong to somebody else */
};

/* Of all verdicts. */
void gt_merged_init(struct gt_merged *m, const struct gt_views *views);
/* Of lists that have not been judged: the most of each site. */
void gt_merged_init_lists(struct gt_merged *m, const struct gt_leaks *const *lists, size_t count);
void gt_merged_fini(struct gt_merged *m);
/* gt_places_list, for the leaks of each recording that says some. */
void gt_merged_list_places(const struct gt_merged *m, const struct gt_views *views);

/* True if recordings before this one have a growing call site with this key. */
bool gt_views_grew_before(const struct gt_views *views, size_t view, uint64_t key);
/* Something wrong with a recording as a whole, not with a call site that others may have too. */
struct gt_whole {
	const char *rule; /* "peak", "residue"; "unknown": it cannot be told whether it leaked */
	const char *text, *test;
	const struct gt_frame *frame; /* NULL: no place in the source */
};
typedef void gt_whole_fn(void *context, const struct gt_view *v, const struct gt_whole *whole);
/* All of them; of several recordings, one that tracked nothing is skipped. */
void gt_views_wholes(const struct gt_views *views, size_t view, gt_whole_fn *fn, void *context);
/* The name of a recording's test; the caller frees it. */
char *gt_test_name(const char *path);
/* All leaks, for continuous integration; the views need their verdicts. */
gt_views_fn gt_leaks_junit, gt_leaks_sarif, gt_leaks_github, gt_leaks_gitlab, gt_leaks_valgrind;
