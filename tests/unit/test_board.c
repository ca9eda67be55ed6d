/* SPDX-License-Identifier: MIT */
/* test_board.c - live totals per process: sites, the largest and the oldest resources. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "ledger/board.h"

static void create(struct gt_board *b, uint16_t process, uint64_t handle, uint64_t size,
		   uint32_t stack, uint64_t time_ns)
{
	gt_board_apply(b,
		       &(struct gt_event){ .time_ns = time_ns,
					   .handle = handle,
					   .size = size,
					   .stack = stack,
					   .function = GT_FN_clCreateBuffer },
		       process);
}

static void release(struct gt_board *b, uint16_t process, uint64_t handle)
{
	gt_board_apply(b,
		       &(struct gt_event){ .time_ns = 99,
					   .handle = handle,
					   .function = GT_FN_clReleaseMemObject },
		       process);
}

static void totals_follow_the_events(void **state)
{
	struct gt_board *b = gt_board_new();
	uint16_t one = gt_board_add(b, 10, "one", 1), two = gt_board_add(b, 11, "two", 1);
	struct gt_board_process sum;

	(void)state;
	create(b, one, 0x10, 100, 1, 1);
	create(b, one, 0x20, 50, 2, 2);
	create(b, two, 0x10, 7, 1, 3);
	release(b, one, 0x10);
	release(b, one, 0x99);
	gt_board_apply(b, &(struct gt_event){ .function = GT_FN_clCreateBuffer, .failed = 1 }, one);
	assert_int_equal(gt_board_process(b, one)->bytes, 50);
	assert_int_equal(gt_board_process(b, one)->peak_bytes, 150);
	assert_int_equal(gt_board_process(b, one)->live, 1);
	assert_int_equal(gt_board_process(b, one)->before, 1);
	assert_int_equal(gt_board_process(b, one)->failed, 1);
	assert_int_equal(gt_board_process(b, two)->bytes, 7);
	sum = gt_board_total(b);
	assert_int_equal(sum.bytes, 57);
	assert_int_equal(sum.peak_bytes, 157);
	/* what goes with a process is not in later peaks */
	gt_board_end(b, one, 5);
	create(b, two, 0x30, 140, 1, 6);
	assert_int_equal(gt_board_total(b).bytes, 147);
	assert_int_equal(gt_board_total(b).peak_bytes, 157);
	assert_int_equal(sum.created, 3);
	assert_int_equal(sum.ended, 1);
	gt_board_free(b);
}

static void apply(struct gt_board *b, uint16_t process, uint16_t function, uint64_t handle,
		  uint64_t size)
{
	gt_board_apply(b,
		       &(struct gt_event){ .time_ns = 1,
					   .handle = handle,
					   .size = size,
					   .stack = function,
					   .function = function },
		       process);
}

static void blocks_of_a_pool_are_not_counted_again_with_their_segment(void **state)
{
	struct gt_board *b = gt_board_new();
	uint16_t one = gt_board_add(b, 10, "one", 1);
	const struct gt_entry *largest[2];

	(void)state;
	apply(b, one, GT_FN_cuMemAlloc_v2, 0x1000, 1000);
	apply(b, one, GT_FN_torchBlock, 0x1000, 700);
	apply(b, one, GT_FN_torchBlock, 0x1300, 100);
	assert_int_equal(gt_board_process(b, one)->bytes, 1000);
	assert_int_equal(gt_board_process(b, one)->device_bytes, 1000);
	assert_int_equal(gt_board_process(b, one)->peak_bytes, 1000);
	assert_int_equal(gt_board_biggest(b, one, largest, 2), 2);
	assert_int_equal(largest[0]->size, 700);
	assert_int_equal(largest[1]->size, 200);
	apply(b, one, GT_FN_torchBlockFreed, 0x1000, 0);
	assert_int_equal(gt_board_total(b).bytes, 1000);
	assert_int_equal(gt_board_biggest(b, one, largest, 2), 2);
	assert_int_equal(largest[0]->size, 900);
	apply(b, one, GT_FN_torchBlockFreed, 0x1300, 0);
	apply(b, one, GT_FN_cuMemFree_v2, 0x1000, 0);
	assert_int_equal(gt_board_total(b).bytes, 0);
	apply(b, one, GT_FN_cuMemAlloc_v2, 0x1000, 1000);
	apply(b, one, GT_FN_torchBlock, 0x1000, 700);
	gt_board_end(b, one, 2);
	assert_int_equal(gt_board_total(b).bytes, 0);
	gt_board_free(b);
}

static void an_ended_process_keeps_its_totals_and_frees_its_entries(void **state)
{
	struct gt_board *b = gt_board_new();
	uint16_t one = gt_board_add(b, 10, "one", 1), two = gt_board_add(b, 11, "two", 1);
	const struct gt_board_site *site;
	size_t entries;

	(void)state;
	create(b, one, 0x10, 100, 1, 1);
	create(b, two, 0x10, 7, 1, 1);
	gt_board_end(b, one, 50);
	assert_int_equal(gt_board_process(b, one)->bytes, 100);
	assert_int_equal(gt_board_process(b, one)->end_ns, 50);
	assert_null(gt_board_oldest(b, one));
	assert_int_equal(gt_board_total(b).bytes, 7);
	gt_board_bytes(b, &entries);
	assert_int_equal(entries, 1);
	assert_int_equal(gt_board_sites(b, GT_BOARD_ALL, GT_BOARD_BY_BYTES, &site, 1), 1);
	assert_int_equal(site->process, two);
	/* the same pid again is another process */
	create(b, gt_board_add(b, 10, "one", 60), 0x10, 1, 1, 61);
	assert_int_equal(gt_board_total(b).bytes, 8);
	gt_board_free(b);
}

static void destroying_a_context_ends_what_it_owns(void **state)
{
	struct gt_board *b = gt_board_new();
	uint16_t p = gt_board_add(b, 10, "one", 1);
	struct gt_event context = { .handle = 0xc0, .function = GT_FN_cuCtxCreate_v2 };
	struct gt_event memory = { .size = 100, .function = GT_FN_cuMemAlloc_v2 };

	(void)state;
	gt_board_apply(b, &context, p);
	for (uint64_t i = 1; i <= 10; i++) {
		memory.handle = i;
		memory.owner = i > 7 ? 0 : 0xc0;
		gt_board_apply(b, &memory, p);
	}
	assert_int_equal(gt_board_process(b, p)->bytes, 1000);
	context.function = GT_FN_cuCtxDestroy_v2;
	gt_board_apply(b, &context, p);
	assert_int_equal(gt_board_process(b, p)->bytes, 300);
	assert_int_equal(gt_board_process(b, p)->live, 3);
	gt_board_free(b);
}

static void sites_are_sorted_as_requested(void **state)
{
	struct gt_board *b = gt_board_new();
	uint16_t p = gt_board_add(b, 10, "one", 1);
	const struct gt_board_site *sites[3];

	(void)state;
	create(b, p, 0x1, 1000, 1, 1);
	for (uint64_t i = 0; i < 10; i++)
		create(b, p, 0x100 + i, 10, 2, 2);
	create(b, p, 0x2, 500, 3, 3);
	create(b, p, 0x3, 400, 4, 4);
	release(b, p, 0x3);
	assert_int_equal(gt_board_sites(b, p, GT_BOARD_BY_BYTES, sites, 3), 3);
	assert_int_equal(sites[0]->stack, 1);
	assert_int_equal(sites[1]->stack, 3);
	assert_int_equal(sites[2]->stack, 2);
	assert_int_equal(gt_board_sites(b, p, GT_BOARD_BY_LIVE, sites, 2), 2);
	assert_int_equal(sites[0]->stack, 2);
	assert_int_equal(sites[0]->live, 10);
	assert_int_equal(sites[0]->bytes, 100);
	gt_board_free(b);
}

static void the_biggest_and_the_oldest_are_found(void **state)
{
	struct gt_board *b = gt_board_new();
	uint16_t p = gt_board_add(b, 10, "one", 1);
	const struct gt_entry *big[4];

	(void)state;
	for (uint64_t i = 0; i < 20000; i++)
		create(b, p, 0x1000 + i, 4096, 1, 100 + i);
	create(b, p, 0x1, 1 << 30, 1, 50000);
	create(b, p, 0x2, 1 << 20, 1, 50001);
	create(b, p, 0x3, UINT64_MAX, 1, 50002);
	assert_int_equal(gt_board_biggest(b, p, big, 4), 4);
	assert_int_equal(big[0]->handle, 0x3);
	assert_int_equal(big[1]->handle, 0x1);
	assert_int_equal(big[2]->handle, 0x2);
	assert_int_equal(big[3]->handle, 0x1000);
	assert_int_equal(gt_board_oldest(b, p)->handle, 0x1000);
	release(b, p, 0x1000);
	release(b, p, 0x1001);
	release(b, p, 0x3);
	assert_int_equal(gt_board_oldest(b, p)->handle, 0x1002);
	assert_int_equal(gt_board_biggest(b, p, big, 1), 1);
	assert_int_equal(big[0]->handle, 0x1);
	gt_board_free(b);
}

/* Random changes, compared with a plain array. */
static void lists_stay_consistent_under_random_changes(void **state)
{
	enum { HANDLES = 512 };
	struct gt_board *b = gt_board_new();
	uint16_t p = gt_board_add(b, 10, "one", 1);
	uint64_t size[HANDLES] = { 0 }, born[HANDLES] = { 0 }, seed = 7;

	(void)state;
	for (uint64_t t = 1; t < 50000; t++) {
		size_t at;

		seed = seed * 6364136223846793005u + 1442695040888963407u;
		at = seed >> 33 & (HANDLES - 1);
		if (size[at]) {
			release(b, p, at + 1);
			size[at] = 0;
		} else {
			size[at] = 1 + (seed >> 45 & 0xffff);
			born[at] = t;
			create(b, p, at + 1, size[at], (uint32_t)(at % 7), t);
		}
		if (t % 97 == 0) {
			uint64_t sum = 0, oldest = UINT64_MAX, most = 0;
			const struct gt_entry *big;

			for (size_t i = 0; i < HANDLES; i++) {
				sum += size[i];
				if (size[i] && born[i] < oldest)
					oldest = born[i];
				if (size[i] > most)
					most = size[i];
			}
			assert_int_equal(gt_board_process(b, p)->bytes, sum);
			assert_int_equal(gt_board_oldest(b, p)->time_ns, oldest);
			assert_int_equal(gt_board_biggest(b, p, &big, 1), 1);
			assert_true(big->size >= most - most / 8);
		}
	}
	gt_board_free(b);
}

static void ticks_produce_rates_and_histories(void **state)
{
	struct gt_board *b = gt_board_new();
	uint16_t p = gt_board_add(b, 10, "one", 1);
	const struct gt_board_site *site;
	const struct gt_recent *h;

	(void)state;
	gt_board_tick(b, 1000000000);
	for (uint64_t i = 1; i <= 30; i++)
		create(b, p, i, 100, 1, i);
	release(b, p, 1);
	gt_board_tick(b, 3000000000);
	assert_true(gt_board_process(b, p)->created_rate == 15.0);
	assert_true(gt_board_process(b, p)->ended_rate == 0.5);
	assert_int_equal(gt_board_sites(b, p, GT_BOARD_BY_RATE, &site, 1), 1);
	assert_true(site->growth == 1450.0);
	h = &gt_board_process(b, p)->history;
	assert_int_equal(h->count, 2);
	assert_int_equal(h->values[0], 0);
	assert_int_equal(h->values[1], 2900);
	for (int i = 0; i < 200; i++)
		gt_board_tick(b, 4000000000 + (uint64_t)i);
	assert_int_equal(h->values[(h->count - 1) % GT_BOARD_HISTORY], 2900);
	gt_board_free(b);
}

static size_t sites_of(const struct gt_board *b, uint16_t process, uint64_t *live, uint64_t *other)
{
	static const struct gt_board_site *sites[20000];
	size_t count = gt_board_sites(b, process, GT_BOARD_BY_LIVE, sites, 20000);

	*live = *other = 0;
	for (size_t i = 0; i < count; i++) {
		*live += sites[i]->live;
		*other += sites[i]->stack == GT_BOARD_OTHER ? sites[i]->live : 0;
	}
	return count;
}

static void sites_beyond_the_limit_are_counted_as_others(void **state)
{
	struct gt_board *b = gt_board_new();
	uint16_t p = gt_board_add(b, 10, "one", 1);
	uint64_t live, other;
	size_t count;

	(void)state;
	gt_board_limit_sites(b, 100000);
	for (uint32_t i = 1; i <= 10000; i++)
		create(b, p, i, 10, i, i);
	count = sites_of(b, p, &live, &other);
	assert_true(count > 100 && count < 2000);
	assert_int_equal(live, 10000);
	assert_int_equal(other, 10000 - (count - 1));
	assert_int_equal(gt_board_others(b), other);
	assert_int_equal(gt_board_process(b, p)->bytes, 100000);
	/* what was counted there ends there */
	for (uint32_t i = 1; i <= 10000; i++)
		release(b, p, i);
	assert_int_equal(sites_of(b, p, &live, &other), 0);
	gt_board_free(b);
}

static void sites_that_hold_nothing_make_room_for_others(void **state)
{
	struct gt_board *b = gt_board_new();
	uint16_t p = gt_board_add(b, 10, "one", 1);
	uint64_t live, other;

	(void)state;
	gt_board_chart_sites(b);
	gt_board_limit_sites(b, 300000);
	create(b, p, 1, 77, 1, 1);
	for (uint32_t i = 2; i <= 10000; i++) {
		create(b, p, i, 10, i, i);
		release(b, p, i);
	}
	assert_int_equal(gt_board_others(b), 0);
	/* nor do those of a process that has ended take room */
	for (uint32_t i = 0; i < 100; i++) {
		uint16_t next = gt_board_add(b, 11 + i, "next", 2);

		for (uint32_t k = 1; k <= 100; k++)
			create(b, next, k, 10, k, k);
		gt_board_end(b, next, 9);
	}
	gt_board_tick(b, 1000000000);
	assert_int_equal(gt_board_others(b), 0);
	assert_int_equal(sites_of(b, GT_BOARD_ALL, &live, &other), 1);
	assert_int_equal(live, 1);
	gt_board_free(b);
}

static void a_retain_brings_an_ended_resource_back(void **state)
{
	const struct gt_event retain = { .time_ns = 100,
					 .handle = 0x10,
					 .function = GT_FN_clRetainMemObject };
	struct gt_board *b = gt_board_new();
	uint16_t one = gt_board_add(b, 10, "one", 1);
	const struct gt_board_process *p = gt_board_process(b, one);

	(void)state;
	create(b, one, 0x10, 100, 1, 1);
	release(b, one, 0x10);
	gt_board_apply(b, &retain, one);
	assert_int_equal(p->live, 1);
	assert_int_equal(p->bytes, 100);
	assert_int_equal(p->created, 1);
	assert_int_equal(p->ended, 0);
	release(b, one, 0x10);
	assert_int_equal(p->live, 0);
	/* one that was never seen stays unknown, and where events are missing nothing is certain */
	gt_board_apply(b, &(struct gt_event){ .handle = 0x77, .function = retain.function }, one);
	gt_board_lose(b, one, 1);
	gt_board_apply(b, &retain, one);
	assert_int_equal(p->live, 0);
	assert_int_equal(p->bytes, 0);
	gt_board_free(b);
}

static void a_second_release_does_not_end_what_a_sub_buffer_holds(void **state)
{
	struct gt_board *b = gt_board_new();
	uint16_t one = gt_board_add(b, 10, "one", 1);
	const struct gt_board_process *p = gt_board_process(b, one);

	(void)state;
	create(b, one, 0x10, 100, 1, 1);
	gt_board_apply(b,
		       &(struct gt_event){ .time_ns = 2,
					   .handle = 0x20,
					   .owner = 0x10,
					   .function = GT_FN_clCreateSubBuffer },
		       one);
	release(b, one, 0x10);
	release(b, one, 0x10);
	assert_int_equal(p->live, 2);
	assert_int_equal(p->bytes, 100);
	assert_int_equal(p->before, 1);
	release(b, one, 0x20);
	assert_int_equal(p->live, 0);
	assert_int_equal(p->bytes, 0);
	gt_board_free(b);
}

static void a_free_by_an_address_inside_a_block_ends_it(void **state)
{
	struct gt_event allocate = { .time_ns = 1,
				     .handle = 0x10000,
				     .size = 4096,
				     .stack = 1,
				     .function = GT_FN_zeMemAllocDevice };
	struct gt_event inside = { .handle = 0x10040, .function = GT_FN_zeMemFree };
	struct gt_board *b = gt_board_new();
	uint16_t one = gt_board_add(b, 10, "one", 1), two = gt_board_add(b, 11, "two", 1);

	(void)state;
	for (int i = 0; i < 3; i++) {
		gt_board_apply(b, &allocate, one);
		gt_board_apply(b, &inside, one);
	}
	assert_int_equal(gt_board_process(b, one)->live, 0);
	assert_int_equal(gt_board_process(b, one)->ended, 3);
	assert_int_equal(gt_board_process(b, one)->before, 0);
	/* not what a process that has ended held, nor another's */
	gt_board_apply(b, &allocate, one);
	gt_board_end(b, one, 9);
	gt_board_apply(b, &inside, two);
	assert_int_equal(gt_board_process(b, two)->before, 1);
	gt_board_free(b);
}

static void count_site(void *context, struct gt_board_site *site)
{
	uint64_t *created = context;

	*created += site->created - site->seen.created;
	site->seen.created = site->created;
}

static void ended_processes_can_be_forgotten(void **state)
{
	struct gt_board *b = gt_board_new();
	uint16_t one = gt_board_add(b, 10, "one", 1), two = gt_board_add(b, 11, "two", 1);
	uint64_t dropped = 0, seen = 0;

	(void)state;
	gt_board_on_drop(b, count_site, &dropped);
	create(b, one, 0x10, 100, 1, 1);
	create(b, two, 0x10, 100, 1, 1);
	gt_board_each_site(b, count_site, &seen);
	assert_int_equal(seen, 2);
	create(b, one, 0x20, 100, 1, 1);
	release(b, one, 0x20);
	gt_board_end(b, one, 5);
	gt_board_forget_ended(b);
	/* what nobody had seen yet */
	assert_int_equal(dropped, 1);
	/* its number is another's, who has none of its handles */
	assert_int_equal(gt_board_add(b, 12, "three", 1), one);
	assert_int_equal(gt_board_add(b, 13, "four", 1), 2);
	gt_board_apply(b, &(struct gt_event){ .handle = 0x20, .function = GT_FN_clRetainMemObject },
		       one);
	assert_int_equal(gt_board_process(b, one)->live, 0);
	create(b, one, 0x10, 7, 1, 6);
	assert_int_equal(gt_board_total(b).bytes, 107);
	gt_board_free(b);
}

/* The lowest of a site, and on how many places it is. */
static void see_low(void *context, struct gt_board_site *site)
{
	uint64_t *sum = context;

	sum[0] += site->low;
	sum[1]++;
}

static void a_site_knows_its_lowest_and_its_place(void **state)
{
	struct gt_board *b = gt_board_new();
	uint16_t one = gt_board_add(b, 10, "one", 1);
	uint64_t sum[2] = { 0 };

	(void)state;
	gt_board_split_places(b);
	create(b, one, 0x10, 100, 1, 1);
	create(b, one, 0x20, 50, 1, 1);
	gt_board_apply(b,
		       &(struct gt_event){ .handle = 0x30,
					   .size = 9,
					   .stack = 1,
					   .place = 2,
					   .function = GT_FN_clCreateBuffer },
		       one);
	gt_board_tick(b, 5);
	release(b, one, 0x10);
	create(b, one, 0x10, 100, 1, 1);
	gt_board_each_site(b, see_low, sum);
	assert_int_equal(sum[0], 50 + 9);
	assert_int_equal(sum[1], 2);
	release(b, one, 0x30);
	assert_int_equal(gt_board_process(b, one)->bytes, 150);
	gt_board_free(b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(totals_follow_the_events),
		cmocka_unit_test(ended_processes_can_be_forgotten),
		cmocka_unit_test(a_site_knows_its_lowest_and_its_place),
		cmocka_unit_test(blocks_of_a_pool_are_not_counted_again_with_their_segment),
		cmocka_unit_test(an_ended_process_keeps_its_totals_and_frees_its_entries),
		cmocka_unit_test(destroying_a_context_ends_what_it_owns),
		cmocka_unit_test(a_retain_brings_an_ended_resource_back),
		cmocka_unit_test(a_second_release_does_not_end_what_a_sub_buffer_holds),
		cmocka_unit_test(a_free_by_an_address_inside_a_block_ends_it),
		cmocka_unit_test(sites_are_sorted_as_requested),
		cmocka_unit_test(the_biggest_and_the_oldest_are_found),
		cmocka_unit_test(sites_beyond_the_limit_are_counted_as_others),
		cmocka_unit_test(sites_that_hold_nothing_make_room_for_others),
		cmocka_unit_test(lists_stay_consistent_under_random_changes),
		cmocka_unit_test(ticks_produce_rates_and_histories),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
