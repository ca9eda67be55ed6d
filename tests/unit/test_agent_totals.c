/* SPDX-License-Identifier: MIT */
/* test_agent_totals.c - totals of call sites over a long time: exact sums in bounded memory. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "agent/totals.h"

#define MINUTE 60000000000ull
#define MIB    (1 << 20)

static struct gt_agent_totals *new_totals(size_t max_bytes)
{
	return gt_agent_totals_new(
		&(struct gt_agent_totals_options){ .max_bytes = max_bytes, .max_processes = 3 });
}

static uint32_t add_process(struct gt_agent_totals *t, uint32_t pid)
{
	return gt_agent_totals_process(
		t, &(struct gt_agent_process){ .pid = pid, .comm = "python3", .user = "ada" });
}

static struct gt_agent_key key_of(uint32_t process, uint32_t stack)
{
	return (struct gt_agent_key){ .process = process,
				      .stack = stack,
				      .api = GT_CUDA,
				      .kind = GT_DEVICE_MEMORY,
				      .gpu = 1 };
}

static void allocate(struct gt_agent_totals *t, struct gt_agent_at *at, uint32_t process,
		     uint32_t stack, uint64_t bytes)
{
	struct gt_agent_key key = key_of(process, stack);

	gt_agent_totals_add(t, at, &key,
			    &(struct gt_agent_change){ .live_bytes = (int64_t)bytes,
						       .live_objects = 1,
						       .allocated_bytes = bytes,
						       .allocated_objects = 1 });
}

static void release(struct gt_agent_totals *t, struct gt_agent_at *at, uint32_t process,
		    uint32_t stack, uint64_t bytes)
{
	struct gt_agent_key key = key_of(process, stack);

	gt_agent_totals_add(
		t, at, &key,
		&(struct gt_agent_change){ .live_bytes = -(int64_t)bytes, .live_objects = -1 });
}

/* The rows of a table, added up; the last one that grows, and the last named one. */
struct seen {
	struct gt_agent_row sum, growing, named;
	size_t rows;
};

static void see(void *context, const struct gt_agent_row *row)
{
	struct seen *s = context;

	s->rows++;
	s->sum.live_bytes += row->live_bytes;
	s->sum.live_objects += row->live_objects;
	s->sum.allocated_bytes += row->allocated_bytes;
	s->sum.freed_bytes += row->freed_bytes;
	if (row->grows)
		s->growing = *row;
	if (row->stack_id)
		s->named = *row;
}

static struct seen rows_of(const struct gt_agent_totals *t)
{
	struct seen s = { 0 };

	gt_agent_totals_each_row(t, see, &s);
	return s;
}

static void a_row_has_what_is_live_allocated_and_freed(void **state)
{
	struct gt_agent_totals *t = new_totals(MIB);
	uint32_t p = add_process(t, 7);
	struct gt_agent_at at = { 0 };
	struct seen s;

	(void)state;
	gt_agent_totals_name_gpu(t, 1, "GPU 0");
	allocate(t, &at, p, 5, 100);
	allocate(t, &at, p, 5, 30);
	release(t, &at, p, 5, 100);
	gt_agent_totals_name(
		t, p, 5,
		&(struct gt_agent_name){ .place = "load src/load.c:12",
					 .function = "load",
					 .file = "src/load.c",
					 .line = 12,
					 .frames = &(struct gt_frame){ .function = "load" },
					 .count = 1 });
	s = rows_of(t);
	assert_int_equal(s.rows, 1);
	assert_int_equal(s.named.live_bytes, 30);
	assert_int_equal(s.named.live_objects, 1);
	assert_int_equal(s.named.allocated_bytes, 130);
	assert_int_equal(s.named.freed_bytes, 100);
	assert_string_equal(s.named.place, "load src/load.c:12");
	assert_string_equal(s.named.gpu, "GPU 0");
	assert_int_equal(s.named.process->pid, 7);
	assert_string_equal(s.named.process->user, "ada");
	assert_string_equal(s.named.process->pod, "");
	assert_string_equal(gt_agent_totals_stack(t, s.named.stack_id)->frames[0].function, "load");
	gt_agent_totals_free(t);
}

static void an_ended_process_holds_nothing_and_is_forgotten_after_its_last_rows(void **state)
{
	struct gt_agent_totals *t = new_totals(MIB);
	uint32_t p = add_process(t, 7);
	struct gt_agent_at at = { 0 };
	size_t before = gt_agent_totals_bytes(t);

	(void)state;
	allocate(t, &at, p, 5, 100);
	gt_agent_totals_end(t, p, 9);
	assert_int_equal(rows_of(t).sum.live_bytes, 0);
	assert_int_equal(rows_of(t).sum.freed_bytes, 100);
	assert_int_equal(gt_agent_totals_sums(t).live_bytes, 0);
	gt_agent_totals_forget(t);
	assert_int_equal(rows_of(t).rows, 0);
	assert_int_equal(gt_agent_totals_sums(t).allocated_bytes, 100);
	assert_true(gt_agent_totals_bytes(t) < before);
	/* its number is used again, and what was counted by it is not the new one's */
	assert_int_equal(add_process(t, 8), p);
	assert_false(gt_agent_totals_has(t, &at));
	gt_agent_totals_free(t);
}

static void memory_is_bounded_and_sums_stay_exact(void **state)
{
	enum { SITES = 20000 };
	struct gt_agent_totals *t = new_totals(0);
	uint32_t p = add_process(t, 7);
	struct gt_agent_at *at = calloc(SITES, sizeof *at);
	char place[40];

	(void)state;
	for (uint32_t i = 0; i < SITES; i++) {
		allocate(t, &at[i], p, i + 1, i + 1);
		snprintf(place, sizeof place, "function_%u", i);
		gt_agent_totals_name(t, p, i + 1, &(struct gt_agent_name){ .place = place });
		if (i % 1000 == 0)
			gt_agent_totals_advance(t, (i / 1000 + 1) * MINUTE);
		assert_true(gt_agent_totals_bytes(t) <= GT_AGENT_TOTALS_LEAST + 4096);
	}
	assert_int_equal(rows_of(t).sum.live_bytes, (uint64_t)SITES * (SITES + 1) / 2);
	assert_int_equal(rows_of(t).sum.live_objects, SITES);
	assert_true(gt_agent_totals_folded(t) > SITES / 2);
	/* the biggest are still themselves */
	assert_true(gt_agent_totals_has(t, &at[SITES - 1]));
	assert_false(gt_agent_totals_has(t, &at[1]));
	/* what was folded is still released from where it is counted */
	for (uint32_t i = 0; i < SITES; i++)
		release(t, &at[i], p, i + 1, i + 1);
	assert_int_equal(rows_of(t).sum.live_bytes, 0);
	assert_int_equal(rows_of(t).sum.live_objects, 0);
	assert_int_equal(gt_agent_totals_sums(t).places, 0);
	assert_int_equal(rows_of(t).sum.allocated_bytes, (uint64_t)SITES * (SITES + 1) / 2);
	free(at);
	gt_agent_totals_free(t);
}

static void processes_beyond_the_limit_share_one(void **state)
{
	struct gt_agent_totals *t = new_totals(MIB);
	struct gt_agent_at at[6] = { 0 };
	uint32_t p[6];

	(void)state;
	for (uint32_t i = 0; i < 6; i++) {
		p[i] = add_process(t, 10 + i);
		allocate(t, &at[i], p[i], 5, 100);
	}
	assert_int_equal(p[3], GT_AGENT_OTHERS);
	assert_int_equal(rows_of(t).rows, 4);
	assert_int_equal(rows_of(t).sum.live_bytes, 600);
	release(t, &at[4], p[4], 5, 100);
	assert_int_equal(rows_of(t).sum.live_bytes, 500);
	gt_agent_totals_free(t);
}

static void a_leak_grows_and_a_cache_does_not(void **state)
{
	struct gt_agent_totals *t = new_totals(MIB);
	uint32_t p = add_process(t, 7);
	struct gt_agent_at leak = { 0 }, cache = { 0 };
	uint64_t now = 1000 * MINUTE;
	struct seen s;

	(void)state;
	/* long before it leaks */
	for (int i = 0; i < 500; i++, now += MINUTE) {
		allocate(t, &cache, p, 2, 1000);
		if (!i)
			allocate(t, &leak, p, 1, MIB);
		gt_agent_totals_advance(t, now);
		if (i % 10 == 9)
			for (int j = 0; j < 10; j++)
				release(t, &cache, p, 2, 1000);
	}
	assert_int_equal(gt_agent_totals_sums(t).growing, 0);
	for (int i = 0; i < 64; i++, now += MINUTE) {
		allocate(t, &leak, p, 1, MIB);
		gt_agent_totals_advance(t, now);
	}
	s = rows_of(t);
	assert_int_equal(gt_agent_totals_sums(t).growing, 1);
	assert_int_equal(s.growing.live_bytes, 65 * MIB);
	assert_true(s.growing.growth_per_second > MIB / 60.0 * 0.9);
	assert_true(s.growing.growth_per_second < MIB / 60.0 * 1.1);
	assert_true(s.growing.growth_since_ns >= 1490 * MINUTE);
	/* it stops: no longer a suspect */
	for (int i = 0; i < 64; i++, now += MINUTE)
		gt_agent_totals_advance(t, now);
	assert_int_equal(gt_agent_totals_sums(t).growing, 0);
	gt_agent_totals_free(t);
}

static void what_is_given_back_between_two_looks_counts(void **state)
{
	struct gt_agent_totals *t = new_totals(MIB);
	uint32_t p = add_process(t, 7);
	struct gt_agent_at at = { 0 };

	(void)state;
	/* each minute a batch that is bigger than the last, which is given back before */
	for (uint64_t minute = 1; minute < 64; minute++) {
		if (minute > 1)
			release(t, &at, p, 1, (minute - 1) * MIB);
		allocate(t, &at, p, 1, minute * MIB);
		gt_agent_totals_advance(t, minute * MINUTE);
	}
	assert_int_equal(gt_agent_totals_sums(t).growing, 0);
	gt_agent_totals_free(t);
}

static void a_slow_leak_is_found_within_days(void **state)
{
	struct gt_agent_totals *t = new_totals(MIB);
	uint32_t p = add_process(t, 7);
	struct gt_agent_at leak = { 0 };

	(void)state;
	/* 1 MiB every 37 minutes: 40 MB a day */
	for (uint64_t minute = 1; minute < 30 * 60; minute++) {
		if (minute % 37 == 0)
			allocate(t, &leak, p, 1, MIB);
		gt_agent_totals_advance(t, minute * MINUTE);
	}
	assert_int_equal(gt_agent_totals_sums(t).growing, 1);
	gt_agent_totals_free(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_row_has_what_is_live_allocated_and_freed),
		cmocka_unit_test(
			an_ended_process_holds_nothing_and_is_forgotten_after_its_last_rows),
		cmocka_unit_test(memory_is_bounded_and_sums_stay_exact),
		cmocka_unit_test(processes_beyond_the_limit_share_one),
		cmocka_unit_test(a_leak_grows_and_a_cache_does_not),
		cmocka_unit_test(what_is_given_back_between_two_looks_counts),
		cmocka_unit_test(a_slow_leak_is_found_within_days),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
