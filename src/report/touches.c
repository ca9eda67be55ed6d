/* SPDX-License-Identifier: MIT */
/* touches.c - device memory that GPU work never uses, only writes, or has finished with. */
#include <inttypes.h>
#include <stdlib.h>

#include "base/format.h"
#include "base/mem.h"
#include "base/text.h"
#include "replay/group_text.h"
#include "replay/head.h"
#include "replay/place.h"
#include "replay/stack.h"
#include "report/analyses.h"
#include "report/block_use.h"

enum { TOP_DEFAULT = 10, NUMBER_COLUMN = 13 };

/* Settles how the places are told apart. */
static void read_uses(struct gt_block_uses *u, const struct gt_view *v)
{
	uint32_t *stacks;

	gt_block_uses_init(u, v);
	stacks = gt_alloc((u->count + 1) * sizeof *stacks);
	for (size_t i = 0; i < u->count; i++)
		stacks[i] = u->list[i].stack;
	gt_places_list(v->frames, stacks, u->count);
	free(stacks);
}

/* A damaged recording may have held any amount for any time. */
static uint64_t whole(double value)
{
	return value < 1e19 ? (uint64_t)value : UINT64_MAX;
}

static unsigned percent(double part, double all)
{
	return all > 0 ? (unsigned)(100 * part / all + 0.5) : 0;
}

/* The part of a row that a list is about; 0: the row is not in it. */
typedef uint64_t part_fn(const struct gt_block_use *use, uint64_t *blocks);

static uint64_t unnamed(const struct gt_block_use *use, uint64_t *blocks)
{
	*blocks = use->unnamed;
	return use->unnamed_bytes;
}

static uint64_t unread(const struct gt_block_use *use, uint64_t *blocks)
{
	*blocks = use->unread;
	return use->unread_bytes;
}

static void put_place(struct gt_printer *p, const struct gt_view *v, const struct gt_block_use *use)
{
	gt_print_tab(p, NUMBER_COLUMN + 2);
	gt_place_put(p, v, use->stack, gt_print_left(p));
	gt_print_end(p);
}

static void put_more(struct gt_printer *p, size_t more)
{
	if (more)
		gt_print_wrap(p, GT_DIM, 2, "and %zu more: --top N shows them", more);
}

/* The places with blocks of which something is to be said, biggest first within the page. */
static void put_blocks(struct gt_printer *p, const struct gt_view *v, const struct gt_block_uses *u,
		       part_fn *part)
{
	size_t top = v->top ? (size_t)v->top : TOP_DEFAULT, listed = 0;

	for (size_t i = 0; i < u->count; i++) {
		char text[GT_FORMAT_MAX], count[GT_KIND_TEXT];
		uint64_t blocks, bytes = part(&u->list[i], &blocks);

		if (!blocks || listed++ >= top)
			continue;
		gt_print_right(p, GT_BOLD, gt_format_bytes(text, bytes), NUMBER_COLUMN);
		gt_print_put(p, GT_PLAIN, "  %s",
			     gt_kind_count(count, (enum gt_kind)u->list[i].kind, blocks));
		gt_print_end(p);
		put_place(p, v, &u->list[i]);
	}
	put_more(p, listed > top ? listed - top : 0);
	gt_print_end(p);
}

static void put_held(struct gt_printer *p, const struct gt_view *v, const struct gt_block_uses *u)
{
	size_t top = v->top ? (size_t)v->top : TOP_DEFAULT, listed = 0;

	for (size_t i = 0; i < u->count; i++) {
		const struct gt_block_use *use = &u->list[i];
		char after[GT_FORMAT_MAX], text[GT_FORMAT_MAX + 2];

		if (!percent(use->after_byte_seconds, u->total.after_byte_seconds) ||
		    listed++ >= top)
			continue;
		snprintf(text, sizeof text, "%s s",
			 gt_format_bytes(after, whole(use->after_byte_seconds)));
		gt_print_right(p, GT_BOLD, text, NUMBER_COLUMN);
		gt_print_put(p, GT_PLAIN, "  %u %% of what it held",
			     percent(use->after_byte_seconds, use->held_byte_seconds));
		gt_print_end(p);
		put_place(p, v, use);
	}
	put_more(p, listed > top ? listed - top : 0);
	gt_print_end(p);
}

/* What the recording does not know of. */
static void put_limits(struct gt_printer *p, const struct gt_block_uses *u)
{
	char a[GT_FORMAT_MAX];

	gt_print_wrap(p, GT_DIM, 0,
		      "A launch names what its arguments point to. Memory that kernels reach in "
		      "another way, through pointers in device memory or in variables of device "
		      "code, looks unused here.");
	if (u->left_out)
		gt_print_wrap(p, GT_DIM, 0,
			      "Left out: %s %s of other memory (host, managed, mapped, arrays).",
			      gt_format_count(a, u->left_out),
			      gt_plural(u->left_out, "block", "blocks"));
	if (u->blind)
		gt_print_wrap(p, GT_DIM, 0,
			      "%s %s (graphs, kernels with unknown parameters) may have touched "
			      "any memory: blocks alive then count as used.",
			      gt_format_count(a, u->blind),
			      gt_plural(u->blind, "operation", "operations"));
	if (u->lost)
		gt_print_wrap(p, GT_YELLOW, 0, "%s %s could not be recorded.",
			      gt_format_count(a, u->lost),
			      gt_plural(u->lost, "operation", "operations"));
}

static void put_work(struct gt_printer *p, const struct gt_block_uses *u)
{
	char a[GT_FORMAT_MAX], b[GT_FORMAT_MAX], c[GT_FORMAT_MAX], d[GT_FORMAT_MAX];

	gt_print_put(p, GT_BOLD, "TOUCHES");
	gt_print_line(p, GT_PLAIN, "  %s %s, %s %s, %s %s, %s graph %s",
		      gt_format_count(a, u->launches), gt_plural(u->launches, "launch", "launches"),
		      gt_format_count(b, u->copies), gt_plural(u->copies, "copy", "copies"),
		      gt_format_count(c, u->sets), gt_plural(u->sets, "set", "sets"),
		      gt_format_count(d, u->graphs), gt_plural(u->graphs, "launch", "launches"));
	gt_print_end(p);
}

static void put_heading(struct gt_printer *p, const char *title, const char *what, uint64_t blocks,
			uint64_t bytes)
{
	char a[GT_FORMAT_MAX], b[GT_FORMAT_MAX];

	gt_print_put(p, GT_YELLOW, "%s", title);
	gt_print_line(p, GT_PLAIN, "  %s %s of device memory, %s: %s", gt_format_count(a, blocks),
		      gt_plural(blocks, "block", "blocks"), what, gt_format_bytes(b, bytes));
}

void gt_touches_text(const struct gt_view *v, FILE *out)
{
	char a[GT_FORMAT_MAX], b[GT_FORMAT_MAX];
	struct gt_block_uses u;
	struct gt_printer p;

	gt_head_open(&p, out, v);
	read_uses(&u, v);
	if (!u.is_known) {
		gt_print_wrap(
			&p, GT_YELLOW, 0,
			"No GPU work was recorded: record with `gputrack run --touches`, which "
			"follows CUDA by the direct door.");
		goto free_uses;
	}
	put_work(&p, &u);
	if (u.total.unnamed) {
		put_heading(&p, "NEVER USED", "named by no copy, set or launch", u.total.unnamed,
			    u.total.unnamed_bytes);
		put_blocks(&p, v, &u, unnamed);
	}
	if (u.total.unread) {
		put_heading(&p, "NEVER READ",
			    "only written, by copies or sets, and named by no launch",
			    u.total.unread, u.total.unread_bytes);
		put_blocks(&p, v, &u, unread);
	}
	if (percent(u.total.after_byte_seconds, u.total.held_byte_seconds)) {
		gt_print_put(&p, GT_YELLOW, "HELD AFTER THE LAST USE");
		gt_print_line(&p, GT_PLAIN,
			      "  %u %% of device memory, by bytes times seconds: %s s of %s s",
			      percent(u.total.after_byte_seconds, u.total.held_byte_seconds),
			      gt_format_bytes(a, whole(u.total.after_byte_seconds)),
			      gt_format_bytes(b, whole(u.total.held_byte_seconds)));
		put_held(&p, v, &u);
	}
	put_limits(&p, &u);
	gt_head_modules(&p, v, 3);
free_uses:
	gt_block_uses_fini(&u);
}

static void use_json(struct gt_json *j, const struct gt_view *v, const struct gt_block_use *use)
{
	gt_json_object(j, NULL);
	gt_kind_json(j, use->api, use->kind);
	gt_json_uint(j, "count", use->count);
	gt_json_uint(j, "bytes", use->bytes);
	gt_json_uint(j, "unused_count", use->unnamed);
	gt_json_uint(j, "unused_bytes", use->unnamed_bytes);
	gt_json_uint(j, "unread_count", use->unread);
	gt_json_uint(j, "unread_bytes", use->unread_bytes);
	gt_json_real(j, "held_byte_seconds", use->held_byte_seconds);
	gt_json_real(j, "held_after_use_byte_seconds", use->after_byte_seconds);
	gt_place_and_stack_json(j, v->frames, use->stack);
	gt_json_end(j);
}

void gt_touches_json(const struct gt_view *v, FILE *out)
{
	struct gt_block_uses u;
	struct gt_json j;

	gt_head_json(&j, out, v, "touches");
	read_uses(&u, v);
	gt_totals_json(&j, u.total.count, u.total.bytes);
	gt_json_bool(&j, "known", u.is_known);
	gt_json_line(&j, "work");
	gt_json_uint(&j, "launches", u.launches);
	gt_json_uint(&j, "copies", u.copies);
	gt_json_uint(&j, "sets", u.sets);
	gt_json_uint(&j, "graphs", u.graphs);
	gt_json_uint(&j, "unseen", u.blind);
	gt_json_uint(&j, "lost", u.lost);
	gt_json_end(&j);
	gt_json_uint(&j, "left_out", u.left_out);
	gt_json_uint(&j, "unsure", u.unsure);
	gt_json_array(&j, "groups");
	for (size_t i = 0; i < u.count && (!v->top || i < v->top); i++)
		use_json(&j, v, &u.list[i]);
	gt_json_end(&j);
	gt_foot_json(&j, v);
	gt_block_uses_fini(&u);
}

void gt_touches_tsv(const struct gt_view *v, FILE *out)
{
	struct gt_block_uses u;

	read_uses(&u, v);
	fputs("created\tcreated_bytes\tunused\tunused_bytes\tunread\tunread_bytes"
	      "\theld_byte_seconds\theld_after_use\tapi\tkind\tstack\twhere\n",
	      out);
	for (size_t i = 0; i < u.count && (!v->top || i < v->top); i++) {
		const struct gt_block_use *use = &u.list[i];

		fprintf(out,
			"%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64
			"\t%.0f\t%.0f\t%s\t%s\t",
			use->count, use->bytes, use->unnamed, use->unnamed_bytes, use->unread,
			use->unread_bytes, use->held_byte_seconds, use->after_byte_seconds,
			gt_api_keys[use->api], gt_kinds[use->kind].name);
		gt_place_end_tsv(out, v->frames, use->stack);
	}
	gt_block_uses_fini(&u);
}
