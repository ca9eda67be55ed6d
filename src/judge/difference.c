/* SPDX-License-Identifier: MIT */
/* difference.c - two recordings compared: what leaks now and did not, what no longer leaks. */
#include "judge/difference.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/format.h"
#include "base/json.h"
#include "base/mem.h"
#include "replay/group_text.h"
#include "replay/head.h"
#include "replay/stack.h"

enum { TOP_DEFAULT = 20, FRAMES_SHOWN = 3 };

static const struct {
	const char *name, *title;
	enum gt_paint paint;
} changes[] = {
	[GT_DIFF_NEW] = { "new", "NEW", GT_RED },
	[GT_DIFF_GREW] = { "grew", "GREW", GT_RED },
	[GT_DIFF_SHRANK] = { "shrank", "SHRANK", GT_YELLOW },
	[GT_DIFF_FIXED] = { "fixed", "FIXED", GT_GREEN },
	[GT_DIFF_SAME] = { "same", "AS BEFORE", GT_DIM },
};

static uint64_t count_of(const struct gt_leak *leak)
{
	return leak ? leak->count : 0;
}

static uint64_t bytes_of(const struct gt_leak *leak)
{
	return leak ? leak->bytes : 0;
}

/* More bytes or more resources is growth, even if there is less of the other. */
static enum gt_leak_change change_of(const struct gt_leak *before, const struct gt_leak *now)
{
	if (!before)
		return GT_DIFF_NEW;
	if (!now)
		return GT_DIFF_FIXED;
	if (now->bytes > before->bytes || now->count > before->count)
		return GT_DIFF_GREW;
	if (now->bytes < before->bytes || now->count < before->count)
		return GT_DIFF_SHRANK;
	return GT_DIFF_SAME;
}

static int biggest_change_first(const void *a, const void *b)
{
	const struct gt_diff_row *x = a, *y = b;
	uint64_t p = gt_distance(bytes_of(x->before), bytes_of(x->now));
	uint64_t q = gt_distance(bytes_of(y->before), bytes_of(y->now));

	if (x->change != y->change)
		return (int)x->change - (int)y->change;
	if (p != q)
		return p > q ? -1 : 1;
	p = gt_distance(count_of(x->before), count_of(x->now));
	q = gt_distance(count_of(y->before), count_of(y->now));
	if (p != q)
		return p > q ? -1 : 1;
	return strcmp((x->now ? x->now : x->before)->key, (y->now ? y->now : y->before)->key);
}

static void add_row(struct gt_diff *d, const struct gt_leak *before, const struct gt_leak *now)
{
	struct gt_diff_row *row = &d->rows[d->count++];

	*row = (struct gt_diff_row){ .change = change_of(before, now),
				     .before = before,
				     .now = now };
	d->counts[row->change]++;
}

void gt_diff_init(struct gt_diff *d, const struct gt_view *old_view, const struct gt_view *new_view)
{
	*d = (struct gt_diff){ .old_view = old_view, .new_view = new_view };
	gt_leaks_init(&d->before, old_view);
	gt_leaks_init(&d->now, new_view);
	gt_compare_init(&d->used, old_view, new_view);
	d->rows = gt_alloc((d->before.count + d->now.count) * sizeof *d->rows);
	for (size_t i = 0; i < d->now.count; i++)
		add_row(d, gt_leaks_find(&d->before, d->now.list[i].key), &d->now.list[i]);
	for (size_t i = 0; i < d->before.count; i++)
		if (!gt_leaks_find(&d->now, d->before.list[i].key))
			add_row(d, &d->before.list[i], NULL);
	qsort(d->rows, d->count, sizeof *d->rows, biggest_change_first);
}

void gt_diff_fini(struct gt_diff *d)
{
	gt_leaks_fini(&d->before);
	gt_leaks_fini(&d->now);
	gt_compare_fini(&d->used);
	free(d->rows);
}

static void put_row(struct gt_printer *p, const struct gt_diff *d, const struct gt_diff_row *row)
{
	const struct gt_leak *leak = row->now ? row->now : row->before;
	const struct gt_view *v = row->now ? d->new_view : d->old_view;
	char a[GT_KIND_TEXT], b[GT_FORMAT_MAX], c[GT_FORMAT_MAX];
	bool both = row->now && row->before;

	gt_put_change(p, bytes_of(row->before), bytes_of(row->now), true, 12);
	gt_put_change(p, count_of(row->before), count_of(row->now), false, 20);
	gt_print_tab(p, 22);
	gt_print_put(p, GT_PLAIN, "%s", gt_kind_count(a, (enum gt_kind)leak->kind, leak->count));
	if (both && row->change != GT_DIFF_SAME)
		gt_print_put(p, GT_DIM, " (were %s, %s)", gt_format_count(b, row->before->count),
			     gt_format_bytes(c, row->before->bytes));
	gt_print_put(p, GT_PLAIN, " by %s (%s)", gt_function_words(a, leak->function),
		     gt_api_names[leak->api]);
	gt_print_end(p);
	gt_stack_text(p, v, leak->stack, FRAMES_SHOWN, 24);
}

static void put_recording(struct gt_printer *p, const char *word, const struct gt_view *v,
			  const struct gt_leaks *leaks)
{
	uint64_t count = 0, bytes = 0;
	char a[GT_FORMAT_MAX], b[GT_FORMAT_MAX];

	for (size_t i = 0; i < leaks->count; i++) {
		count += leaks->list[i].count;
		bytes += leaks->list[i].bytes;
	}
	gt_print_put(p, GT_PLAIN, "  %s ", word);
	gt_print_path(p, GT_PLAIN, gt_style_relative(&v->style, gt_recording_path(v->recording)),
		      gt_print_left(p) / 2);
	gt_print_put(p, GT_PLAIN, ": %s %s leaked", gt_format_count(a, count),
		     gt_plural(count, "resource", "resources"));
	if (bytes)
		gt_print_put(p, GT_PLAIN, ", %s", gt_format_bytes(b, bytes));
	gt_print_end(p);
	gt_compare_totals(p, v);
	gt_head_gaps(p, v);
}

static bool has_gaps(const struct gt_diff *d)
{
	return gt_head_has_gaps(d->old_view->recording) || gt_head_has_gaps(d->new_view->recording);
}

void gt_diff_text(const struct gt_diff *d, FILE *out)
{
	size_t most = d->new_view->top ? (size_t)d->new_view->top : TOP_DEFAULT, at = 0;
	struct gt_printer p;

	gt_print_init(&p, out, &d->new_view->style);
	gt_print_put(&p, GT_BOLD, "gputrack diff");
	gt_print_end(&p);
	put_recording(&p, "old", d->old_view, &d->before);
	put_recording(&p, "new", d->new_view, &d->now);
	for (int change = 0; change < GT_DIFF_COUNT; at += d->counts[change++]) {
		size_t shown = d->counts[change] < most ? d->counts[change] : most;

		/* for sites that did not change the number is enough */
		if (!d->counts[change])
			continue;
		gt_print_end(&p);
		gt_print_put(&p, changes[change].paint, "%s", changes[change].title);
		gt_print_put(&p, GT_BOLD, "  %zu %s", d->counts[change],
			     gt_plural(d->counts[change], "call site", "call sites"));
		gt_print_end(&p);
		if (change == GT_DIFF_SAME)
			continue;
		for (size_t i = 0; i < shown; i++)
			put_row(&p, d, &d->rows[at + i]);
		if (shown < d->counts[change])
			gt_print_wrap(&p, GT_DIM, 22, "and %zu more: --top N shows them",
				      d->counts[change] - shown);
	}
	gt_compare_text(&p, &d->used, (size_t)d->new_view->top);
	if (!d->counts[GT_DIFF_NEW] && !d->counts[GT_DIFF_GREW] && !has_gaps(d)) {
		gt_print_end(&p);
		gt_print_wrap(&p, GT_GREEN, 0, "Nothing leaks that did not before.");
	}
}

static void leak_json(struct gt_json *j, const char *key, const struct gt_leak *leak)
{
	gt_json_line(j, key);
	gt_json_uint(j, "count", count_of(leak));
	gt_json_uint(j, "bytes", bytes_of(leak));
	gt_json_end(j);
}

static void row_json(struct gt_json *j, const struct gt_diff *d, const struct gt_diff_row *row)
{
	const struct gt_leak *leak = row->now ? row->now : row->before;

	gt_json_object(j, NULL);
	gt_json_text(j, "change", changes[row->change].name);
	gt_json_text(j, "api", gt_api_keys[leak->api]);
	gt_json_text(j, "kind", gt_kinds[leak->kind].name);
	gt_json_text(j, "type", gt_kinds[leak->kind].type[leak->api]);
	gt_json_text(j, "function", gt_function_names[leak->function]);
	leak_json(j, "old", row->before);
	leak_json(j, "new", row->now);
	gt_stack_json(j, "stack", (row->now ? d->new_view : d->old_view)->frames, leak->stack);
	gt_json_end(j);
}

void gt_diff_json(const struct gt_diff *d, FILE *out)
{
	struct gt_json j;

	gt_json_begin(&j, out);
	gt_json_uint(&j, "schema", 1);
	gt_json_text(&j, "analysis", "diff");
	gt_json_text(&j, "old", gt_recording_path(d->old_view->recording));
	gt_json_text(&j, "new", gt_recording_path(d->new_view->recording));
	gt_json_bool(&j, "gaps", has_gaps(d));
	gt_json_line(&j, "counts");
	for (int change = 0; change < GT_DIFF_COUNT; change++)
		gt_json_uint(&j, changes[change].name, d->counts[change]);
	gt_json_end(&j);
	gt_compare_json(&j, &d->used);
	gt_json_array(&j, "sites");
	for (size_t i = 0; i < d->count; i++)
		row_json(&j, d, &d->rows[i]);
	gt_json_end(&j);
	gt_json_finish(&j);
}
