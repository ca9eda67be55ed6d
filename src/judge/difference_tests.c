/* SPDX-License-Identifier: MIT */
/* difference_tests.c - a comparison of several recordings: their tests, before and now. */
#include <stdlib.h>
#include <string.h>

#include "base/format.h"
#include "base/mem.h"
#include "judge/difference_rows.h"

/* Of the recordings of a test on one side: the most that any of them leaked. */
struct figures {
	size_t runs;
	uint64_t count, bytes, peak_bytes;
};

struct test {
	char *name;
	struct figures old, new;
};

struct tests {
	struct test *list;
	size_t count, room;
};

static struct test *test_of(struct tests *tests, const struct gt_view *v)
{
	char *name = gt_test_name(gt_recording_path(v->recording));

	for (size_t i = 0; i < tests->count; i++)
		if (!strcmp(tests->list[i].name, name)) {
			free(name);
			return &tests->list[i];
		}
	GT_GROW(tests->list, tests->count, tests->room);
	tests->list[tests->count] = (struct test){ .name = name };
	return &tests->list[tests->count++];
}

static void add_run(struct figures *f, const struct gt_view *v)
{
	struct gt_leaked left = gt_ledger_leaked(v->ledger);
	uint64_t bytes = left.device_bytes + left.host_bytes;

	f->runs++;
	f->count = left.count > f->count ? left.count : f->count;
	f->bytes = bytes > f->bytes ? bytes : f->bytes;
	f->peak_bytes =
		v->ledger->peak_bytes > f->peak_bytes ? v->ledger->peak_bytes : f->peak_bytes;
}

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct test *)a)->name, ((const struct test *)b)->name);
}

static void tests_init(struct tests *tests, const struct gt_diff *d)
{
	*tests = (struct tests){ 0 };
	for (size_t i = 0; i < d->old.views.count; i++)
		add_run(&test_of(tests, d->old.views.list[i])->old, d->old.views.list[i]);
	for (size_t i = 0; i < d->new.views.count; i++)
		add_run(&test_of(tests, d->new.views.list[i])->new, d->new.views.list[i]);
	qsort(tests->list, tests->count, sizeof *tests->list, by_name);
}

static void tests_fini(struct tests *tests)
{
	for (size_t i = 0; i < tests->count; i++)
		free(tests->list[i].name);
	free(tests->list);
}

static void put_side(struct gt_printer *p, const char *word, const struct gt_diff_side *side)
{
	gt_print_put(p, GT_PLAIN, "  %s ", word);
	gt_print_path(p, GT_PLAIN, gt_style_relative(&p->style, side->name), gt_print_left(p) / 2);
	gt_print_line(p, GT_PLAIN, ": %zu %s", side->views.count,
		      gt_plural(side->views.count, "recording", "recordings"));
}

/* "12 → 14", or one of them alone; "-" where the test was not run. */
static void put_pair(struct gt_printer *p, const struct test *test, const char *before,
		     const char *now, bool worse, unsigned column)
{
	char text[2 * GT_FORMAT_MAX + 8];

	if (!strcmp(before, now))
		snprintf(text, sizeof text, "%s", now);
	else
		snprintf(text, sizeof text, "%s %s %s", before, p->style.utf8 ? "→" : "->", now);
	gt_print_right(p, worse && test->old.runs && test->new.runs ? GT_RED : GT_PLAIN, text,
		       column);
}

static void put_test(struct gt_printer *p, const struct test *test)
{
	const struct figures *old = &test->old, *new = &test->new;
	char a[GT_FORMAT_MAX], b[GT_FORMAT_MAX];

	put_pair(p, test, old->runs ? gt_format_count(a, old->count) : "-",
		 new->runs ? gt_format_count(b, new->count) : "-", new->count > old->count, 16);
	put_pair(p, test, old->runs ? gt_format_bytes(a, old->bytes) : "-",
		 new->runs ? gt_format_bytes(b, new->bytes) : "-", new->bytes > old->bytes, 38);
	put_pair(p, test, old->runs ? gt_format_bytes(a, old->peak_bytes) : "-",
		 new->runs ? gt_format_bytes(b, new->peak_bytes) : "-", false, 60);
	gt_print_tab(p, 62);
	gt_print_name(p, GT_BOLD, test->name, gt_print_left(p));
	gt_print_end(p);
}

void gt_diff_tests_text(const struct gt_diff *d, struct gt_printer *p)
{
	struct tests tests;

	put_side(p, "old", &d->old);
	put_side(p, "new", &d->new);
	gt_print_end(p);
	gt_print_line(p, GT_BOLD, "TESTS");
	gt_print_right(p, GT_DIM, "leaked", 16);
	gt_print_right(p, GT_DIM, "bytes", 38);
	gt_print_right(p, GT_DIM, "peak", 60);
	gt_print_tab(p, 62);
	gt_print_line(p, GT_DIM, "test");
	tests_init(&tests, d);
	for (size_t i = 0; i < tests.count; i++)
		put_test(p, &tests.list[i]);
	tests_fini(&tests);
}

static void figures_json(struct gt_json *j, const char *key, const struct figures *f)
{
	gt_json_line(j, key);
	gt_json_uint(j, "runs", f->runs);
	gt_json_uint(j, "leaked", f->count);
	gt_json_uint(j, "leaked_bytes", f->bytes);
	gt_json_uint(j, "peak_bytes", f->peak_bytes);
	gt_json_end(j);
}

void gt_diff_tests_json(const struct gt_diff *d, struct gt_json *j)
{
	struct tests tests;

	tests_init(&tests, d);
	gt_json_array(j, "tests");
	for (size_t i = 0; i < tests.count; i++) {
		gt_json_object(j, NULL);
		gt_json_text(j, "test", tests.list[i].name);
		figures_json(j, "old", &tests.list[i].old);
		figures_json(j, "new", &tests.list[i].new);
		gt_json_end(j);
	}
	gt_json_end(j);
	tests_fini(&tests);
}
