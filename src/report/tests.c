/* SPDX-License-Identifier: MIT */
/* tests.c - several recordings in one report: their tests, and each leak once. */
#include "report/tests.h"

#include <stdlib.h>
#include <string.h>

#include "base/format.h"
#include "base/mem.h"
#include "replay/call_text.h"
#include "replay/group_text.h"
#include "replay/head.h"
#include "replay/place.h"
#include "replay/stack.h"

enum { LEAKS_SHOWN = 20, TESTS_NAMED = 4, DOUBTS_SHOWN = 5, FRAMES_SHOWN = 3 };

/* From the best to the worst; recordings that tracked nothing matter only if all are such. */
static const struct {
	const char *words;
	int rank;
	enum gt_paint paint;
} outcomes[] = {
	[GT_OUTCOME_UNTRACKED] = { "nothing tracked", 0, GT_DIM },
	[GT_OUTCOME_PASSED] = { "passed", 1, GT_GREEN },
	[GT_OUTCOME_UNSURE] = { "cannot be told", 2, GT_YELLOW },
	[GT_OUTCOME_PEAK] = { "peak too high", 3, GT_RED },
	[GT_OUTCOME_GROWING] = { "keeps growing", 4, GT_RED },
	[GT_OUTCOME_LEAKED] = { "leaked", 5, GT_RED },
};

static bool is_failing(enum gt_outcome outcome)
{
	return outcomes[outcome].rank > outcomes[GT_OUTCOME_PASSED].rank;
}

static void worsen(enum gt_outcome *outcome, enum gt_outcome other)
{
	if (outcomes[other].rank > outcomes[*outcome].rank)
		*outcome = other;
}

static uint64_t most(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static void add_run(struct gt_test *test, const struct gt_verdict *verdict)
{
	test->runs++;
	test->failing += is_failing(verdict->outcome);
	worsen(&test->outcome, verdict->outcome);
	test->count = most(test->count, verdict->counted.count);
	test->bytes = most(test->bytes, verdict->counted.bytes);
	test->peak_bytes = most(test->peak_bytes, verdict->peak_bytes);
}

void gt_tests_init(struct gt_tests *tests, const struct gt_views *views)
{
	*tests = (struct gt_tests){ .list = gt_alloc(views->count * sizeof *tests->list),
				    .outcome = GT_OUTCOME_UNTRACKED };
	for (size_t i = 0; i < views->count; i++) {
		char *name = gt_test_name(gt_recording_path(views->list[i]->recording));
		struct gt_test *last = &tests->list[tests->count - 1];

		if (tests->count && !strcmp(last->name, name)) {
			free(name);
		} else {
			last = &tests->list[tests->count++];
			*last = (struct gt_test){ .name = name,
						  .first = i,
						  .outcome = GT_OUTCOME_UNTRACKED };
		}
		add_run(last, views->list[i]->verdict);
	}
	for (size_t i = 0; i < tests->count; i++) {
		tests->failing += tests->list[i].failing > 0;
		worsen(&tests->outcome, tests->list[i].outcome);
	}
}

void gt_tests_fini(struct gt_tests *tests)
{
	for (size_t i = 0; i < tests->count; i++)
		free(tests->list[i].name);
	free(tests->list);
}

/* True if a recording has a leak with this key, and it counts. */
static bool has_leak(const struct gt_view *v, uint64_t key)
{
	const struct gt_leak *leak = gt_leaks_find(&v->verdict->leaks, key);
	struct gt_leak_part new = leak ? gt_leak_new(leak) : (struct gt_leak_part){ 0 };

	return new.count || new.bytes;
}

/* How many runs of a test have a leak that counts. */
static size_t runs_with(const struct gt_test *test, const struct gt_views *views, uint64_t key)
{
	size_t runs = 0;

	for (size_t i = 0; i < test->runs; i++)
		runs += has_leak(views->list[test->first + i], key);
	return runs;
}

/* "in alloc, flaky (2 of 4 runs) and 3 more tests" */
static void put_tests_with(struct gt_printer *p, const struct gt_tests *tests,
			   const struct gt_views *views, uint64_t key)
{
	const char *before = "in ";
	size_t named = 0, more = 0;

	gt_print_tab(p, 22);
	for (size_t i = 0; i < tests->count; i++) {
		const struct gt_test *test = &tests->list[i];
		size_t runs = runs_with(test, views, key);

		if (!runs)
			continue;
		if (named++ >= TESTS_NAMED) {
			more++;
			continue;
		}
		gt_print_put(p, GT_PLAIN, "%s", before);
		gt_print_name(p, GT_PLAIN, test->name, gt_print_left(p));
		if (runs < test->runs)
			gt_print_put(p, GT_DIM, " (%zu of %zu runs)", runs, test->runs);
		before = ", ";
	}
	if (more)
		gt_print_put(p, GT_PLAIN, " and %zu more %s", more,
			     gt_plural(more, "test", "tests"));
	gt_print_end(p);
}

static void put_leak(struct gt_printer *p, const struct gt_view *v, const struct gt_leak *leak)
{
	char text[GT_KIND_TEXT];

	gt_print_right(p, GT_PLAIN, leak->bytes ? gt_format_bytes(text, leak->bytes) : "-", 12);
	gt_print_tab(p, 14);
	gt_print_put(p, GT_PLAIN, "%s", gt_kind_count(text, (enum gt_kind)leak->kind, leak->count));
	gt_print_line(p, GT_PLAIN, " by %s (%s)%s%s",
		      gt_call_name(text, v, leak->function, leak->stack), gt_api_names[leak->api],
		      leak->fate == GT_FATE_LEAKED ? "" : ", ",
		      leak->fate == GT_FATE_LEAKED ? "" : gt_fate_phrases[leak->fate]);
}

/* Drops what does not count. */
static void keep_counted(struct gt_merged *m)
{
	size_t kept = 0;

	for (size_t i = 0; i < m->leaks.count; i++) {
		struct gt_leak_part new = gt_leak_new(&m->leaks.list[i]);

		if (!new.count && !new.bytes)
			continue;
		m->leaks.list[kept] = m->leaks.list[i];
		m->from[kept++] = m->from[i];
	}
	m->leaks.count = kept;
}

static void put_leaks(struct gt_printer *p, const struct gt_tests *tests,
		      const struct gt_views *views, bool whole)
{
	size_t top = (size_t)views->list[0]->top, shown = top ? top : LEAKS_SHOWN;
	struct gt_merged m;

	gt_merged_init(&m, views);
	keep_counted(&m);
	gt_merged_list_places(&m, views);
	gt_print_end(p);
	if (!m.leaks.count) {
		gt_print_line(p, GT_GREEN, "No leaks in any of the tests.");
	} else {
		gt_print_put(p, GT_RED, "LEAKED");
		gt_print_line(p, GT_BOLD, "  %zu %s; figures are those of the worst run",
			      m.leaks.count, gt_plural(m.leaks.count, "call site", "call sites"));
	}
	for (size_t i = 0; i < m.leaks.count && i < shown; i++) {
		const struct gt_view *v = views->list[m.from[i]];

		put_leak(p, v, &m.leaks.list[i]);
		put_tests_with(p, tests, views, m.leaks.list[i].key);
		if (whole)
			gt_stack_text(p, v, m.leaks.list[i].stack, 24);
		else
			gt_stack_brief(p, v, m.leaks.list[i].stack, FRAMES_SHOWN, 24);
	}
	if (m.leaks.count > shown)
		gt_print_wrap(p, GT_DIM, 22, "and %zu more: --top N shows them",
			      m.leaks.count - shown);
	gt_merged_fini(&m);
}

static void put_test(struct gt_printer *p, const struct gt_test *test)
{
	char text[GT_FORMAT_MAX];

	gt_print_right(p, GT_PLAIN, gt_format_count(text, test->runs), 8);
	gt_print_right(p, test->count ? GT_RED : GT_PLAIN,
		       test->count ? gt_format_count(text, test->count) : "-", 17);
	gt_print_right(p, GT_PLAIN, test->bytes ? gt_format_bytes(text, test->bytes) : "-", 28);
	gt_print_right(p, GT_PLAIN,
		       test->peak_bytes ? gt_format_bytes(text, test->peak_bytes) : "-", 39);
	gt_print_tab(p, 41);
	gt_print_put(p, outcomes[test->outcome].paint, "%s", outcomes[test->outcome].words);
	if (test->failing && test->failing < test->runs)
		gt_print_put(p, GT_PLAIN, ", %zu of %zu", test->failing, test->runs);
	gt_print_tab(p, 60);
	gt_print_name(p, GT_BOLD, test->name, gt_print_left(p));
	gt_print_end(p);
}

static void put_doubts(struct gt_printer *p, const struct gt_views *views)
{
	size_t count = 0;

	for (size_t i = 0; i < views->count; i++) {
		const struct gt_verdict *verdict = views->list[i]->verdict;
		const char *path = gt_recording_path(views->list[i]->recording);

		if (verdict->outcome == GT_OUTCOME_UNSURE && count++ < DOUBTS_SHOWN)
			gt_print_wrap(p, GT_YELLOW, 2, "%s: %s", gt_style_relative(&p->style, path),
				      verdict->doubt);
	}
	if (count > DOUBTS_SHOWN)
		gt_print_wrap(p, GT_YELLOW, 2, "and %zu more recordings that leave it open",
			      count - DOUBTS_SHOWN);
}

void gt_tests_text(const struct gt_tests *tests, const struct gt_views *views, bool whole,
		   FILE *out)
{
	static const struct {
		const char *title;
		unsigned column;
	} titles[] = { { "runs", 8 }, { "leaked", 17 }, { "bytes", 28 }, { "peak", 39 } };
	struct gt_printer p;

	gt_print_init(&p, out, &views->list[0]->style);
	gt_print_line(&p, GT_BOLD, "gputrack report");
	gt_print_line(&p, GT_PLAIN, "  %zu %s of %zu %s", views->count,
		      gt_plural(views->count, "recording", "recordings"), tests->count,
		      gt_plural(tests->count, "test", "tests"));
	gt_print_end(&p);
	gt_print_line(&p, GT_BOLD, "TESTS");
	for (size_t i = 0; i < sizeof titles / sizeof *titles; i++)
		gt_print_right(&p, GT_DIM, titles[i].title, titles[i].column);
	gt_print_tab(&p, 41);
	gt_print_put(&p, GT_DIM, "outcome");
	gt_print_tab(&p, 60);
	gt_print_line(&p, GT_DIM, "test");
	for (size_t i = 0; i < tests->count; i++)
		put_test(&p, &tests->list[i]);
	put_doubts(&p, views);
	put_leaks(&p, tests, views, whole);
}

void gt_tests_verdict(const struct gt_tests *tests, const struct gt_views *views,
		      struct gt_printer *p)
{
	const struct gt_verdict *first = views->list[0]->verdict;
	bool is_asked =
		first->options.fails_on_leak || first->options.max_peak || first->options.growth;

	if (!is_asked) {
		size_t leaking = 0;

		for (size_t i = 0; i < tests->count; i++)
			leaking += tests->list[i].count > 0;
		gt_print_wrap(p, GT_PLAIN, 0, "COUNTED  leaks in %zu of %zu %s", leaking,
			      tests->count, gt_plural(tests->count, "test", "tests"));
	} else if (tests->outcome == GT_OUTCOME_UNTRACKED) {
		gt_print_wrap(p, GT_RED, 0, "FAILED  %s", first->doubt ? first->doubt : "");
	} else if (!tests->failing) {
		gt_print_wrap(p, GT_GREEN, 0, "PASSED  %zu %s", tests->count,
			      gt_plural(tests->count, "test", "tests"));
	} else {
		bool unsure = tests->outcome == GT_OUTCOME_UNSURE;

		gt_print_wrap(p, unsure ? GT_YELLOW : GT_RED, 0,
			      unsure ? "UNSURE  %zu of %zu %s" : "FAILED  %zu of %zu %s",
			      tests->failing, tests->count,
			      gt_plural(tests->count, "test", "tests"));
	}
	for (size_t i = 0; is_asked && i < tests->count; i++)
		if (tests->list[i].failing)
			gt_print_wrap(p, GT_PLAIN, 2, "%s: %s", tests->list[i].name,
				      outcomes[tests->list[i].outcome].words);
	gt_verdict_suppressions(first, p);
}

static void test_json(struct gt_json *j, const struct gt_test *test)
{
	gt_json_line(j, NULL);
	gt_json_text(j, "test", test->name);
	gt_json_uint(j, "runs", test->runs);
	gt_json_uint(j, "failing_runs", test->failing);
	gt_json_text(j, "outcome", gt_outcome_name(test->outcome));
	gt_json_uint(j, "leaked", test->count);
	gt_json_uint(j, "leaked_bytes", test->bytes);
	gt_json_uint(j, "peak_bytes", test->peak_bytes);
	gt_json_end(j);
}

static void recording_json(struct gt_json *j, const struct gt_view *v, const char *test)
{
	const struct gt_verdict *verdict = v->verdict;

	gt_json_line(j, NULL);
	gt_json_text(j, "path", gt_recording_path(v->recording));
	gt_json_text(j, "test", test);
	gt_json_text(j, "command", gt_recording_info(v->recording, "command"));
	gt_json_text(j, "outcome", gt_outcome_name(verdict->outcome));
	gt_json_text(j, "reason", verdict->doubt);
	gt_json_uint(j, "leaked", verdict->counted.count);
	gt_json_uint(j, "leaked_bytes", verdict->counted.bytes);
	gt_json_uint(j, "peak_bytes", verdict->peak_bytes);
	gt_json_uint(j, "events", v->ledger->events);
	gt_json_end(j);
}

static void leak_json(struct gt_json *j, const struct gt_tests *tests, const struct gt_views *views,
		      const struct gt_view *v, const struct gt_leak *leak)
{
	gt_json_object(j, NULL);
	gt_kind_json(j, leak->api, leak->kind);
	gt_json_text(j, "function", gt_function_names[leak->function]);
	gt_json_text(j, "fate", gt_fate_keys[leak->fate]);
	gt_json_uint(j, "count", leak->count);
	gt_json_uint(j, "bytes", leak->bytes);
	gt_json_bool(j, "fails", gt_verdict_fails(v->verdict, leak));
	gt_json_array(j, "tests");
	for (size_t i = 0; i < tests->count; i++) {
		const struct gt_test *test = &tests->list[i];
		size_t runs = runs_with(test, views, leak->key);

		if (!runs)
			continue;
		gt_json_line(j, NULL);
		gt_json_text(j, "test", test->name);
		gt_json_uint(j, "runs", runs);
		gt_json_array(j, "recordings");
		for (size_t run = test->first; run < test->first + test->runs; run++)
			if (has_leak(views->list[run], leak->key))
				gt_json_uint(j, NULL, run);
		gt_json_end(j);
		gt_json_end(j);
	}
	gt_json_end(j);
	gt_place_and_stack_json(j, v->frames, leak->stack);
	gt_json_end(j);
}

/* At most so many leaks. */
static void tests_json(struct gt_json *j, const struct gt_tests *tests,
		       const struct gt_views *views, size_t most)
{
	struct gt_merged m;

	gt_merged_init(&m, views);
	keep_counted(&m);
	gt_merged_list_places(&m, views);
	gt_json_uint(j, "schema", 1);
	gt_json_text(j, "analysis", "tests");
	gt_json_text(j, "outcome", gt_outcome_name(tests->outcome));
	gt_json_array(j, "tests");
	for (size_t i = 0; i < tests->count; i++)
		test_json(j, &tests->list[i]);
	gt_json_end(j);
	gt_json_array(j, "recordings");
	for (size_t i = 0; i < tests->count; i++)
		for (size_t k = 0; k < tests->list[i].runs; k++)
			recording_json(j, views->list[tests->list[i].first + k],
				       tests->list[i].name);
	gt_json_end(j);
	gt_json_array(j, "groups");
	for (size_t i = 0; i < m.leaks.count && i < most; i++)
		leak_json(j, tests, views, views->list[m.from[i]], &m.leaks.list[i]);
	gt_json_end(j);
	if (m.leaks.count > most)
		gt_json_uint(j, "more_groups", m.leaks.count - most);
	gt_json_finish(j);
	gt_merged_fini(&m);
}

void gt_tests_json(const struct gt_tests *tests, const struct gt_views *views, FILE *out)
{
	struct gt_json j;

	gt_json_begin(&j, out);
	tests_json(&j, tests, views, SIZE_MAX);
}

void gt_tests_page_json(const struct gt_tests *tests, const struct gt_views *views, size_t most,
			FILE *out)
{
	struct gt_json j;

	gt_json_begin(&j, out);
	j.in_html = true;
	j.flat = 1;
	tests_json(&j, tests, views, most);
}
