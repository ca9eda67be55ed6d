/* SPDX-License-Identifier: MIT */
/* verdict.h - whether too much leaked or was used, by limits, suppressions and a baseline. */
#pragma once

#include "base/json.h"
#include "judge/growing.h"
#include "judge/leaks.h"
#include "judge/limits.h"

enum gt_outcome {
	GT_OUTCOME_PASSED,
	GT_OUTCOME_LEAKED,    /* a limit was exceeded */
	GT_OUTCOME_UNTRACKED, /* no event was recorded, which is no pass */
	GT_OUTCOME_UNSURE,    /* processes were killed or still run, or events are missing */
	GT_OUTCOME_PEAK,      /* no leak exceeds a limit, but the peak was too high */
	GT_OUTCOME_GROWING,   /* nor does a leak, but a call site grows too fast */
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
	const struct gt_growth_limit *growth;          /* NULL: growth is only reported */
	const struct gt_growing_sites *baseline_grows; /* NULL: no baseline */
	uint64_t max_peak;                             /* of device memory; 0: no limit */
	bool baseline_has_gaps;                        /* it may report false leaks */
	bool fails_on_leak; /* a limit that is exceeded fails; otherwise it is only reported */
	bool leaks_unasked; /* only the peak or growth was asked about */
};

struct gt_verdict {
	struct gt_verdict_options options;
	struct gt_leaks leaks;
	enum gt_outcome outcome;
	uint64_t peak_bytes;
	bool over_peak;                           /* higher than options.max_peak */
	struct gt_sum *sums;                      /* by limit: what counts */
	struct gt_sum *sure;                      /* by limit: of it, what certainly leaked */
	struct gt_sum counted, known, suppressed; /* counts, is in the baseline, is suppressed */
	bool exceeded_by_unsure; /* a limit is exceeded only with what may not have leaked */
	bool all_unsure;         /* nothing that counts is certain to have leaked */
	bool residue_unknown;    /* a limit names it, and it was not measured */
	char *doubt;             /* why the outcome is unknown; NULL: it is known */
	char *residue; /* "the driver kept 6.25 MiB after …"; NULL: none over its limit */
	struct gt_growing_sites growing;
	char *growth; /* "+1.20 MiB/s since 3.2 s, never freed, …"; NULL: none that fails */
	char *peak;   /* "peak device memory, 2.50 GiB, exceeds --max-peak=1.00 GiB" */
};

/* Judges a whole recording. What `options` points at must outlive the verdict. */
void gt_verdict_init(struct gt_verdict *verdict, const struct gt_view *v,
		     const struct gt_verdict_options *options);
void gt_verdict_fini(struct gt_verdict *verdict);

/* What is alive at the end; with v->verdict, only what counts. */
void gt_verdict_all(struct gt_groups *groups, const struct gt_view *v);
/* The same by fate. The caller finishes all. */
void gt_verdict_groups(struct gt_groups by_fate[GT_FATE_COUNT], const struct gt_view *v);
void gt_verdict_groups_fini(struct gt_groups by_fate[GT_FATE_COUNT]);

/* That nothing is left of it, as a line; as far as that can be told. */
void gt_verdict_no_leaks(struct gt_printer *p, const struct gt_view *v);
/* "46 of them new, 5 already in OLD.gt": a line, if not all of the groups' resources count. */
void gt_verdict_known(struct gt_printer *p, const struct gt_view *v,
		      const struct gt_groups by_fate[GT_FATE_COUNT]);

/* True when its kind exceeds a limit, and not only by what may not have leaked. */
bool gt_verdict_fails(const struct gt_verdict *verdict, const struct gt_leak *leak);

/* The outcome alone: a line for each limit that was exceeded, or one for the whole. */
void gt_verdict_outcome(const struct gt_verdict *verdict, struct gt_printer *p);
/* A few lines: the outcome, what exceeded which limit, what was not counted and why. */
void gt_verdict_text(const struct gt_verdict *verdict, struct gt_printer *p);
/* What was suppressed, and suppressions that match nothing: a line each. */
void gt_verdict_suppressions(const struct gt_verdict *verdict, struct gt_printer *p);
/* "passed", "leaked", …: as in JSON. */
const char *gt_outcome_name(enum gt_outcome outcome);
/* The same as an object "verdict". */
void gt_verdict_json(const struct gt_verdict *verdict, struct gt_json *j);
