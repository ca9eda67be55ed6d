/* SPDX-License-Identifier: MIT */
/* growth.c - call sites that hold more and more, with a verdict a person can read. */
#include <inttypes.h>
#include <stdlib.h>

#include "base/format.h"
#include "report/chart.h"
#include "replay/group_text.h"
#include "replay/head.h"
#include "replay/stack.h"

/* with less room than WHERE_COLUMNS the stack below says it better */
enum { STACK_FRAMES = 6, SPARK_COLUMNS = 32, WHERE_COLUMNS = 32 };

static const uint64_t GROWTH_LEAST_NS = 2000000000; /* a shorter program has no past to speak of */

static const struct gt_site *site_of(const struct gt_view *v, const struct gt_rise *r)
{
	return &v->ledger->sites[r->site];
}

static size_t shown_of(const struct gt_view *v)
{
	return v->top && v->top < v->rise_count ? (size_t)v->top : v->rise_count;
}

/* "+1.20 MiB/s", "+3.2/s", "+14/min", "+2/h": the unit of time in which it is a number to read. */
static const char *rate(char out[2 * GT_FORMAT_MAX], const struct gt_rise *r)
{
	static const struct {
		double seconds;
		const char *name;
	} units[] = { { 1, "s" }, { 60, "min" }, { 3600, "h" }, { 86400, "day" } };
	char text[GT_FORMAT_MAX];
	size_t i = 0;

	while (i + 1 < sizeof units / sizeof *units && r->per_second * units[i].seconds < 1)
		i++;
	if (r->bytes)
		gt_format_bytes(text, (uint64_t)(r->per_second * units[i].seconds + 0.5));
	else if (r->per_second * units[i].seconds < 100)
		snprintf(text, sizeof text, "%.1f", r->per_second * units[i].seconds);
	else
		gt_format_count(text, (uint64_t)(r->per_second * units[i].seconds + 0.5));
	snprintf(out, 2 * GT_FORMAT_MAX, "+%s/%s", text, units[i].name);
	return out;
}

/* "never freed", "61 % freed", "all freed at the end". */
static const char *freed(char out[GT_FORMAT_MAX], const struct gt_view *v, const struct gt_rise *r)
{
	const struct gt_site *s = site_of(v, r);
	uint64_t ended = s->created - s->live;

	if (r->given_back)
		return "freed at the end only";
	if (!ended)
		return "never freed";
	snprintf(out, GT_FORMAT_MAX, "%.0f %% freed", 100.0 * (double)ended / (double)s->created);
	return out;
}

static uint64_t since_start(const struct gt_view *v, uint64_t time_ns)
{
	uint64_t start = gt_recording_start_ns(v->recording);

	return time_ns > start ? time_ns - start : 0;
}

struct gt_rise *gt_view_rises(const struct gt_ledger *l, size_t *count)
{
	*count = 0;
	if (!l->growth || l->last_ns - l->first_ns < GROWTH_LEAST_NS)
		return NULL;
	return gt_growth_find(l->growth, l, count);
}

void gt_growth_rate(struct gt_printer *p, const struct gt_view *v, const struct gt_rise *r)
{
	char speed[2 * GT_FORMAT_MAX], when[GT_FORMAT_MAX], share[GT_FORMAT_MAX];

	gt_print_put(p, GT_RED, "%s", rate(speed, r));
	gt_print_put(p, GT_PLAIN, " since %s, %s",
		     gt_format_span(when, since_start(v, r->since_ns)), freed(share, v, r));
}

bool gt_growth_verdict(struct gt_printer *p, const struct gt_view *v, const struct gt_rise *r)
{
	gt_growth_rate(p, v, r);
	if (gt_print_left(p) < WHERE_COLUMNS)
		return false;
	gt_print_put(p, GT_PLAIN, ", ");
	gt_stack_where(p, v, site_of(v, r)->stack, gt_print_left(p));
	return true;
}

static void put_rise(struct gt_printer *p, const struct gt_view *v, const struct gt_rise *r,
		     size_t number)
{
	const struct gt_site *s = site_of(v, r);
	char when[GT_FORMAT_MAX], from[GT_FORMAT_MAX], to[GT_FORMAT_MAX], count[GT_KIND_TEXT];

	gt_print_put(p, GT_DIM, "%3zu. ", number);
	gt_growth_verdict(p, v, r);
	gt_print_end(p);
	gt_print_tab(p, 5);
	gt_chart_spark(p, r->floor, r->floor_count, SPARK_COLUMNS);
	gt_print_put(p, GT_PLAIN, "  %s to %s",
		     r->bytes ? gt_format_bytes(from, r->from) : gt_format_count(from, r->from),
		     r->bytes ? gt_format_bytes(to, r->to) : gt_format_count(to, r->to));
	gt_print_end(p);
	gt_print_wrap(p, GT_DIM, 5, "%s created, %.0f %% steady, over %s",
		      gt_kind_count(count, (enum gt_kind)s->kind, s->created), 100 * r->steadiness,
		      gt_format_span(when, r->until_ns - r->since_ns));
	gt_stack_text(p, v, s->stack, STACK_FRAMES, 7);
	gt_print_end(p);
}

void gt_growth_text(const struct gt_view *v, FILE *out)
{
	size_t shown = shown_of(v);
	struct gt_printer p;

	gt_head_open(&p, out, v);
	if (!v->ledger->events) {
		gt_head_nothing(&p, v);
		return;
	}
	if (!v->rise_count) {
		gt_print_wrap(&p, GT_PLAIN, 0,
			      "No call site keeps rising: what each holds at least, over time, "
			      "stays or falls back.");
		return;
	}
	gt_print_put(&p, GT_BOLD, "GROWTH  %zu of %zu call sites %s", v->rise_count,
		     v->ledger->site_count,
		     v->rise_count == 1 ? "holds more and more" :
					  "hold more and more, steepest first");
	gt_print_end(&p);
	gt_print_end(&p);
	for (size_t i = 0; i < shown; i++)
		put_rise(&p, v, &v->rises[i], i + 1);
	if (shown < v->rise_count)
		gt_print_wrap(&p, GT_DIM, 2, "and %zu more: --top N shows them",
			      v->rise_count - shown);
	gt_head_modules(&p, v, 3);
}

static void rise_json(struct gt_json *j, const struct gt_view *v, const struct gt_rise *r)
{
	const struct gt_site *s = site_of(v, r);

	gt_json_object(j, NULL);
	gt_json_text(j, "api", gt_api_keys[s->api]);
	gt_json_text(j, "kind", gt_kinds[s->kind].name);
	gt_json_text(j, "type", gt_kinds[s->kind].type[s->api]);
	gt_json_uint(j, "count", s->live);
	gt_json_uint(j, "bytes", s->bytes_live);
	gt_json_text(j, "unit", r->bytes ? "bytes" : "resources");
	gt_json_real(j, "per_second", r->per_second);
	gt_json_real(j, "steadiness", r->steadiness);
	gt_json_uint(j, "from", r->from);
	gt_json_uint(j, "to", r->to);
	gt_json_uint(j, "since_ns", since_start(v, r->since_ns));
	gt_json_uint(j, "until_ns", since_start(v, r->until_ns));
	gt_json_uint(j, "created", s->created);
	gt_json_uint(j, "ended", s->created - s->live);
	gt_json_bool(j, "given_back", r->given_back);
	gt_stack_json(j, "stack", v->frames, s->stack);
	gt_json_end(j);
}

void gt_growth_json(const struct gt_view *v, FILE *out)
{
	struct gt_tally total = gt_ledger_total(v->ledger);
	struct gt_json j;

	gt_head_json(&j, out, v, "growth");
	gt_totals_json(&j, total.live, total.bytes_live);
	gt_json_array(&j, "groups");
	for (size_t i = 0; i < shown_of(v); i++)
		rise_json(&j, v, &v->rises[i]);
	gt_json_end(&j);
	gt_foot_json(&j, v);
}

void gt_growth_tsv(const struct gt_view *v, FILE *out)
{
	fputs("per_second\tunit\tsteadiness\tfrom\tto\tsince_ns\tuntil_ns\tcreated\tended\tapi"
	      "\tkind\tstack\n",
	      out);
	for (size_t i = 0; i < shown_of(v); i++) {
		const struct gt_rise *r = &v->rises[i];
		const struct gt_site *s = site_of(v, r);

		fprintf(out,
			"%.3f\t%s\t%.3f\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64
			"\t%" PRIu64 "\t%" PRIu64 "\t%s\t%s\t",
			r->per_second, r->bytes ? "bytes" : "resources", r->steadiness, r->from,
			r->to, since_start(v, r->since_ns), since_start(v, r->until_ns), s->created,
			s->created - s->live, gt_api_keys[s->api], gt_kinds[s->kind].name);
		gt_stack_tsv(out, v->frames, s->stack);
		putc('\n', out);
	}
}
