/* SPDX-License-Identifier: MIT */
/* tracker_text.c - a tracker's CSV in words: its statistics, and what it tells about leaks. */
#include "plot/tracker_text.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/format.h"
#include "base/mem.h"
#include "base/text.h"
#include "plot/picture.h"
#include "plot/scale.h"

enum { TOP_MOST = 10 };

static const double mb_per_kb = 1.0 / 1024;

double gt_call_by_count(const struct gt_call_stats *call)
{
	return (double)call->count;
}

double gt_call_by_impact(const struct gt_call_stats *call)
{
	return call->delta_kb * mb_per_kb;
}

double gt_call_by_average(const struct gt_call_stats *call)
{
	return call->delta_kb * mb_per_kb / (double)call->count;
}

double gt_call_by_leak(const struct gt_call_stats *call)
{
	return call->leak_kb * mb_per_kb;
}

static double by_rise(const struct gt_call_stats *call)
{
	return call->rise_kb * mb_per_kb;
}

static int biggest_first(const void *a, const void *b, void *rank)
{
	const struct gt_call_stats *x = *(struct gt_call_stats *const *)a;
	const struct gt_call_stats *y = *(struct gt_call_stats *const *)b;
	double p = fabs((*(gt_call_rank *const *)rank)(x)),
	       q = fabs((*(gt_call_rank *const *)rank)(y));

	if (p != q)
		return p > q ? -1 : 1;
	return strcmp(x->name, y->name);
}

struct gt_call_stats **gt_calls_ranked(const struct gt_tracker_table *t, gt_call_rank *rank,
				       size_t *count)
{
	struct gt_call_stats **list = gt_alloc(t->call_count * sizeof(struct gt_call_stats *));

	*count = 0;
	for (size_t i = 0; i < t->call_count; i++)
		if (rank(&t->calls[i]) != 0)
			list[(*count)++] = &t->calls[i];
	qsort_r(list, *count, sizeof(struct gt_call_stats *), biggest_first, &rank);
	return list;
}

void gt_creep_format(char *out, size_t size, const struct gt_call_stats *call)
{
	char megabytes[GT_REAL_MAX], calls[GT_FORMAT_MAX];

	snprintf(out, size, "%.100s: %s MB in %s %s", call->name,
		 gt_real_format(megabytes, gt_call_creep(call) * mb_per_kb, 2),
		 gt_format_count(calls, gt_call_creeping(call)),
		 gt_plural(gt_call_creeping(call), "call", "calls"));
}

/* The ten calls that come first by `rank`, with their numbers. */
static void put_top(const struct gt_tracker_table *t, FILE *out, bool utf8, const char *title,
		    gt_call_rank *rank, const char *unit)
{
	char text[GT_REAL_MAX];
	size_t count;
	struct gt_call_stats **list = gt_calls_ranked(t, rank, &count);

	if (count)
		fprintf(out, "\n%s:\n", title);
	for (size_t i = 0; i < count && i < TOP_MOST; i++) {
		double value = rank(list[i]);

		fputs("  ", out);
		gt_text_put(out, list[i]->name, UINT32_MAX, GT_CUT_MIDDLE, utf8);
		fprintf(out, ": %s%s%s\n", *unit && value > 0 ? "+" : "",
			gt_real_format(text, value,
				       !*unit              ? 0 :
				       fabs(value) >= 0.01 ? 2 :
							     gt_real_decimals(value)),
			unit);
	}
	free(list);
}

static void put_statistics(const struct gt_tracker_table *t, FILE *out, bool utf8)
{
	static const struct {
		const char *name;
		enum gt_tracker_curve curve;
		double by;
	} peaks[] = {
		{ "Peak VmRSS", GT_CURVE_RSS, 1.0 / 1024 },
		{ "Peak VmSize", GT_CURVE_SIZE, 1.0 / 1024 },
		{ "Peak VmData", GT_CURVE_DATA, 1.0 / 1024 },
		{ "Peak memory allocated", GT_CURVE_MEMORY, 1.0 / (1 << 20) },
	};
	static const struct {
		const char *name;
		enum gt_tracker_curve curve;
	} counts[] = {
		{ "threads", GT_CURVE_THREADS },       { "contexts", GT_CURVE_CONTEXTS },
		{ "command queues", GT_CURVE_QUEUES }, { "modules", GT_CURVE_MODULES },
		{ "kernels", GT_CURVE_KERNELS },       { "event pools", GT_CURVE_POOLS },
		{ "command lists", GT_CURVE_LISTS },   { "events", GT_CURVE_EVENTS },
		{ "fences", GT_CURVE_FENCES },         { "images", GT_CURVE_IMAGES },
		{ "samplers", GT_CURVE_SAMPLERS },
	};
	char text[GT_REAL_MAX];

	fputs("=== SUMMARY STATISTICS ===\n", out);
	fprintf(out, "Total API calls: %s\n", gt_format_count(text, t->rows));
	fprintf(out, "Different APIs: %s\n", gt_format_count(text, t->call_count));
	fprintf(out, "Duration: %s ms\n", gt_real_format(text, t->last_ms - t->first_ms, 0));
	for (size_t i = 0; i < sizeof peaks / sizeof *peaks; i++)
		if (t->curves[peaks[i].curve].count)
			fprintf(out, "%s: %s MB\n", peaks[i].name,
				gt_real_format(text, t->peak[peaks[i].curve] * peaks[i].by, 2));
	fprintf(out, "VmRSS, first row to last: %s%s MB\n", t->last_rss > t->first_rss ? "+" : "",
		gt_real_format(text, (t->last_rss - t->first_rss) / 1024, 2));
	for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
		if (t->curves[counts[i].curve].count)
			fprintf(out, "Peak %s: %s\n", counts[i].name,
				gt_format_count(text, gt_whole(t->peak[counts[i].curve])));
	gt_picture_damage(out, t->bad_rows, t->bad_line);
	if (t->unsigned_falls)
		fprintf(out, "Signs restored: %s decreases of VmRSS were written as increases\n",
			gt_format_count(text, t->unsigned_falls));
	put_top(t, out, utf8, "Top 10 most frequent API calls", gt_call_by_count, "");
	put_top(t, out, utf8, "Top 10 API calls by memory impact", gt_call_by_impact, " MB");
	put_top(t, out, utf8, "Top 10 API calls by average memory per call", gt_call_by_average,
		" MB");
}

/* "alive at the end: 4 kernels, 12 events, 200 KiB", if anything is; no leak by the rule. */
static void put_alive(const struct gt_tracker_table *t, FILE *out)
{
	static const struct {
		const char *one, *many;
	} words[GT_CURVE_COUNT] = {
		[GT_CURVE_CONTEXTS] = { "context", "contexts" },
		[GT_CURVE_QUEUES] = { "command queue", "command queues" },
		[GT_CURVE_MODULES] = { "module", "modules" },
		[GT_CURVE_KERNELS] = { "kernel", "kernels" },
		[GT_CURVE_POOLS] = { "event pool", "event pools" },
		[GT_CURVE_LISTS] = { "command list", "command lists" },
		[GT_CURVE_EVENTS] = { "event", "events" },
		[GT_CURVE_FENCES] = { "fence", "fences" },
		[GT_CURVE_IMAGES] = { "image", "images" },
		[GT_CURVE_SAMPLERS] = { "sampler", "samplers" },
	};
	const char *before = "alive at the end: ";
	char text[GT_FORMAT_MAX];

	for (int i = 0; i < GT_CURVE_COUNT; i++) {
		uint64_t count = words[i].one ? gt_whole(t->last[i]) : 0;

		if (!count)
			continue;
		fprintf(out, "%s%s %s", before, gt_format_count(text, count),
			gt_plural(count, words[i].one, words[i].many));
		before = ", ";
	}
	if (t->last[GT_CURVE_MEMORY] >= 1) {
		fprintf(out, "%s%s", before,
			gt_format_bytes(text, gt_whole(t->last[GT_CURVE_MEMORY])));
		before = ", ";
	}
	if (*before == ',')
		putc('\n', out);
}

static const char *tick(bool utf8)
{
	return utf8 ? "✓ " : "";
}

/* Nothing is called a leak: why not. */
static void put_no_leaks(const struct gt_tracker_table *t, FILE *out, bool utf8)
{
	char text[GT_REAL_MAX];

	if (t->basis == GT_BASIS_RESIDUE) {
		fprintf(out, "%sNo memory leaks detected: %s KB left behind by the driver in all",
			tick(utf8), gt_real_format(text, t->residue_kb, 0));
		if (t->residue_kb > 0)
			fprintf(out, ",\nnot above %g KB (--threshold): they may be its caches",
				t->threshold_kb);
		putc('\n', out);
	} else if (!t->creeps) {
		fprintf(out,
			"%sNo leak events: no destroying call raised VmRSS by more than %g KB,\n"
			"nor did all calls of one function together\n",
			tick(utf8), t->threshold_kb);
	} else {
		fprintf(out,
			"No leak events: no single destroying call raised VmRSS by more than %g KB "
			"(--threshold)\n",
			t->threshold_kb);
	}
}

/* The calls by `rank`, with how often each did that and how much it came to. */
static void put_calls(const struct gt_tracker_table *t, FILE *out, bool utf8, gt_call_rank *rank,
		      const char *one, const char *many)
{
	char text[GT_REAL_MAX];
	size_t count;
	struct gt_call_stats **list = gt_calls_ranked(t, rank, &count);

	for (size_t i = 0; i < count; i++) {
		uint64_t times = list[i]->leaks + list[i]->rises;

		fputs("  ", out);
		gt_text_put(out, list[i]->name, UINT32_MAX, GT_CUT_MIDDLE, utf8);
		if (!times) {
			fprintf(out, ": %s MB given back\n",
				gt_real_format(text, -rank(list[i]), 2));
			continue;
		}
		fprintf(out, ": %s %s, ", gt_format_count(text, times),
			gt_plural(times, one, many));
		fprintf(out, "%s MB total, ", gt_real_format(text, rank(list[i]), 2));
		fprintf(out, "%s MB avg\n", gt_real_format(text, rank(list[i]) / (double)times, 2));
	}
	free(list);
}

static void put_leaks(const struct gt_tracker_table *t, FILE *out, bool utf8)
{
	char text[GT_REAL_MAX], more[GT_REAL_MAX];

	fprintf(out, "%sLEAKS DETECTED!\n", utf8 ? "⚠️  " : "");
	fprintf(out, "Total leaked memory: %s MB (%s KB)\n",
		gt_real_format(text, t->leak_kb * mb_per_kb, 2),
		gt_real_format(more, t->leak_kb, 2));
	fprintf(out, "Number of leak events: %s\n\nLeak events by API:\n",
		gt_format_count(text, t->leak_events));
	put_calls(t, out, utf8, gt_call_by_leak, "events", "events");
}

static void put_rises(const struct gt_tracker_table *t, FILE *out, bool utf8)
{
	char text[GT_REAL_MAX], more[GT_REAL_MAX];

	fputs("Cannot be told from this CSV: its deltas include memory of the program's own.\n",
	      out);
	if (!t->rises)
		return;
	fprintf(out,
		"VmRSS rose by more than %g KB from the row before to %s destroying %s, by %s MB "
		"in all:\n",
		t->threshold_kb, gt_format_count(text, t->rises),
		gt_plural(t->rises, "call", "calls"),
		gt_real_format(more, t->rise_kb * mb_per_kb, 2));
	put_calls(t, out, utf8, by_rise, "call", "calls");
}

void gt_tracker_text(const struct gt_tracker_table *t, FILE *out, bool utf8)
{
	char creep[160];

	put_statistics(t, out, utf8);
	fputs("\n=== MEMORY LEAK DETECTION ===\n", out);
	if (t->leak_events)
		put_leaks(t, out, utf8);
	else if (gt_tracker_cannot_tell(t))
		put_rises(t, out, utf8);
	else
		put_no_leaks(t, out, utf8);
	if (t->creeps) {
		gt_creep_format(creep, sizeof creep, t->creeps);
		fputs("Small increases that add up: ", out);
		gt_text_put(out, creep, UINT32_MAX, GT_CUT_MIDDLE, utf8);
		putc('\n', out);
	}
	if (t->basis == GT_BASIS_NONE)
		fputs("With --csv-more (GPUTRACK_CSV_MORE=1) the CSV has driver residue too: what "
		      "the calls\nthemselves left in memory\n",
		      out);
	else if (t->basis == GT_BASIS_CALL && t->leak_events)
		fputs("Measured from before to after each call; memory that other threads touched "
		      "meanwhile is\nincluded\n",
		      out);
	put_alive(t, out);
}
