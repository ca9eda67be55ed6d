/* SPDX-License-Identifier: MIT */
/* test_breakdown.c - device memory by origin, process and place, and sizes stated by frees. */
#include "ledger/groups.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static uint64_t now = 1;

static void event(struct gt_ledger *l, uint16_t function, uint64_t handle, uint64_t size,
		  uint32_t stack, uint32_t process, uint16_t place)
{
	struct gt_event e = { .function = function,
			      .handle = handle,
			      .size = size,
			      .stack = stack,
			      .place = place,
			      .time_ns = now++ };

	gt_ledger_apply(l, &e, process);
}

static const uint16_t take = GT_FN_nsysDeviceAllocation, give = GT_FN_nsysDeviceDeallocation;

static void a_free_is_charged_to_its_allocation(void **state)
{
	struct gt_ledger *l = gt_ledger_new();
	const struct gt_breakdown_part *o = l->breakdown.origins;

	event(l, take, 0x10, 100, 1, 0, 1); /* with a stack */
	event(l, take, 0x20, 30, 0, 0, 2);  /* without */
	event(l, give, 0x10, 100, 0, 0, 1); /* freed without a stack */
	event(l, give, 0x20, 30, 1, 0, 2);
	assert_int_equal(o[GT_ORIGIN_VALID].bytes, 0);
	assert_int_equal(o[GT_ORIGIN_INVALID].bytes, 0);
	assert_int_equal(o[GT_ORIGIN_VALID].peak_bytes, 100);
	assert_int_equal(o[GT_ORIGIN_INVALID].peak_bytes, 30);
	assert_int_equal(l->breakdown.origins_at_peak[GT_ORIGIN_VALID], 100);
	assert_int_equal(l->breakdown.origins_at_peak[GT_ORIGIN_INVALID], 30);
	gt_ledger_free(l);
}

static void shares_always_add_up_to_the_total(void **state)
{
	struct gt_ledger *l = gt_ledger_new();
	uint64_t seed = 1;

	for (int i = 0; i < 20000; i++) {
		const struct gt_breakdown *s = &l->breakdown;
		uint64_t origins = 0, processes = 0, places = 0;

		seed = seed * 6364136223846793005u + 1442695040888963407u;
		event(l, seed >> 40 & 1 ? take : give, seed >> 50 & 31, seed >> 20 & 1023,
		      seed >> 30 & 1, seed >> 33 & 3, (uint16_t)(1 + (seed >> 36 & 1)));
		for (int k = 0; k < GT_ORIGIN_COUNT; k++)
			origins += s->origins[k].bytes;
		for (size_t k = 0; k < s->process_count; k++)
			processes += s->processes[k].bytes;
		for (size_t k = 0; k < s->place_count; k++)
			places += s->places[k].bytes;
		assert_int_equal(origins, l->device_bytes);
		assert_int_equal(processes, l->device_bytes);
		assert_int_equal(places, l->device_bytes);
		if (i == 15000)
			gt_ledger_process_end(l, 2);
	}
	assert_true(l->replaced && l->unknown_ends && l->size_mismatches);
	gt_ledger_free(l);
}

static void host_memory_is_excluded_from_shares(void **state)
{
	struct gt_ledger *l = gt_ledger_new();

	event(l, GT_FN_nsysPinnedAllocation, 0x10, 1000, 1, 0, 1);
	event(l, GT_FN_nsysPageableAllocation, 0x20, 1000, 1, 0, 1);
	assert_int_equal(l->breakdown.origins[GT_ORIGIN_VALID].bytes, 0);
	assert_int_equal(l->host_bytes, 2000);
	assert_int_equal(l->peak_bytes, 0);
	gt_ledger_free(l);
}

static void a_free_of_a_different_size_is_counted_and_frees_the_whole_allocation(void **state)
{
	struct gt_ledger *l = gt_ledger_new();

	event(l, take, 0x10, 100, 1, 0, 1);
	event(l, give, 0x10, 60, 1, 0, 1);
	event(l, take, 0x10, 100, 1, 0, 1);
	event(l, give, 0x10, 0, 1, 0, 1); /* most ends say nothing */
	assert_int_equal(l->size_mismatches, 1);
	assert_int_equal(l->device_bytes, 0);
	gt_ledger_free(l);
}

static void static_variables_count_towards_the_peak_but_never_leak(void **state)
{
	struct gt_ledger *l = gt_ledger_new();
	struct gt_groups leaks, lasting, peak;

	event(l, GT_FN_nsysDeviceStaticAllocation, 0x10, 64, 0, 0, 1);
	event(l, take, 0x20, 100, 1, 0, 1);
	gt_ledger_finish(l);
	assert_int_equal(l->peak_bytes, 164);
	assert_int_equal(gt_ledger_leaked(l).count, 1);
	assert_int_equal(gt_ledger_leaked(l).device_bytes, 100);
	assert_int_equal(l->lasting.device_bytes, 64);
	gt_groups_init(&leaks, l, GT_GROUPS_LEAKS);
	gt_groups_init(&lasting, l, GT_GROUPS_LASTING);
	gt_groups_init(&peak, l, GT_GROUPS_DEVICE);
	assert_int_equal(leaks.bytes, 100);
	assert_int_equal(lasting.bytes, 64);
	assert_int_equal(peak.bytes, 164);
	gt_groups_fini(&leaks);
	gt_groups_fini(&lasting);
	gt_groups_fini(&peak);
	gt_ledger_free(l);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_free_is_charged_to_its_allocation),
		cmocka_unit_test(shares_always_add_up_to_the_total),
		cmocka_unit_test(host_memory_is_excluded_from_shares),
		cmocka_unit_test(
			a_free_of_a_different_size_is_counted_and_frees_the_whole_allocation),
		cmocka_unit_test(static_variables_count_towards_the_peak_but_never_leak),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
