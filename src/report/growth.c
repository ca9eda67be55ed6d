/* SPDX-License-Identifier: MIT */
/* growth.c - call sites that keep growing: how fast, since when, how steadily. */
#include <inttypes.h>
#include <stdlib.h>

#include "base/format.h"
#include "base/mem.h"
#include "base/text.h"
#include "replay/group_text.h"
#include "replay/growth_text.h"
#include "replay/head.h"
#include "replay/place.h"
#include "replay/stack.h"
#include "report/analyses.h"

enum { STACK_FRAMES = 6, SPARK_COLUMNS = 32, EIGHTHS = 8 };

static const char *const blocks[EIGHTHS + 1] = { " ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█" };
static const char *const plain[EIGHTHS + 1] = { " ", ".", ".", ".", ":", ":", ":", "#", "#" };

/* The growing call sites, fastest first. */
struct rises {
	struct gt_rise *list;
	size_t count, shown;
};

static const struct gt_site *site_of(const struct gt_view *v, const struct gt_rise *r)
{
	return &v->ledger->sites[r->site];
}

/* The caller frees the list. */
static struct rises find_rises(const struct gt_view *v)
{
	struct rises r = { 0 };

	r.list = gt_view_rises(v, &r.count);
	gt_view_rises_list(v, r.list, r.count);
	r.shown = v->top && v->top < r.count ? (size_t)v->top : r.count;
	return r;
}

/* Values in at most `columns` characters of one line, the highest of them full. */
static void put_spark(struct gt_printer *p, const uint64_t *values, size_t count, unsigned columns)
{
	const char *const *glyphs = p->style.utf8 ? blocks : plain;
	uint64_t top = 1;

	for (size_t i = 0; i < count; i++)
		top = values[i] > top ? values[i] : top;
	if (columns > count)
		columns = (unsigned)count;
	for (unsigned i = 0; i < columns; i++) {
		uint64_t value = values[(i + 1) * count / columns - 1];
		unsigned high = (unsigned)((double)value / (double)top * EIGHTHS + 0.5);

		gt_print_name(p, GT_PLAIN, glyphs[value && !high ? 1 : high], 1);
	}
}

static void put_rise(struct gt_printer *p, const struct gt_view *v, const struct gt_rise *r,
		     size_t number)
{
	const struct gt_site *s = site_of(v, r);
	char when[GT_FORMAT_MAX], from[GT_FORMAT_MAX], to[GT_FORMAT_MAX], count[GT_KIND_TEXT];
	bool is_said;

	gt_print_put(p, GT_DIM, "%3zu. ", number);
	is_said = gt_growth_line(p, v, r);
	gt_print_end(p);
	gt_print_tab(p, 5);
	put_spark(p, r->floor, r->floor_count, SPARK_COLUMNS);
	gt_print_line(p, GT_PLAIN, "  %s to %s",
		      r->bytes ? gt_format_bytes(from, r->from) : gt_format_count(from, r->from),
		      r->bytes ? gt_format_bytes(to, r->to) : gt_format_count(to, r->to));
	gt_print_wrap(p, GT_DIM, 5, "%s created, %.0f %% steady, over %s",
		      gt_kind_count(count, (enum gt_kind)s->kind, r->created), 100 * r->steadiness,
		      gt_format_span(when, r->until_ns - r->since_ns));
	/* what is no line has no stack to follow it */
	if (!is_said || gt_place_has_line(v->frames, s->stack))
		gt_stack_brief(p, v, s->stack, STACK_FRAMES, 7);
	gt_print_end(p);
}

static void count_places(const struct gt_view *v, const struct rises *rises, size_t *growing,
			 size_t *all)
{
	uint32_t *stacks = gt_alloc(rises->count * sizeof *stacks);
	struct gt_place_sites sites;

	for (size_t i = 0; i < rises->count; i++)
		stacks[i] = site_of(v, &rises->list[i])->stack;
	*growing = gt_place_count(v->frames, stacks, rises->count);
	gt_place_sites_init(&sites, v->ledger, v->frames, NULL);
	*all = gt_place_count_sites(v->frames, &sites);
	gt_place_sites_fini(&sites);
	free(stacks);
}

void gt_growth_text(const struct gt_view *v, FILE *out)
{
	struct rises rises;
	struct gt_printer p;
	size_t growing, all;

	gt_head_open(&p, out, v);
	if (!v->ledger->events) {
		gt_head_nothing(&p, v);
		return;
	}
	rises = find_rises(v);
	if (!rises.count) {
		gt_print_wrap(&p, GT_PLAIN, 0,
			      v->ledger->last_ns - v->ledger->first_ns < GT_GROWTH_MIN_NS ?
				      "Too short to tell whether anything grows: record at least "
				      "2 seconds." :
				      "No %s keeps growing: the least that each one holds over "
				      "time stays level or falls.",
			      gt_place_noun(v->frames, 1));
		free(rises.list);
		return;
	}
	count_places(v, &rises, &growing, &all);
	gt_print_line(&p, GT_BOLD, "GROWTH  %zu of %zu %s %s", growing, all,
		      gt_place_noun(v->frames, 2),
		      growing == 1 ? "keeps growing" : "keep growing, fastest first");
	gt_print_end(&p);
	for (size_t i = 0; i < rises.shown; i++)
		put_rise(&p, v, &rises.list[i], i + 1);
	if (rises.shown < rises.count)
		gt_print_wrap(&p, GT_DIM, 2, "and %zu more: --top N shows them",
			      rises.count - rises.shown);
	gt_head_modules(&p, v, 3);
	free(rises.list);
}

static void rise_json(struct gt_json *j, const struct gt_view *v, const struct gt_rise *r)
{
	const struct gt_site *s = site_of(v, r);

	gt_json_object(j, NULL);
	gt_kind_json(j, s->api, s->kind);
	gt_json_uint(j, "count", r->live);
	gt_json_uint(j, "bytes", r->bytes_live);
	gt_json_text(j, "unit", r->bytes ? "bytes" : "resources");
	gt_json_real(j, "per_second", r->per_second);
	gt_json_real(j, "steadiness", r->steadiness);
	gt_json_uint(j, "from", r->from);
	gt_json_uint(j, "to", r->to);
	gt_json_uint(j, "since_ns", gt_view_elapsed(v, r->since_ns));
	gt_json_uint(j, "until_ns", gt_view_elapsed(v, r->until_ns));
	gt_json_uint(j, "created", r->created);
	gt_json_uint(j, "ended", r->created - r->live);
	gt_json_bool(j, "given_back", r->given_back);
	gt_place_and_stack_json(j, v->frames, s->stack);
	gt_json_end(j);
}

void gt_growth_json(const struct gt_view *v, FILE *out)
{
	struct gt_tally total = gt_ledger_total(v->ledger);
	struct rises rises = find_rises(v);
	struct gt_json j;

	gt_head_json(&j, out, v, "growth");
	gt_totals_json(&j, total.live, total.bytes_live);
	gt_json_array(&j, "groups");
	for (size_t i = 0; i < rises.shown; i++)
		rise_json(&j, v, &rises.list[i]);
	gt_json_end(&j);
	gt_foot_json(&j, v);
	free(rises.list);
}

void gt_growth_tsv(const struct gt_view *v, FILE *out)
{
	struct rises rises = find_rises(v);

	fputs("per_second\tunit\tsteadiness\tfrom\tto\tsince_ns\tuntil_ns\tcreated\tended\tapi"
	      "\tkind\tstack\twhere\n",
	      out);
	for (size_t i = 0; i < rises.shown; i++) {
		const struct gt_rise *r = &rises.list[i];
		const struct gt_site *s = site_of(v, r);

		fprintf(out,
			"%.3f\t%s\t%.3f\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64
			"\t%" PRIu64 "\t%" PRIu64 "\t%s\t%s\t",
			r->per_second, r->bytes ? "bytes" : "resources", r->steadiness, r->from,
			r->to, gt_view_elapsed(v, r->since_ns), gt_view_elapsed(v, r->until_ns),
			r->created, r->created - r->live, gt_api_keys[s->api],
			gt_kinds[s->kind].name);
		gt_place_end_tsv(out, v->frames, s->stack);
	}
	free(rises.list);
}
