/* SPDX-License-Identifier: MIT */
/* test_held.c - the list of what libraries hold, against stacks that were recorded. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/text.h"
#include "replay/held.h"

enum { FRAMES_MAX = 64 };

/* A stack of held_stacks.txt: "held opencl.program clCreateProgramWithSource  case", then frames.
 */
struct recorded {
	char *head, *kind, *function;
	bool is_held;
	struct gt_frame frames[FRAMES_MAX];
	size_t count;
};

typedef void recorded_fn(const struct recorded *r);

/* "\tMODULE\tFUNCTION" */
static void add_frame(struct recorded *r, char *line)
{
	struct gt_frame frame = { 0 };
	char *function = strchr(line, '\t');

	if (function)
		*function++ = '\0';
	frame.module = *line ? line : NULL;
	frame.function = function && *function ? function : NULL;
	assert_true(r->count < FRAMES_MAX);
	r->frames[r->count++] = frame;
}

static void begin(struct recorded *r, char *line)
{
	char *rest = line;

	*r = (struct recorded){ .head = line };
	r->is_held = gt_text_begins(line, "held ");
	assert_true(r->is_held || gt_text_begins(line, "leak "));
	strsep(&rest, " ");
	r->kind = strsep(&rest, " ");
	r->function = strsep(&rest, " ");
	assert_non_null(r->function);
}

static void each_stack(recorded_fn *call)
{
	const char *path = getenv("GT_HELD_STACKS");
	struct recorded r = { 0 };
	char *text = NULL, *rest;
	size_t room = 0;
	FILE *in = path ? fopen(path, "re") : NULL;

	assert_non_null(in);
	assert_true(getdelim(&text, &room, '\0', in) > 0);
	fclose(in);
	rest = text;
	for (char *line; (line = strsep(&rest, "\n"));) {
		if (*line == '\t')
			add_frame(&r, line + 1);
		if (*line == '\t' || *line == '#' || !*line)
			continue;
		if (r.kind)
			call(&r);
		begin(&r, line);
	}
	assert_non_null(r.kind);
	call(&r);
	free(text);
}

/* The entry that holds it, by its index; -1: none. */
static int entry_of(const struct recorded *r)
{
	const struct gt_held_entry *list;
	size_t count = gt_held_list(&list);
	struct gt_select what = { 0 };

	if (!gt_select_add(&what, r->kind, strlen(r->kind)))
		fail_msg("%s is no kind", r->kind);
	for (int api = 0; api < GT_API_COUNT; api++)
		for (int kind = 0; kind < GT_KIND_COUNT; kind++) {
			struct gt_suppressions rules = { 0 };

			if (!what.has[api][kind])
				continue;
			for (size_t i = 0; i < count; i++) {
				rules.list = (struct gt_suppression *)list[i].rule;
				rules.count = 1;
				if (gt_suppressions_find(&rules, (enum gt_api)api,
							 (enum gt_kind)kind, r->function, r->frames,
							 r->count))
					return (int)i;
			}
		}
	return -1;
}

static void every_entry_has_a_library_a_version_and_a_reason(void **state)
{
	const struct gt_held_entry *list;
	size_t count = gt_held_list(&list);

	(void)state;
	assert_true(count > 0);
	for (size_t i = 0; i < count; i++) {
		const struct gt_held_entry *e = &list[i];

		if (!*e->library || !strpbrk(e->version, "0123456789") || strlen(e->reason) < 20)
			fail_msg("line %u: the comment above must be LIBRARY VERSION: reason",
				 e->rule->line);
		if (!e->module)
			fail_msg("line %u: no part names a library (libx.so)", e->rule->line);
		if (strstr(e->rule->text, "leak:"))
			fail_msg("line %u: for which kinds?", e->rule->line);
	}
}

static void check_stack(const struct recorded *r)
{
	if (r->is_held && entry_of(r) < 0)
		fail_msg("no entry holds: %s", r->head);
	if (!r->is_held && entry_of(r) >= 0) {
		const struct gt_held_entry *list;

		gt_held_list(&list);
		fail_msg("line %u hides a leak: %s", list[entry_of(r)].rule->line, r->head);
	}
}

static void held_stacks_are_held_and_leaks_are_not(void **state)
{
	(void)state;
	each_stack(check_stack);
}

/* Without the frames of the library on the list, the same call is the program's own. */
static void check_own_call(const struct recorded *r)
{
	struct recorded own = *r;
	struct gt_frame main = { .function = "main", .module = "/home/me/program" };

	own.frames[0] = main;
	own.count = 1;
	assert_int_equal(entry_of(&own), -1);
}

static void the_same_call_by_the_program_is_a_leak(void **state)
{
	(void)state;
	each_stack(check_own_call);
}

static bool used[1024];

static void mark_used(const struct recorded *r)
{
	if (entry_of(r) >= 0)
		used[entry_of(r)] = true;
}

static void every_entry_was_seen(void **state)
{
	const struct gt_held_entry *list;
	size_t count = gt_held_list(&list);

	(void)state;
	assert_true(count <= sizeof used / sizeof *used);
	each_stack(mark_used);
	for (size_t i = 0; i < count; i++)
		if (!used[i])
			fail_msg("line %u: no recorded stack has it first: %s", list[i].rule->line,
				 list[i].rule->text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_entry_has_a_library_a_version_and_a_reason),
		cmocka_unit_test(held_stacks_are_held_and_leaks_are_not),
		cmocka_unit_test(the_same_call_by_the_program_is_a_leak),
		cmocka_unit_test(every_entry_was_seen),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
