/* SPDX-License-Identifier: MIT */
/* test_call_shapes.c - calls that create or end depending on an argument; handles in wide arrays;
 * plain calls. */
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

static uint64_t driver_owner(const struct gt_call *call, enum gt_function_id row, uint64_t handle)
{
	return handle + 7;
}

static uint64_t driver_size(const struct gt_call *call, enum gt_function_id row, uint64_t handle)
{
	return handle + 5;
}

static uint16_t driver_place(const struct gt_call *call, enum gt_function_id row, uint64_t handle)
{
	return 3;
}

/* Field by field: what lies between them may be anything. */
static void assert_same(const struct gt_event *a, const struct gt_event *b)
{
	assert_int_equal(a->time_ns, b->time_ns);
	assert_int_equal(a->handle, b->handle);
	assert_int_equal(a->size, b->size);
	assert_int_equal(a->owner, b->owner);
	assert_int_equal(a->stack, b->stack);
	assert_int_equal(a->tid, b->tid);
	assert_int_equal(a->function, b->function);
	assert_int_equal(a->place, b->place);
	assert_int_equal(a->phase, b->phase);
	assert_false(a->failed || b->failed || a->unfinished || a->result || a->duration_ns);
}

/* With and without a driver that is asked, and where the driver fills in no handle. */
static void check_plain(enum gt_function_id row, const uint64_t *argv)
{
	static const struct gt_call_door driver = { .size = driver_size,
						    .owner = driver_owner,
						    .place = driver_place };
	const struct gt_call_door *doors[] = { NULL, &driver };
	bool returns_handle = gt_functions[row].result == GT_RESULT_HANDLE;

	for (int i = 0; i < 2; i++) {
		struct gt_call call = { .function = row,
					.argv = argv,
					.ret = returns_handle ? 0xb0 : 0,
					.begun_ns = BEGUN,
					.ended_ns = ENDED,
					.stack = 5,
					.phase = 6,
					.tid = 7 };
		struct taken t = { .count = 0 };
		struct gt_event event;
		bool has_event = gt_call_plain_event(&call, doors[i], &event);

		gt_call_events(&call, doors[i], take, &t);
		assert_int_equal(t.count, has_event);
		if (has_event)
			assert_same(&event, &t.events[0]);
	}
}

static void a_plain_call_has_the_event_that_any_call_would_have(void **state)
{
	static uint64_t filled[32], empty[32];
	uint64_t argv[GT_ARGS_MAX];
	size_t count = 0;

	for (int i = 0; i < 32; i++)
		filled[i] = 0x1000 + (uint64_t)i;
	for (unsigned row = 1; row < GT_FN_COUNT; row++) {
		if (!gt_call_is_plain((enum gt_function_id)row))
			continue;
		count++;
		for (int i = 0; i < GT_ARGS_MAX; i++)
			argv[i] = word(filled + i);
		check_plain((enum gt_function_id)row, argv);
		for (int i = 0; i < GT_ARGS_MAX; i++)
			argv[i] = word(empty);
		check_plain((enum gt_function_id)row, argv);
	}
	assert_true(count > 100);
}

static void calls_that_are_made_most_are_plain_and_others_are_not(void **state)
{
	static const enum gt_function_id plain[] = { GT_FN_cuEventCreate,   GT_FN_cuEventDestroy_v2,
						     GT_FN_cuMemAllocAsync, GT_FN_cuMemFreeAsync,
						     GT_FN_clCreateBuffer,  GT_FN_clReleaseEvent };
	/* two effects; an array; a second handle that is filled in even on failure */
	static const enum gt_function_id others[] = { GT_FN_zeDeviceReserveCacheExt,
						      GT_FN_zexMemGetIpcHandles,
						      GT_FN_zeModuleCreate };

	for (size_t i = 0; i < sizeof plain / sizeof *plain; i++)
		assert_true(gt_call_is_plain(plain[i]));
	for (size_t i = 0; i < sizeof others / sizeof *others; i++)
		assert_false(gt_call_is_plain(others[i]));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_reservation_of_size_0_ends_the_one_before),
		cmocka_unit_test(wide_elements_of_an_output_array_begin_with_their_handles),
		cmocka_unit_test(a_plain_call_has_the_event_that_any_call_would_have),
		cmocka_unit_test(calls_that_are_made_most_are_plain_and_others_are_not),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
