/* SPDX-License-Identifier: MIT */
/* verdict.c - whether too much leaked or was used, by limits, suppressions and a baseline. */
#include "judge/verdict.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/format.h"
#include "base/mem.h"
#include "base/tool.h"
#include "replay/head.h"
#include "replay/place.h"
#include "judge/residue.h"

static const char *const outcome_names[] = {
	[GT_OUTCOME_PASSED] = "passed",       [GT_OUTCOME_LEAKED] = "leaked",
	[GT_OUTCOME_UNTRACKED] = "untracked", [GT_OUTCOME_UNSURE] = "unsure",
	[GT_OUTCOME_PEAK] = "peak",           [GT_OUTCOME_GROWING] = "growing",
};

const char *gt_outcome_name(enum gt_outcome outcome)
{
	return outcome_names[outcome];
}

static void add(struct gt_sum *sum, uint64_t count, uint64_t bytes)
{
	sum->count += count;
	sum->bytes += bytes;
}

static bool is_of(const struct gt_limit *limit, const struct gt_leak *leak)
{
	return limit->what.has[leak->api][leak->kind];
}

static void compare_with_limit(const struct gt_limit *limit, struct gt_sum *sum)
{
	/* as many resources as before but bigger ones have leaked more, too */
	if (!limit->in_bytes && !limit->most)
		sum->exceeded = sum->count || sum->bytes;
	else
		sum->exceeded = (limit->in_bytes ? sum->bytes : sum->count) > limit->most;
}

static void add_up(struct gt_verdict *verdict)
{
	const struct gt_limits *limits = verdict->options.limits;

	for (size_t i = 0; i < verdict->leaks.count; i++) {
		const struct gt_leak *leak = &verdict->leaks.list[i];
		struct gt_leak_part new = gt_leak_new(leak), sure = gt_leak_sure(leak);

		add(&verdict->counted, new.count, new.bytes);
		if (leak->suppressed)
			add(&verdict->suppressed, leak->count, leak->bytes);
		else
			add(&verdict->known, leak->count - new.count, leak->bytes - new.bytes);
		verdict->all_unsure &= !sure.count && !sure.bytes;
		for (size_t k = 0; k < limits->count; k++)
			if (is_of(&limits->list[k], leak)) {
				add(&verdict->sums[k], new.count, new.bytes);
				add(&verdict->sure[k], sure.count, sure.bytes);
			}
	}
	for (size_t k = 0; k < limits->count; k++) {
		compare_with_limit(&limits->list[k], &verdict->sums[k]);
		compare_with_limit(&limits->list[k], &verdict->sure[k]);
		verdict->exceeded_by_unsure |=
			verdict->sums[k].exceeded && !verdict->sure[k].exceeded;
	}
}

/* Driver residue is not a leak of the program: it counts only for limits that name it. */
static void add_residue(struct gt_verdict *verdict, const struct gt_recording *recording)
{
	const struct gt_limits *limits = verdict->options.limits;
	struct gt_residue residue;

	gt_residue_find(&residue, recording);
	for (size_t k = 0; k < limits->count; k++) {
		if (!limits->list[k].of_residue)
			continue;
		verdict->sums[k].bytes = verdict->sure[k].bytes = residue.left.kb * 1024;
		verdict->residue_unknown |= !residue.measured;
	}
}

/* Leaks decide nothing when the only limits are those of the peak and of growth. */
static bool judges_leaks(const struct gt_verdict *verdict)
{
	const struct gt_verdict_options *options = &verdict->options;

	return options->fails_on_leak || !(options->max_peak || options->growth);
}

/* Applies the limits; PASSED also if the result is unknown. */
static enum gt_outcome judge(const struct gt_verdict *verdict, const struct gt_recording *recording)
{
	for (size_t i = 0; judges_leaks(verdict) && i < verdict->options.limits->count; i++)
		if (verdict->sure[i].exceeded)
			return GT_OUTCOME_LEAKED;
	/* a release that is missing looks like growth */
	if (verdict->growing.failing && !gt_head_has_gaps(recording))
		return GT_OUTCOME_GROWING;
	return verdict->over_peak ? GT_OUTCOME_PEAK : GT_OUTCOME_PASSED;
}

static bool relies_on_gaps(const struct gt_verdict *verdict)
{
	return verdict->options.baseline_has_gaps && (verdict->known.count || verdict->known.bytes);
}

static bool is_unsure(const struct gt_verdict *verdict, const struct gt_recording *recording)
{
	/* growth is judged while a process runs, not by its end */
	return gt_head_has_gaps(recording) ||
	       ((judges_leaks(verdict) || verdict->options.max_peak) &&
		gt_recording_goes_on(recording)) ||
	       (judges_leaks(verdict) && (verdict->residue_unknown || verdict->exceeded_by_unsure ||
					  relies_on_gaps(verdict)));
}

static void split_counted(struct gt_groups by_fate[GT_FATE_COUNT], const struct gt_view *v,
			  const struct gt_leaks *leaks)
{
	struct gt_groups groups;

	gt_groups_init(&groups, v->ledger, GT_GROUPS_LEAKS);
	gt_leaks_filter(leaks, v->ledger, &groups);
	gt_place_groups(&groups, v);
	gt_fate_split(v, &groups, by_fate);
}

void gt_verdict_all(struct gt_groups *groups, const struct gt_view *v)
{
	gt_groups_init(groups, v->ledger, GT_GROUPS_LEAKS);
	gt_leaks_filter(v->verdict ? &v->verdict->leaks : NULL, v->ledger, groups);
	gt_place_groups(groups, v);
}

void gt_verdict_groups(struct gt_groups by_fate[GT_FATE_COUNT], const struct gt_view *v)
{
	split_counted(by_fate, v, v->verdict ? &v->verdict->leaks : NULL);
}

void gt_verdict_groups_fini(struct gt_groups by_fate[GT_FATE_COUNT])
{
	for (int fate = 0; fate < GT_FATE_COUNT; fate++)
		gt_groups_fini(&by_fate[fate]);
}

void gt_verdict_no_leaks(struct gt_printer *p, const struct gt_view *v)
{
	const struct gt_ledger *l = v->ledger;
	/* nobody has to give back what lasts */
	uint64_t created = gt_ledger_total(l).created - l->lasting.count;
	char text[GT_FORMAT_MAX], *why;

	if (v->verdict && v->verdict->leaks.count) {
		gt_print_line(p, GT_GREEN, "No leaks other than known ones.");
	} else if (gt_head_has_gaps(v->recording)) {
		gt_print_line(p, GT_YELLOW,
			      "No leaks among the recorded events, but some events are missing.");
	} else if (gt_recording_goes_on(v->recording)) {
		why = gt_ending_of(v, NULL);
		gt_print_wrap(p, GT_YELLOW, 0, "No leaks so far, but %s.", why ? why : "");
		free(why);
	} else {
		gt_print_put(p, GT_GREEN, "No leaks: ");
		gt_print_line(p, GT_PLAIN,
			      l->held.count ? "the program left no resource behind." :
			      l->freed.count || l->lasting.count ? "no resource was left behind." :
			      created == 1 ? "the one resource created was released." :
					     "all %s resources created were released.",
			      gt_format_count(text, created));
	}
}

void gt_verdict_known(struct gt_printer *p, const struct gt_view *v,
		      const struct gt_groups by_fate[GT_FATE_COUNT])
{
	const struct gt_verdict *verdict = v->verdict;
	char fresh[GT_FORMAT_MAX], known[GT_FORMAT_MAX];
	uint64_t all = 0;

	for (int fate = 0; fate < GT_FATE_COUNT; fate++)
		all += by_fate[fate].object_count;
	if (!verdict || all <= verdict->counted.count)
		return;
	gt_print_wrap(p, GT_PLAIN, 2, "%s of them new, %s already in %s",
		      gt_format_count(fresh, verdict->counted.count),
		      gt_format_count(known, all - verdict->counted.count),
		      verdict->options.baseline_path);
}

bool gt_verdict_fails(const struct gt_verdict *verdict, const struct gt_leak *leak)
{
	struct gt_leak_part sure = gt_leak_sure(leak);
	const struct gt_limits *limits = verdict->options.limits;

	for (size_t i = 0; i < limits->count; i++)
		if (verdict->sure[i].exceeded && is_of(&limits->list[i], leak) &&
		    (sure.count || sure.bytes))
			return true;
	return false;
}

/* "3 resources, 1.00 MiB" */
static char *put_sum(char out[2 * GT_FORMAT_MAX], const struct gt_sum *sum)
{
	char count[GT_FORMAT_MAX], bytes[GT_FORMAT_MAX];

	snprintf(out, 2 * GT_FORMAT_MAX, sum->bytes ? "%s %s, %s" : "%s %s",
		 gt_format_count(count, sum->count), gt_plural(sum->count, "resource", "resources"),
		 gt_format_bytes(bytes, sum->bytes));
	return out;
}

/* The question that remains open. */
static const char *question(const struct gt_verdict *verdict)
{
	/* by whether leaks, growth and the peak were asked about */
	static const char *const questions[2][2][2] = {
		{ { "", "how high the peak was" },
		  { "whether anything grows", "whether anything grows or how high the peak was" } },
		{ { "whether anything leaked", "whether anything leaked or how high the peak was" },
		  { "whether anything leaked or grows",
		    "whether anything leaked or grows, or how high the peak was" } },
	};

	return questions[judges_leaks(verdict)][!!verdict->options.growth]
			[!!verdict->options.max_peak];
}

/* "so gputrack cannot tell whether anything leaked": which process, why, and what to do. */
static char *ending_doubt(const struct gt_verdict *verdict, const struct gt_view *v)
{
	struct gt_groups by_fate[GT_FATE_COUNT], *unsure = NULL;
	char *why, *text = NULL, sum[2 * GT_FORMAT_MAX];
	int fate, n;

	split_counted(by_fate, v, &verdict->leaks);
	for (fate = GT_FATE_PERHAPS; fate < GT_FATE_COUNT && !unsure; fate++)
		if (by_fate[fate].object_count)
			unsure = &by_fate[fate];
	fate = unsure ? fate - 1 : GT_FATE_PERHAPS;
	if (!judges_leaks(verdict))
		unsure = NULL;
	why = gt_ending_of(v, unsure);
	if (!why)
		why = gt_strdup(gt_recording_unrecorded(v->recording) ?
					"a process was not recorded" :
					"events are missing");
	if (unsure)
		n = asprintf(&text, "%s, so gputrack cannot tell %s (%s alive): %s", why,
			     question(verdict),
			     put_sum(sum, &(struct gt_sum){ unsure->object_count, unsure->bytes,
							    false }),
			     gt_fate_remedy(v, (enum gt_fate)fate, unsure));
	else
		n = asprintf(&text, "%s, so gputrack cannot tell %s: %s", why, question(verdict),
			     gt_fate_remedy(v, (enum gt_fate)fate, NULL));
	gt_verdict_groups_fini(by_fate);
	free(why);
	return n < 0 ? NULL : text;
}

static char *doubt_text(const struct gt_verdict *verdict, const struct gt_view *v)
{
	char *text = NULL;
	int e = 0;

	if (verdict->outcome == GT_OUTCOME_UNTRACKED)
		e = asprintf(&text,
			     "nothing was tracked, so gputrack cannot tell %s; `%s doctor` shows "
			     "what can be tracked",
			     question(verdict), gt_tool_name());
	else if (verdict->outcome != GT_OUTCOME_UNSURE)
		return NULL;
	else if (judges_leaks(verdict) && verdict->residue_unknown)
		e = asprintf(&text, "driver residue was not measured: record with --csv or --log, "
				    "and let the program exit normally");
	else if (judges_leaks(verdict) && relies_on_gaps(verdict) && !verdict->exceeded_by_unsure)
		e = asprintf(&text,
			     "the baseline %s is not complete, so gputrack cannot tell what it "
			     "leaked: record it again, to the end of its processes",
			     verdict->options.baseline_path);
	else
		return ending_doubt(verdict, v);
	return e < 0 ? NULL : text;
}

static char *residue_text(const struct gt_verdict *verdict)
{
	char bytes[GT_FORMAT_MAX], *text = NULL;

	for (size_t i = 0; !text && i < verdict->options.limits->count; i++)
		if (verdict->options.limits->list[i].of_residue && verdict->sums[i].exceeded &&
		    asprintf(&text,
			     "the driver kept %s after resources were destroyed (measured by the "
			     "resource tracker)",
			     gt_format_bytes(bytes, verdict->sums[i].bytes)) < 0)
			text = NULL;
	return text;
}

static char *peak_text(const struct gt_verdict *verdict)
{
	char peak[GT_FORMAT_MAX], most[GT_FORMAT_MAX], *text;

	return asprintf(&text, "peak device memory, %s, %s --max-peak=%s",
			gt_format_bytes(peak, verdict->peak_bytes),
			verdict->over_peak ? "exceeds" : "is within",
			gt_format_bytes(most, verdict->options.max_peak)) < 0 ?
		       NULL :
		       text;
}

static void find_growth(struct gt_verdict *verdict, const struct gt_view *v)
{
	const struct gt_verdict_options *options = &verdict->options;

	gt_growing_init(&verdict->growing, v, GT_BY_LINE);
	gt_growing_judge(&verdict->growing, v,
			 &(struct gt_growing_judge){ .limit = options->growth,
						     .suppressions = options->suppressions,
						     .baseline = options->baseline_grows });
	verdict->growth = gt_growing_failure(&verdict->growing, v);
}

void gt_verdict_init(struct gt_verdict *verdict, const struct gt_view *v,
		     const struct gt_verdict_options *options)
{
	*verdict = (struct gt_verdict){ .options = *options, .all_unsure = true };
	verdict->sums = gt_alloc(options->limits->count * sizeof *verdict->sums);
	verdict->sure = gt_alloc(options->limits->count * sizeof *verdict->sure);
	gt_leaks_init(&verdict->leaks, v, GT_BY_LINE);
	if (options->suppressions)
		gt_leaks_suppress(&verdict->leaks, v, options->suppressions);
	if (options->baseline)
		gt_leaks_subtract(&verdict->leaks, options->baseline);
	add_residue(verdict, v->recording);
	add_up(verdict);
	verdict->peak_bytes = v->ledger->peak_bytes;
	verdict->over_peak = options->max_peak && verdict->peak_bytes > options->max_peak;
	find_growth(verdict, v);
	verdict->outcome = judge(verdict, v->recording);
	/* a recording that is damaged from its first event on did track something */
	if ((!v->ledger->events &&
	     (!gt_head_has_gaps(v->recording) || gt_recording_is_empty(v->recording))) ||
	    *gt_recording_info(v->recording, "nsys_calls"))
		verdict->outcome = GT_OUTCOME_UNTRACKED;
	else if (verdict->outcome == GT_OUTCOME_PASSED && is_unsure(verdict, v->recording))
		verdict->outcome = GT_OUTCOME_UNSURE;
	verdict->doubt = doubt_text(verdict, v);
	verdict->residue = residue_text(verdict);
	verdict->peak = peak_text(verdict);
}

void gt_verdict_fini(struct gt_verdict *verdict)
{
	gt_leaks_fini(&verdict->leaks);
	free(verdict->sums);
	free(verdict->sure);
	free(verdict->doubt);
	free(verdict->residue);
	free(verdict->peak);
	free(verdict->growth);
	gt_growing_fini(&verdict->growing);
	*verdict = (struct gt_verdict){ 0 };
}

static void put_limits(const struct gt_verdict *verdict, struct gt_printer *p)
{
	const struct gt_limits *limits = verdict->options.limits;
	char text[2 * GT_FORMAT_MAX];

	for (size_t i = 0; i < limits->count; i++) {
		const struct gt_sum *sum = &verdict->sure[i];

		if (sum->exceeded)
			gt_print_wrap(p, GT_RED, 0,
				      limits->list[i].of_residue ?
					      "FAILED  --fail-on-leak=%s: %s kept by the driver" :
					      "FAILED  --fail-on-leak=%s: %s",
				      limits->list[i].text,
				      limits->list[i].of_residue ?
					      gt_format_bytes(text, sum->bytes) :
					      put_sum(text, sum));
	}
}

void gt_verdict_suppressions(const struct gt_verdict *verdict, struct gt_printer *p)
{
	const struct gt_suppressions *list = verdict->options.suppressions;
	char text[2 * GT_FORMAT_MAX];

	for (size_t i = 0; list && i < list->count; i++) {
		const struct gt_suppression *s = &list->list[i];

		if (s->count)
			gt_print_wrap(p, GT_PLAIN, 2, "suppressed %s: %s:%u %s",
				      put_sum(text, &(struct gt_sum){ s->count, s->bytes, false }),
				      s->file, s->line, s->text);
		else if (s->hides_growth)
			gt_print_wrap(p, GT_PLAIN, 2, "suppressed growth: %s:%u %s", s->file,
				      s->line, s->text);
		else
			gt_print_wrap(p, GT_YELLOW, 2, "unused suppression: %s:%u %s", s->file,
				      s->line, s->text);
	}
}

/* Limits nobody set are reported but never fail the run. */
static void put_counted(const struct gt_verdict *verdict, struct gt_printer *p)
{
	bool any = verdict->counted.count || verdict->counted.bytes;
	char text[2 * GT_FORMAT_MAX];

	gt_print_wrap(p, GT_PLAIN, 0, "COUNTED  %s",
		      any ? put_sum(text, &verdict->counted) : "no leaks");
}

static void put_leaks(const struct gt_verdict *verdict, struct gt_printer *p)
{
	char text[2 * GT_FORMAT_MAX];

	if (verdict->options.leaks_unasked)
		return;
	if (!verdict->options.fails_on_leak)
		put_counted(verdict, p);
	else if (verdict->outcome == GT_OUTCOME_LEAKED)
		put_limits(verdict, p);
	else if (verdict->outcome == GT_OUTCOME_PASSED)
		gt_print_wrap(p, GT_GREEN, 0,
			      !verdict->counted.count && !verdict->counted.bytes ?
				      "PASSED  nothing leaked" :
				      "PASSED  %s %s, within the limits",
			      put_sum(text, &verdict->counted),
			      verdict->all_unsure ? "alive" : "leaked");
}

static void put_growth(const struct gt_verdict *verdict, struct gt_printer *p)
{
	const struct gt_growth_limit *limit = verdict->options.growth;
	bool any = limit && !strcmp(limit->text, "any");

	if (verdict->growth)
		gt_print_wrap(p, GT_RED, 0, "FAILED  --fail-on-growth%s%s: %s", any ? "" : "=",
			      any ? "" : limit->text, verdict->growth);
	else if (limit && verdict->outcome == GT_OUTCOME_PASSED)
		gt_print_wrap(p, GT_GREEN, 0,
			      verdict->growing.count ?
				      "PASSED  no call site grows beyond the limit" :
				      "PASSED  no call site keeps growing");
}

void gt_verdict_outcome(const struct gt_verdict *verdict, struct gt_printer *p)
{
	bool is_asked = verdict->options.fails_on_leak || verdict->options.max_peak ||
			verdict->options.growth;

	if (verdict->doubt) {
		bool unsure = verdict->outcome == GT_OUTCOME_UNSURE;

		gt_print_wrap(p, is_asked && !unsure ? GT_RED : GT_YELLOW, 0,
			      !is_asked ? "%s" :
			      unsure    ? "UNSURE  %s" :
					  "FAILED  %s",
			      verdict->doubt);
		return;
	}
	put_leaks(verdict, p);
	put_growth(verdict, p);
	if (verdict->over_peak)
		gt_print_wrap(p, GT_RED, 0, "FAILED  %s", verdict->peak);
	else if (verdict->options.max_peak && verdict->outcome == GT_OUTCOME_PASSED)
		gt_print_wrap(p, GT_GREEN, 0, "PASSED  %s", verdict->peak);
}

void gt_verdict_text(const struct gt_verdict *verdict, struct gt_printer *p)
{
	char text[2 * GT_FORMAT_MAX];

	gt_verdict_outcome(verdict, p);
	if (verdict->options.baseline)
		gt_print_wrap(p, GT_PLAIN, 2, "not counted, already in %s: %s",
			      verdict->options.baseline_path, put_sum(text, &verdict->known));
	gt_verdict_suppressions(verdict, p);
}

static void sum_json(struct gt_json *j, const char *key, const struct gt_sum *sum)
{
	gt_json_line(j, key);
	gt_json_uint(j, "count", sum->count);
	gt_json_uint(j, "bytes", sum->bytes);
	gt_json_end(j);
}

void gt_verdict_json(const struct gt_verdict *verdict, struct gt_json *j)
{
	const struct gt_suppressions *list = verdict->options.suppressions;
	const struct gt_limits *limits = verdict->options.limits;

	gt_json_object(j, "verdict");
	gt_json_text(j, "outcome", gt_outcome_name(verdict->outcome));
	sum_json(j, "counted", &verdict->counted);
	sum_json(j, "suppressed", &verdict->suppressed);
	sum_json(j, "known", &verdict->known);
	gt_json_text(j, "baseline", verdict->options.baseline_path);
	gt_json_array(j, "limits");
	for (size_t i = 0; i < limits->count; i++) {
		gt_json_line(j, NULL);
		gt_json_text(j, "limit", limits->list[i].text);
		gt_json_uint(j, "count", verdict->sums[i].count);
		gt_json_uint(j, "bytes", verdict->sums[i].bytes);
		gt_json_bool(j, "exceeded", verdict->sums[i].exceeded);
		gt_json_end(j);
	}
	gt_json_end(j);
	if (verdict->options.max_peak) {
		gt_json_line(j, "peak");
		gt_json_uint(j, "bytes", verdict->peak_bytes);
		gt_json_uint(j, "most", verdict->options.max_peak);
		gt_json_bool(j, "exceeded", verdict->over_peak);
		gt_json_end(j);
	}
	if (verdict->options.growth) {
		gt_json_line(j, "growth");
		gt_json_text(j, "limit", verdict->options.growth->text);
		gt_json_uint(j, "sites", verdict->growing.count);
		gt_json_uint(j, "failing", verdict->growing.failing);
		gt_json_bool(j, "exceeded", verdict->growing.failing);
		gt_json_text(j, "fastest", verdict->growth);
		gt_json_end(j);
	}
	gt_json_array(j, "suppressions");
	for (size_t i = 0; list && i < list->count; i++) {
		gt_json_line(j, NULL);
		gt_json_text(j, "file", list->list[i].file);
		gt_json_uint(j, "line", list->list[i].line);
		gt_json_text(j, "text", list->list[i].text);
		gt_json_uint(j, "count", list->list[i].count);
		gt_json_uint(j, "bytes", list->list[i].bytes);
		gt_json_end(j);
	}
	gt_json_end(j);
	gt_json_end(j);
}
