/* SPDX-License-Identifier: MIT */
/* verdict.h - whether too much leaked or was used, by limits, suppressions and a baseline. */
#pragma once

#include "base/json.h"
#include "judge/leaks.h"
#include "judge/limits.h"

enum gt_outcome {
	GT_OUTCOME_PASSED,
	GT_OUTCOME_LEAKED,    /* a limit was exceeded */
	GT_OUTCOME_UNTRACKED, /* nothing was seen at all: no pass */
	GT_OUTCOME_UNSURE,    /* events are missing, so nobody can tell */
	GT_OUTCOME_PEAK,      /* no leak is too much, but the peak was too high */
};

struct gt_sum {
	uint64_t count, bytes;
	bool exceeded;
};

struct gt_verdict_options {
	const struct gt_limits *limits;       /* at least one */
	struct gt_suppressions *suppressions; /* NULL: none; gets counts */
	const struct gt_leaks *baseline;      /* NULL: none */
	const char *baseline_path;
	uint64_t max_peak;      /* of device memory; 0: no limit */
	bool baseline_has_gaps; /* it may have called leaks what were none */
	bool fails_on_leak;     /* by the limits; otherwise they fail nobody */
	bool peak_alone;        /* nobody asked about leaks */
};

struct gt_verdict {
	struct gt_verdict_options options;
	struct gt_leaks leaks;
	enum gt_outcome outcome;
	uint64_t peak_bytes;
	bool over_peak;                         /* higher than options.max_peak */
	struct gt_sum *sums;                    /* by limit: what counts */
	struct gt_sum *left;                    /* by limit: what ended programs left of it */
	struct gt_sum fresh, known, suppressed; /* what counts, is in the baseline, is hidden */
	bool goes_on;                           /* a limit is exceeded by what may be in use */
	bool all_goes_on;                       /* … and nothing else counts */
	bool residue_unknown;                   /* a limit of it, and nobody measured it */
};

/* Of a whole recording; `options` must stay. */
void gt_verdict_init(struct gt_verdict *verdict, const struct gt_view *v,
		     const struct gt_verdict_options *options);
void gt_verdict_fini(struct gt_verdict *verdict);

/* What leaked, without what the user knows of where v->verdict says so. */
void gt_verdict_groups(struct gt_groups *groups, const struct gt_view *v);

/* "46 of them new, 5 in OLD.gt already": a line, where not all of the groups' resources count. */
void gt_verdict_known(struct gt_printer *p, const struct gt_view *v,
		      const struct gt_groups *groups);

/* Why nobody can tell, NULL where somebody can; the caller frees it, and those below. */
char *gt_verdict_doubt(const struct gt_verdict *verdict);
/* "6.25 MiB kept by the driver after destroys (resource tracker)", where that is too much. */
char *gt_verdict_residue(const struct gt_verdict *verdict);

/* True when the leak is of a kind whose limit was exceeded, and not by what may be in use. */
bool gt_verdict_fails(const struct gt_verdict *verdict, const struct gt_leak *leak);

/* "the peak of device memory, 2.50 GiB, is over --max-peak=1.00 GiB". */
char *gt_verdict_peak(char out[128], const struct gt_verdict *verdict);

/* A few lines: the outcome with what exceeded which limit, what was left out and why. */
void gt_verdict_text(const struct gt_verdict *verdict, struct gt_printer *p);
/* The same as an object "verdict". */
void gt_verdict_json(const struct gt_verdict *verdict, struct gt_json *j);
