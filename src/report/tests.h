/* SPDX-License-Identifier: MIT */
/* tests.h - several recordings in one report: their tests, and each leak once. */
#pragma once

#include "judge/merged.h"
#include "judge/verdict.h"

/* The recordings of one test. */
struct gt_test {
	char *name;
	size_t first, runs;      /* within the views */
	size_t failing;          /* runs that do not pass; those that tracked nothing do */
	enum gt_outcome outcome; /* of the worst run */
	uint64_t count, bytes;   /* the most that a run leaked, of what counts */
	uint64_t peak_bytes;     /* the highest of the runs */
};

struct gt_tests {
	struct gt_test *list;
	size_t count, failing;
	enum gt_outcome outcome; /* untracked only if no recording tracked anything */
};

/* The views must be in the order of their tests' names, and judged. */
void gt_tests_init(struct gt_tests *tests, const struct gt_views *views);
void gt_tests_fini(struct gt_tests *tests);

/* A table of tests, then each leak with the tests that have it. `whole`: with whole stacks. */
void gt_tests_text(const struct gt_tests *tests, const struct gt_views *views, bool whole,
		   FILE *out);
void gt_tests_json(const struct gt_tests *tests, const struct gt_views *views, FILE *out);
/* The same for the page: it can stand in a script element, and has at most so many leaks. */
void gt_tests_page_json(const struct gt_tests *tests, const struct gt_views *views, size_t most,
			FILE *out);
/* The outcome as a line, the tests that fail, and what was suppressed. */
void gt_tests_verdict(const struct gt_tests *tests, const struct gt_views *views,
		      struct gt_printer *p);
