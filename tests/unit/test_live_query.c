/* SPDX-License-Identifier: MIT */
/* test_live_query.c - what a program is told about its living resources, and their peak. */
#include "tracker/live_query.h"

#include "guest/saved_state.h"
#include "test_guest.h"
#include "tracker/live_table.h"
#include "tracker/live_totals.h"

static void allocate(uint64_t address, uint64_t size)
{
	uint64_t out = address, argv[GT_ARGS_MAX] = { 0 };

	argv[zeMemAllocDevice__size] = size;
	argv[zeMemAllocDevice__pptr] = (uint64_t)(uintptr_t)&out;
	call_with(GT_FN_zeMemAllocDevice, argv, 0);
}

static void release(uint64_t address, uint64_t result)
{
	call_with(GT_FN_zeMemFree, (uint64_t[GT_ARGS_MAX]){ [zeMemFree__ptr] = address }, result);
}

static void give_block(uint64_t address, uint64_t size)
{
	call_with(GT_FN_gputrack_pool_block, (uint64_t[GT_ARGS_MAX]){ address, size }, 0);
}

static void take_block(uint64_t address)
{
	call(GT_FN_gputrack_pool_end, address, 0);
}

static gputrack_live_mark now(void)
{
	gputrack_live_mark mark;

	errno = 4711;
	assert_int_equal(gt_live_query_now(&mark), 1);
	assert_int_equal(errno, 4711);
	return mark;
}

static gputrack_live_mark peak_since(gputrack_live_mark since)
{
	gputrack_live_mark peak;

	assert_int_equal(gt_live_query_peak(since.time_ns, &peak), 1);
	return peak;
}

static long count_since(gputrack_live_mark since)
{
	return gt_live_query_list(&(gputrack_live_span){ since.time_ns, UINT64_MAX }, 1, NULL,
				  NULL);
}

static void only_what_was_created_since_a_mark_is_listed(void **state)
{
	gputrack_live_mark first, second;

	(void)state;
	first = now();
	allocate(0x1000, 100);
	second = now();
	allocate(0x2000, 50);
	give_block(0x3000, 25);
	assert_int_equal(count_since(first), 3);
	assert_int_equal(count_since(second), 2);
	/* created between the two */
	assert_int_equal(gt_live_query_list(&(gputrack_live_span){ first.time_ns, second.time_ns },
					    1, NULL, NULL),
			 1);
	release(0x2000, 0);
	take_block(0x3000);
	assert_int_equal(count_since(second), 0);
	release(0x1000, 0);
	assert_int_equal(count_since(first), 0);
	assert_int_equal(now().resources, first.resources);
	assert_int_equal(now().device_bytes, first.device_bytes);
}

struct seen {
	int count;
	gputrack_live_resource last;
};

static int see(void *context, const gputrack_live_resource *resource)
{
	struct seen *seen = context;

	seen->last = *resource;
	return ++seen->count < 2;
}

/* No lock is held: the callback may make calls and ask in its turn. */
static int end_it(void *context, const gputrack_live_resource *resource)
{
	(void)context;
	release(resource->handle, 0);
	assert_true(now().time_ns > resource->time_ns);
	return 1;
}

static void resources_are_listed_newest_first_until_the_callback_stops(void **state)
{
	gputrack_live_mark before = now();
	gputrack_live_span span = { before.time_ns, UINT64_MAX };
	struct seen seen = { 0 };

	(void)state;
	for (uint64_t i = 1; i <= 3; i++)
		allocate(0x1000 * i, i);
	assert_int_equal(gt_live_query_list(&span, 1, see, &seen), 3);
	assert_int_equal(seen.count, 2);
	assert_int_equal(seen.last.handle, 0x2000);
	assert_int_equal(seen.last.bytes, 2);
	assert_string_equal(seen.last.api, "Level Zero");
	assert_string_equal(seen.last.kind, "device memory");
	assert_string_equal(seen.last.created_by, "zeMemAllocDevice");
	assert_int_equal(gt_live_query_list(&span, 1, end_it, NULL), 3);
	assert_int_equal(count_since(before), 0);
}

static void a_release_that_fails_changes_nothing(void **state)
{
	gputrack_live_mark before = now();

	(void)state;
	allocate(0x1000, 100);
	release(0x1000, 0x78000004);
	assert_int_equal(count_since(before), 1);
	assert_int_equal(now().device_bytes, before.device_bytes + 100);
	release(0x1000, 0);
	assert_int_equal(now().device_bytes, before.device_bytes);
}

static void memory_under_a_known_address_replaces_it(void **state)
{
	gputrack_live_mark before = now();

	(void)state;
	allocate(0x1000, 100);
	allocate(0x1000, 30);
	assert_int_equal(now().device_bytes, before.device_bytes + 30);
	assert_int_equal(now().resources, before.resources + 1);
	release(0x1000, 0);
}

static void what_a_context_owns_ends_with_it(void **state)
{
	struct gt_event context = { .function = GT_FN_cuCtxCreate_v2,
				    .handle = 0xc0,
				    .time_ns = 1 };
	struct gt_event memory = { .function = GT_FN_cuMemAlloc_v2,
				   .handle = 0x5000,
				   .owner = 0xc0,
				   .size = 10,
				   .time_ns = 2 };
	gputrack_live_mark before = now();
	struct gt_ending replaced;

	(void)state;
	gt_live_table_apply(&context, &replaced);
	gt_live_table_apply(&memory, &replaced);
	assert_int_equal(now().resources, before.resources + 2);
	call(GT_FN_cuCtxDestroy_v2, 0xc0, 0);
	assert_int_equal(now().resources, before.resources);
	assert_int_equal(now().device_bytes, before.device_bytes);
}

static void a_peak_is_that_since_its_mark(void **state)
{
	gputrack_live_mark first = now(), second, third;

	(void)state;
	allocate(0x1000, 100);
	release(0x1000, 0);
	second = now();
	give_block(0x3000, 7);
	allocate(0x1000, 60);
	release(0x1000, 0);
	third = now();
	allocate(0x1000, 80);
	assert_int_equal(peak_since(first).device_bytes, first.device_bytes + 100);
	assert_int_equal(peak_since(second).device_bytes, first.device_bytes + 80);
	assert_int_equal(peak_since(third).device_bytes, first.device_bytes + 80);
	assert_int_equal(peak_since(third).block_bytes, first.block_bytes + 7);
	assert_int_equal(peak_since(first).resources, first.resources + 2);
	release(0x1000, 0);
	take_block(0x3000);
	assert_int_equal(peak_since(now()).device_bytes, first.device_bytes);
}

static void peaks_of_many_marks_are_remembered(void **state)
{
	enum { MARKS = 1000 };
	gputrack_live_mark first = now(), last[100], before_last;

	(void)state;
	/* each lower than the one before, so that none can stand for another */
	for (uint64_t i = 0; i < MARKS; i++) {
		before_last = now();
		last[i % 100] = before_last;
		allocate(0x1000, 2 * MARKS - i);
		release(0x1000, 0);
	}
	assert_int_equal(peak_since(first).device_bytes, first.device_bytes + 2 * MARKS);
	for (uint64_t i = MARKS - 100; i < MARKS; i++)
		assert_int_equal(peak_since(last[i % 100]).device_bytes,
				 first.device_bytes + 2 * MARKS - i);
}

static void a_child_counts_for_itself(void **state)
{
	gputrack_live_mark before = now();
	int status;
	pid_t child;

	(void)state;
	allocate(0x1000, 100);
	child = fork();
	if (!child) {
		bool is_right = !count_since(before) && !now().resources && !now().device_bytes;

		allocate(0x1000, 5);
		is_right &= count_since(before) == 1 && peak_since(before).device_bytes == 5;
		_exit(is_right ? 0 : 1);
	}
	waitpid(child, &status, 0);
	assert_int_equal(status, 0);
	assert_int_equal(count_since(before), 1);
	release(0x1000, 0);
}

static void *allocate_and_release(void *own)
{
	for (int i = 0; i < 300; i++) {
		allocate((uint64_t)(uintptr_t)own, 10);
		release((uint64_t)(uintptr_t)own, 0);
	}
	return NULL;
}

static void threads_may_work_meanwhile(void **state)
{
	gputrack_live_mark before = now();
	pthread_t threads[4];

	(void)state;
	for (uintptr_t i = 0; i < 4; i++)
		pthread_create(&threads[i], NULL, allocate_and_release,
			       (void *)(0x100000 + (i << 12)));
	for (int i = 0; i < 100; i++) {
		assert_in_range(count_since(before), 0, 4);
		assert_in_range(peak_since(now()).device_bytes, before.device_bytes,
				before.device_bytes + 40);
	}
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	assert_int_equal(count_since(before), 0);
	assert_int_equal(now().device_bytes, before.device_bytes);
	assert_in_range(peak_since(before).device_bytes, before.device_bytes + 10,
			before.device_bytes + 40);
}

/* The handler interrupts the recorder: nothing may wait for its locks. */
static void in_a_handler_that_interrupted_the_recorder_a_mark_has_its_time(void **state)
{
	gputrack_live_mark mark = { 0 }, peak, before = now();

	(void)state;
	allocate(0x1000, 100);
	gt_in_recorder = true;
	assert_int_equal(count_since(before), 0);
	assert_int_equal(gt_live_query_now(&mark), 1);
	assert_int_not_equal(mark.time_ns, 0);
	assert_int_equal(gt_live_query_peak(mark.time_ns, &peak), 0);
	gt_in_recorder = false;
	assert_int_equal(count_since(before), 1);
	release(0x1000, 0);
}

static int sees_no_site(void *context, const gputrack_live_site *site)
{
	char *why = context;

	strcpy(why, site->excused);
	return 1;
}

static void without_the_tool_sites_have_a_reason(void **state)
{
	gputrack_live_span span = { 0, UINT64_MAX };
	char why[256] = "";

	(void)state;
	setenv("GPUTRACK_TOOL", "/nonexistent/gputrack", 1);
	assert_int_equal(gt_live_query_sites(&span, 1, sees_no_site, why), -1);
	assert_string_equal(why, "gputrack could not be started");
	setenv("GPUTRACK_TOOL", "/bin/echo", 1);
	assert_int_equal(gt_live_query_sites(&span, 1, sees_no_site, why), -1);
	assert_non_null(strstr(why, "since"));
}

static int start(void **state)
{
	(void)state;
	if (!mkdtemp(folder))
		return -1;
	snprintf(recording, sizeof recording, "%s/a.gt", folder);
	snprintf(csv, sizeof csv, "%s/a.csv", folder);
	setenv("GPUTRACK_RECORDING", recording, 1);
	gt_guest_start();
	return 0;
}

static int stop(void **state)
{
	char command[96];

	(void)state;
	(void)replay;
	(void)create;
	snprintf(command, sizeof command, "rm -rf %s", folder);
	return system(command);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(only_what_was_created_since_a_mark_is_listed),
		cmocka_unit_test(resources_are_listed_newest_first_until_the_callback_stops),
		cmocka_unit_test(a_release_that_fails_changes_nothing),
		cmocka_unit_test(memory_under_a_known_address_replaces_it),
		cmocka_unit_test(what_a_context_owns_ends_with_it),
		cmocka_unit_test(a_peak_is_that_since_its_mark),
		cmocka_unit_test(peaks_of_many_marks_are_remembered),
		cmocka_unit_test(a_child_counts_for_itself),
		cmocka_unit_test(threads_may_work_meanwhile),
		cmocka_unit_test(in_a_handler_that_interrupted_the_recorder_a_mark_has_its_time),
		cmocka_unit_test(without_the_tool_sites_have_a_reason),
	};

	return cmocka_run_group_tests(tests, start, stop);
}
