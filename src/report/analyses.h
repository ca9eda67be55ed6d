/* SPDX-License-Identifier: MIT */
/*
 * analyses.h - the analyses of `gputrack report`: what each needs, and who writes it in which form.
 *
 * gt_analysis_replay reads the recording into what an analysis needs, gt_analysis_write writes it,
 * gt_analysis_fini frees what was read. Between the first two the caller may have the recording
 * judged: the forms for continuous integration are made from v->verdict.
 */
#pragma once

#include "judge/merged.h"

/* Traits of a row of analyses.def. */
enum gt_analysis_trait {
	GT_NEEDS_SAMPLES = 1 << 0,     /* v->ledger holds the sampled metrics */
	GT_NEEDS_GROWTH = 1 << 1,      /* v->ledger follows growth */
	GT_TEXT_NEEDS_GROWTH = 1 << 2, /* … for text alone: following it takes time and memory */
	GT_NEEDS_PEAK = 1 << 3,        /* v->at_peak, from a second replay */
	GT_NEEDS_TIMELINE = 1 << 4,    /* v->timeline */
	GT_TSV_REPLAYS = 1 << 5,  /* TSV is written by a replay of its own: v->ledger is NULL */
	GT_LISTS_LEAKS = 1 << 6,  /* can be judged, and has the forms of GT_FORM_JUNIT on */
	GT_TAKES_SORT = 1 << 7,   /* heeds v->sort */
	GT_LISTS_PLACES = 1 << 8, /* heeds --by */
	GT_TAKES_MOMENT = 1 << 9, /* heeds v->at */
	GT_TAKES_RANGE = 1 << 10, /* heeds v->from_ns and v->to_ns */
};

enum gt_form {
	GT_FORM_TEXT,
	GT_FORM_JSON,
	GT_FORM_TSV,
	/* for continuous integration: made from a verdict, by analyses that list leaks */
	GT_FORM_JUNIT,
	GT_FORM_SARIF,
	GT_FORM_GITHUB,
	GT_FORM_GITLAB,
	GT_FORM_VALGRIND,
	GT_FORM_COUNT
};

struct gt_analysis {
	const char *name;
	unsigned traits;
	gt_view_fn *text, *json, *tsv;
};

#define ANALYSIS(name, traits, help) +1
enum {
	GT_ANALYSIS_COUNT =
#include "report/analyses.def"
};
#undef ANALYSIS

#define ANALYSIS(name, traits, help) gt_view_fn gt_##name##_text, gt_##name##_json, gt_##name##_tsv;
#include "report/analyses.def"
#undef ANALYSIS

extern const struct gt_analysis gt_analyses[GT_ANALYSIS_COUNT];

/* "-a summary or leakage": the analyses with this trait, as the user asks for them. */
const char *gt_analyses_with(char out[128], enum gt_analysis_trait trait);

/* Replayed for one analysis; what it does not need is NULL. */
struct gt_replayed {
	struct gt_ledger *ledger, *at_peak;
	struct gt_timeline *timeline;
};

/* Points the view at what it has read. */
void gt_analysis_replay(struct gt_replayed *replayed, const struct gt_analysis *a,
			enum gt_form form, struct gt_view *v);
void gt_analysis_write(const struct gt_analysis *a, enum gt_form form, const struct gt_view *v,
		       FILE *out);
/* One of the forms for continuous integration, of any number of recordings. */
void gt_analysis_write_ci(enum gt_form form, const struct gt_views *views, FILE *out);
void gt_analysis_fini(struct gt_replayed *replayed);
