/* SPDX-License-Identifier: MIT */
/* test_call_shapes.c - calls that create or end depending on an argument; handles in wide arrays.
 */
#include "taken_events.h"

static struct taken events_of(enum gt_function_id function, const uint64_t *argv, uint64_t ret)
{
	struct gt_call call = {
		.function = function, .argv = argv, .ret = ret, .begun_ns = BEGUN, .ended_ns = ENDED
	};
	struct taken t = { .count = 0 };

	gt_call_events(&call, NULL, take, &t);
	return t;
}

static size_t endings_of(enum gt_function_id function, const uint64_t *argv)
{
	struct gt_call call = { .function = function, .argv = argv };
	struct taken t = { .count = 0 };

	gt_call_endings(&call, take, &t);
	return t.count;
}

static void a_reservation_of_size_0_ends_the_one_before(void **state)
{
	uint64_t argv[GT_ARGS_MAX] = { [zeDeviceReserveCacheExt__hDevice] = 0xd0,
				       [zeDeviceReserveCacheExt__cacheReservationSize] = 4096 };
	struct taken t = events_of(GT_FN_zeDeviceReserveCacheExt, argv, 0);

	assert_int_equal(t.count, 1);
	assert_int_equal(t.events[0].function, GT_FN_zeDeviceReserveCacheExt__also);
	assert_int_equal(t.events[0].handle, 0xd0);
	assert_int_equal(t.events[0].size, 4096);
	assert_int_equal(t.events[0].time_ns, ENDED);
	assert_int_equal(endings_of(GT_FN_zeDeviceReserveCacheExt, argv), 0);
	/* it failed to begin, not to end */
	t = events_of(GT_FN_zeDeviceReserveCacheExt, argv, 0x78000003);
	assert_int_equal(t.count, 1);
	assert_int_equal(t.events[0].function, GT_FN_zeDeviceReserveCacheExt__also);
	assert_true(t.events[0].failed);
	argv[zeDeviceReserveCacheExt__cacheReservationSize] = 0;
	t = events_of(GT_FN_zeDeviceReserveCacheExt, argv, 0);
	assert_int_equal(t.count, 1);
	assert_int_equal(t.events[0].function, GT_FN_zeDeviceReserveCacheExt);
	assert_int_equal(t.events[0].time_ns, BEGUN);
	assert_int_equal(endings_of(GT_FN_zeDeviceReserveCacheExt, argv), 1);
	t = events_of(GT_FN_zeDeviceReserveCacheExt, argv, 0x78000003);
	assert_int_equal(t.events[0].function, GT_FN_zeDeviceReserveCacheExt);
	argv[zeDeviceReserveCacheExt__hDevice] = 0;
	assert_true(gt_call_is_idle(GT_FN_zeDeviceReserveCacheExt, argv));
}

static void wide_elements_of_an_output_array_begin_with_their_handles(void **state)
{
	uint64_t handles[3][8] = { { 0x11, 1, 2, 3 }, { 0x22, 4, 5, 6 }, { 0xbad } };
	uint32_t count = 2;
	uint64_t argv[GT_ARGS_MAX] = { [zexMemGetIpcHandles__hContext] = 0xc0,
				       [zexMemGetIpcHandles__ptr] = 0xa0,
				       [zexMemGetIpcHandles__numIpcHandles] = word(&count),
				       [zexMemGetIpcHandles__pIpcHandles] = word(handles) };
	struct taken t = events_of(GT_FN_zexMemGetIpcHandles, argv, 0);

	assert_int_equal(t.count, 2);
	assert_int_equal(t.events[0].handle, 0x11);
	assert_int_equal(t.events[1].handle, 0x22);
	assert_int_equal(t.events[1].owner, 0xa0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_reservation_of_size_0_ends_the_one_before),
		cmocka_unit_test(wide_elements_of_an_output_array_begin_with_their_handles),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
