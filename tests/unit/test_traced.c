/* SPDX-License-Identifier: MIT */
/* test_traced.c - the threads of a process that is followed, when they end. */
#include "capture/ebpf/traced.h"
#include "test_writer.h"

enum { WORKER = 42, OTHER = 43 };

/* Follows a process in whose threads a call has returned each; WORKER then ends, in a call or not.
 */
static struct events follow(bool is_in_call)
{
	const struct gt_event release = {
		.time_ns = 9, .handle = 7, .tid = WORKER, .function = GT_FN_zeMemFree
	};
	struct gt_event create = { .time_ns = 5, .handle = 7, .function = GT_FN_zeMemAllocDevice };
	struct gt_traced_place place = { .folder = scratch };
	struct gt_traced_set set = { 0 };
	struct gt_traced *p = gt_traced_set_add(&set, (uint32_t)getpid(), 1, 0);
	char path[96];

	snprintf(path, sizeof path, "%s/%d.trace", scratch, getpid());
	unlink(path);
	assert_int_equal(gt_traced_open(p, &place), 0);
	for (create.tid = WORKER; create.tid <= OTHER; create.tid++) {
		gt_traced_thread(p, create.tid, "worker");
		gt_lane_event(gt_traced_lane(p, create.tid), &create);
		create.handle++;
	}
	if (is_in_call)
		gt_traced_enter(p, &release, NULL, 0);
	assert_true(gt_traced_thread_end(p, WORKER));
	gt_traced_end_threads(p);
	assert_true(gt_traced_has_thread(p, OTHER));
	assert_int_equal(gt_traced_has_thread(p, WORKER), is_in_call);
	gt_traced_set_remove(&set, p);
	gt_traced_free(p);
	return read_events(path, NULL);
}

static void a_thread_that_ended_in_a_call_has_that_call(void **state)
{
	struct events got = follow(true);

	(void)state;
	assert_int_equal(got.count, 3);
	assert_int_equal(got.list[2].function, GT_FN_zeMemFree);
	assert_int_equal(got.list[2].tid, WORKER);
	assert_true(got.list[2].unfinished);
	free(got.list);
}

static void the_lane_of_a_thread_that_ended_is_released(void **state)
{
	struct events got = follow(false);

	(void)state;
	assert_int_equal(got.count, 2);
	free(got.list);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_thread_that_ended_in_a_call_has_that_call),
		cmocka_unit_test(the_lane_of_a_thread_that_ended_is_released),
	};

	return cmocka_run_group_tests(tests, make_scratch, remove_scratch);
}
