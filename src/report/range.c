/* SPDX-License-Identifier: MIT */
/* range.c - a range of time: what was allocated, freed and left behind in it, by call site. */
#include <inttypes.h>
#include <stdlib.h>

#include "base/format.h"
#include "base/mem.h"
#include "base/text.h"
#include "replay/group_text.h"
#include "replay/head.h"
#include "replay/lives.h"
#include "replay/place.h"
#include "replay/replay.h"
#include "replay/stack.h"
#include "report/analyses.h"

enum { TOP_DEFAULT = 20, WIDE_PAGE = 110 };

/*
 * The steps of time. What comes after the range is read, too: memory turns out to be a pool's
 * segment once a block lies in it.
 */
enum { BEFORE, WITHIN, AFTER };

struct sum {
	uint64_t count;
	int64_t bytes; /* a pool's segment may have given bytes to blocks */
};

enum part { LEFT, ALLOCATED, FREED, PARTS };

/* A place of one API and kind. */
struct row {
	uint32_t stack;
	uint8_t api, kind;
	struct sum parts[PARTS];
};

struct range {
	const struct gt_view *view;
	struct gt_lives lives;
	struct gt_ledger *ledger;
	uint64_t from_ns, to_ns;    /* since the recording's start; to: 0 for its end */
	struct sum (*sites)[PARTS]; /* by the ledger's site */
	size_t site_count;
	struct row *rows;
	size_t row_count, row_room;
	struct sum totals[PARTS];
};

static void add(struct sum *sum, const struct sum *one)
{
	sum->count += one->count;
	sum->bytes += one->bytes;
}

static void take_life(void *context, const struct gt_ledger *l, const struct gt_life *life)
{
	struct range *r = context;
	size_t site = (size_t)(gt_ledger_site(l, life->entry) - l->sites);
	struct sum one = { life->count, life->bytes };

	GT_REACH(r->sites, r->site_count, site);
	if (life->born == WITHIN) {
		add(&r->sites[site][ALLOCATED], &one);
		if (life->ended > WITHIN)
			add(&r->sites[site][LEFT], &one);
	}
	if (life->ended == WITHIN)
		add(&r->sites[site][FREED], &one);
}

static void before(void *context, const struct gt_ledger *l, uint64_t time_ns)
{
	struct range *r = context;
	uint64_t elapsed_ns = gt_view_elapsed(r->view, time_ns);

	r->lives.ledger = l;
	if (r->to_ns && elapsed_ns > r->to_ns)
		r->lives.now = AFTER;
	else if (!r->from_ns || elapsed_ns > r->from_ns)
		r->lives.now = WITHIN;
}

static void last(void *context, const struct gt_ledger *l)
{
	struct range *r = context;

	r->lives.ledger = l;
	gt_lives_end(&r->lives);
}

static uint64_t size_of(int64_t bytes)
{
	return bytes < 0 ? 0 - (uint64_t)bytes : (uint64_t)bytes;
}

static int64_t net_count(const struct sum parts[PARTS])
{
	return (int64_t)(parts[ALLOCATED].count - parts[FREED].count);
}

static int64_t net_bytes(const struct sum parts[PARTS])
{
	return parts[ALLOCATED].bytes - parts[FREED].bytes;
}

/* Most left behind first, then most changed. */
static int compare(const void *a, const void *b)
{
	const struct row *x = a, *y = b;
	const struct sum *p = &x->parts[LEFT], *q = &y->parts[LEFT];
	uint64_t n = size_of(net_bytes(x->parts)), m = size_of(net_bytes(y->parts));

	if (p->bytes != q->bytes)
		return p->bytes > q->bytes ? -1 : 1;
	if (p->count != q->count)
		return p->count > q->count ? -1 : 1;
	if (n != m)
		return n > m ? -1 : 1;
	if (x->parts[ALLOCATED].count != y->parts[ALLOCATED].count)
		return x->parts[ALLOCATED].count > y->parts[ALLOCATED].count ? -1 : 1;
	return (x->stack > y->stack) - (x->stack < y->stack);
}

/* Merges the sites of a place; those in which nothing happened are left out. */
static void find_rows(struct range *r)
{
	struct gt_place_numbers numbers = { 0 };
	uint32_t *row_of = NULL, *stacks; /* by place: its row + 1 */
	size_t place_count = 0;

	for (size_t i = 0; i < r->site_count && i < r->ledger->site_count; i++) {
		const struct gt_site *site = &r->ledger->sites[i];
		const struct sum *parts = r->sites[i];
		size_t place;

		if (!parts[ALLOCATED].count && !parts[ALLOCATED].bytes && !parts[FREED].count &&
		    !parts[FREED].bytes)
			continue;
		place = GT_API_COUNT * gt_place_number(&numbers, r->view->frames, site->stack,
						       (enum gt_kind)site->kind) +
			site->api;
		GT_REACH(row_of, place_count, place);
		if (!row_of[place]) {
			GT_GROW(r->rows, r->row_count, r->row_room);
			r->rows[r->row_count++] = (struct row){ .stack = site->stack,
								.api = site->api,
								.kind = site->kind };
			row_of[place] = (uint32_t)r->row_count;
		}
		for (int part = 0; part < PARTS; part++) {
			add(&r->rows[row_of[place] - 1].parts[part], &parts[part]);
			add(&r->totals[part], &parts[part]);
		}
	}
	gt_map_fini(&numbers.map);
	free(row_of);
	if (r->row_count)
		qsort(r->rows, r->row_count, sizeof *r->rows, compare);
	stacks = gt_alloc((r->row_count + 1) * sizeof *stacks);
	for (size_t i = 0; i < r->row_count; i++)
		stacks[i] = r->rows[i].stack;
	gt_places_list(r->view->frames, stacks, r->row_count);
	free(stacks);
}

static void range_init(struct range *r, const struct gt_view *v)
{
	*r = (struct range){ .view = v, .from_ns = v->from_ns, .to_ns = v->to_ns };
	gt_lives_init(&r->lives, take_life, r);
	r->ledger = gt_replay_run(v->recording, &(struct gt_replay){ .observer = &r->lives.observer,
								     .before = before,
								     .last = last,
								     .context = r,
								     .tick = v->tick });
	find_rows(r);
}

static void range_fini(struct range *r)
{
	gt_lives_fini(&r->lives);
	gt_ledger_free(r->ledger);
	free(r->sites);
	free(r->rows);
}

/* The end of the range, or of the recording. */
static uint64_t end_of(const struct range *r)
{
	return r->to_ns ? r->to_ns : gt_view_elapsed(r->view, r->ledger->last_ns);
}

/* "12.0 MiB in 32 resources" */
static char *sum_text(char out[2 * GT_FORMAT_MAX], const struct sum *sum)
{
	char bytes[GT_FORMAT_MAX], count[GT_FORMAT_MAX];

	snprintf(out, 2 * GT_FORMAT_MAX, "%s%s%s%s %s", sum->bytes < 0 ? "-" : "",
		 sum->bytes ? gt_format_bytes(bytes, size_of(sum->bytes)) : "",
		 sum->bytes ? " in " : "", gt_format_count(count, sum->count),
		 gt_plural(sum->count, "resource", "resources"));
	return out;
}

static void put_head(struct gt_printer *p, const struct range *r)
{
	char from[GT_FORMAT_MAX], to[GT_FORMAT_MAX], left[2 * GT_FORMAT_MAX];
	char allocated[2 * GT_FORMAT_MAX], freed[2 * GT_FORMAT_MAX];

	gt_print_line(p, GT_BOLD, "RANGE  %s left behind from %s to %s",
		      sum_text(left, &r->totals[LEFT]), gt_format_span(from, r->from_ns),
		      gt_format_span(to, end_of(r)));
	gt_print_wrap(p, GT_PLAIN, 2, "%s allocated, %s freed",
		      sum_text(allocated, &r->totals[ALLOCATED]),
		      sum_text(freed, &r->totals[FREED]));
}

enum { LEFT_END = 9, BYTES_END = 20, ALLOCATED_END = 31, FREED_END = 41, NET_END = 53 };

static void put_titles(struct gt_printer *p)
{
	gt_print_right(p, GT_DIM, "left", LEFT_END);
	gt_print_right(p, GT_DIM, "bytes", BYTES_END);
	gt_print_right(p, GT_DIM, "allocated", ALLOCATED_END);
	gt_print_right(p, GT_DIM, "freed", FREED_END);
	gt_print_right(p, GT_DIM, "difference", NET_END);
	gt_print_tab(p, NET_END + 2);
	gt_print_put(p, GT_DIM, "kind");
	if (p->style.width >= WIDE_PAGE) {
		gt_print_tab(p, NET_END + 18);
		gt_print_put(p, GT_DIM, "where");
	}
	gt_print_end(p);
}

/* "+1.00 MiB", "-3": by bytes where there are any. */
static char *net_text(char out[GT_FORMAT_MAX + 2], const struct row *row)
{
	int64_t bytes = net_bytes(row->parts), count = net_count(row->parts);
	bool has_bytes = row->parts[ALLOCATED].bytes || row->parts[FREED].bytes;
	int64_t value = has_bytes ? bytes : count;
	char text[GT_FORMAT_MAX];

	if (has_bytes)
		gt_format_bytes(text, size_of(value));
	else
		gt_format_count(text, size_of(value));
	snprintf(out, GT_FORMAT_MAX + 2, "%s%s",
		 value > 0 ? "+" :
		 value < 0 ? "-" :
			     "",
		 value ? text : "-");
	return out;
}

static void put_row(struct gt_printer *p, const struct range *r, const struct row *row)
{
	const struct sum *left = &row->parts[LEFT];
	char text[GT_FORMAT_MAX], with_sign[GT_FORMAT_MAX + 2];

	gt_print_right(p, GT_PLAIN, gt_format_count(text, left->count), LEFT_END);
	gt_format_bytes(text, size_of(left->bytes));
	snprintf(with_sign, sizeof with_sign, "%s%s", left->bytes < 0 ? "-" : "", text);
	gt_print_right(p, GT_PLAIN, left->bytes ? with_sign : "-", BYTES_END);
	gt_print_right(p, GT_PLAIN, gt_format_count(text, row->parts[ALLOCATED].count),
		       ALLOCATED_END);
	gt_print_right(p, GT_PLAIN, gt_format_count(text, row->parts[FREED].count), FREED_END);
	gt_print_right(p, GT_PLAIN, net_text(with_sign, row), NET_END);
	gt_print_tab(p, NET_END + 2);
	gt_print_put(p, GT_BOLD, "%s", gt_kinds[row->kind].name);
	if (p->style.width < WIDE_PAGE) {
		gt_print_end(p);
		gt_print_tab(p, LEFT_END + 2);
	} else {
		gt_print_tab(p, NET_END + 18);
	}
	gt_place_put(p, r->view, row->stack, gt_print_left(p));
	gt_print_end(p);
}

void gt_range_text(const struct gt_view *v, FILE *out)
{
	struct range r;
	struct gt_printer p;
	size_t shown;

	range_init(&r, v);
	shown = v->top ? v->top : TOP_DEFAULT;
	if (shown > r.row_count)
		shown = r.row_count;
	gt_head_open(&p, out, v);
	put_head(&p, &r);
	if (shown)
		put_titles(&p);
	for (size_t i = 0; i < shown; i++)
		put_row(&p, &r, &r.rows[i]);
	if (shown < r.row_count)
		gt_print_wrap(&p, GT_DIM, 2, "and %zu more: --top N shows them",
			      r.row_count - shown);
	gt_head_modules(&p, v, 3);
	range_fini(&r);
}

/* Of all rows, or of one. */
static void parts_json(struct gt_json *j, const struct sum parts[PARTS])
{
	gt_json_uint(j, "count", parts[LEFT].count);
	gt_json_int(j, "bytes", parts[LEFT].bytes);
	gt_json_uint(j, "allocated", parts[ALLOCATED].count);
	gt_json_int(j, "allocated_bytes", parts[ALLOCATED].bytes);
	gt_json_uint(j, "freed", parts[FREED].count);
	gt_json_int(j, "freed_bytes", parts[FREED].bytes);
	gt_json_int(j, "net", net_count(parts));
	gt_json_int(j, "net_bytes", net_bytes(parts));
}

void gt_range_json(const struct gt_view *v, FILE *out)
{
	struct range r;
	struct gt_json j;

	range_init(&r, v);
	gt_head_json(&j, out, v, "range");
	gt_totals_json(&j, r.totals[LEFT].count,
		       r.totals[LEFT].bytes > 0 ? (uint64_t)r.totals[LEFT].bytes : 0);
	gt_json_line(&j, "range");
	gt_json_uint(&j, "from_ns", r.from_ns);
	gt_json_uint(&j, "to_ns", end_of(&r));
	parts_json(&j, r.totals);
	gt_json_end(&j);
	gt_json_array(&j, "groups");
	for (size_t i = 0; i < r.row_count && (!v->top || i < v->top); i++) {
		gt_json_object(&j, NULL);
		gt_kind_json(&j, r.rows[i].api, r.rows[i].kind);
		parts_json(&j, r.rows[i].parts);
		gt_place_and_stack_json(&j, v->frames, r.rows[i].stack);
		gt_json_end(&j);
	}
	gt_json_end(&j);
	gt_foot_json(&j, v);
	range_fini(&r);
}

void gt_range_tsv(const struct gt_view *v, FILE *out)
{
	struct range r;

	range_init(&r, v);
	fputs("left\tleft_bytes\tallocated\tallocated_bytes\tfreed\tfreed_bytes\tnet\tnet_"
	      "bytes\tapi\t"
	      "kind\tstack\twhere\n",
	      out);
	for (size_t i = 0; i < r.row_count && (!v->top || i < v->top); i++) {
		const struct row *row = &r.rows[i];

		for (int part = 0; part < PARTS; part++)
			fprintf(out, "%" PRIu64 "\t%" PRId64 "\t", row->parts[part].count,
				row->parts[part].bytes);
		fprintf(out, "%" PRId64 "\t%" PRId64 "\t%s\t%s\t", net_count(row->parts),
			net_bytes(row->parts), gt_api_keys[row->api], gt_kinds[row->kind].name);
		gt_place_end_tsv(out, v->frames, row->stack);
	}
	range_fini(&r);
}
