/* SPDX-License-Identifier: MIT */
/* test_ledger_mistakes.c - redundant releases, failures, the call a process died in. */
#include "test_ledger.h"

#include <sys/wait.h>
#include <unistd.h>

static void retains_keep_a_resource_alive_and_the_last_one_is_known(void **state)
{
	struct gt_ledger *l = gt_ledger_new();
	const struct gt_entry *e;

	apply(l, GT_FN_clCreateBuffer, 1, 10, 1000);
	e = gt_live_find(&l->live, 0, GT_BUFFER, 1);
	assert_int_equal(gt_ledger_retain_stack(l, e), 0);
	apply(l, GT_FN_clRetainMemObject, 1, 11, 0);
	apply(l, GT_FN_clRetainMemObject, 1, 12, 0);
	assert_int_equal(gt_ledger_retain_stack(l, e), 12);
	apply(l, GT_FN_clReleaseMemObject, 1, 13, 0);
	apply(l, GT_FN_clReleaseMemObject, 1, 13, 0);
	assert_int_equal(gt_ledger_retain_stack(l, e), 0);
	apply(l, GT_FN_clReleaseMemObject, 1, 13, 0);
	assert_int_equal(l->live.count, 0);
	/* whoever gets the place next was never retained */
	apply(l, GT_FN_clCreateUserEvent, 2, 10, 0);
	e = gt_live_find(&l->live, 0, GT_EVENT, 2);
	assert_int_equal(gt_ledger_retain_stack(l, e), 0);
	gt_ledger_free(l);
}

static void a_redundant_release_names_all_three_stacks(void **state)
{
	struct gt_ledger *l = gt_ledger_new();

	apply(l, GT_FN_clCreateBuffer, 1, 10, 1000);
	apply(l, GT_FN_clReleaseMemObject, 1, 11, 0);
	apply(l, GT_FN_clReleaseMemObject, 1, 12, 0);
	assert_int_equal(l->redundant_count, 1);
	assert_int_equal(l->redundant[0].created_stack, 10);
	assert_int_equal(l->redundant[0].ended_stack, 11);
	assert_int_equal(l->redundant[0].stack, 12);
	assert_int_equal(l->redundant[0].handle, 1);
	assert_int_equal(l->redundant[0].count, 1);
	assert_int_equal(l->redundant[0].function, GT_FN_clReleaseMemObject);
	/* the same again is the same, counted */
	apply(l, GT_FN_clReleaseMemObject, 1, 12, 0);
	assert_int_equal(l->redundant_count, 1);
	assert_int_equal(l->redundant[0].count, 2);
	apply(l, GT_FN_clReleaseMemObject, 1, 13, 0);
	assert_int_equal(l->redundant_count, 2);
	assert_int_equal(l->unknown_ends, 0);
	gt_ledger_free(l);
}

static void a_redundant_release_of_a_reused_handle_names_its_second_lifetime(void **state)
{
	struct gt_ledger *l = gt_ledger_new();

	apply(l, GT_FN_clCreateBuffer, 1, 10, 1000);
	apply(l, GT_FN_clReleaseMemObject, 1, 11, 0);
	apply(l, GT_FN_clCreateImage, 1, 20, 1000);
	apply(l, GT_FN_clReleaseMemObject, 1, 21, 0);
	/* another family's handle of the same value has nothing to do with it */
	apply(l, GT_FN_clCreateUserEvent, 1, 30, 0);
	apply(l, GT_FN_clReleaseEvent, 1, 31, 0);
	assert_int_equal(l->redundant_count, 0);
	apply(l, GT_FN_clReleaseMemObject, 1, 22, 0);
	assert_int_equal(l->redundant_count, 1);
	assert_int_equal(l->redundant[0].created_stack, 20);
	assert_int_equal(l->redundant[0].ended_stack, 21);
	assert_int_equal(l->redundant[0].stack, 22);
	gt_ledger_free(l);
}

static void a_failed_release_of_an_ended_resource_is_redundant_too(void **state)
{
	struct gt_ledger *l = gt_ledger_new();
	struct gt_event e;

	apply(l, GT_FN_clCreateBuffer, 1, 10, 1000);
	apply(l, GT_FN_clReleaseMemObject, 1, 11, 0);
	e = event_of(GT_FN_clReleaseMemObject, 1, 12, 0);
	e.failed = 1;
	e.result = -38;
	gt_ledger_apply(l, &e, 0);
	assert_int_equal(l->redundant_count, 1);
	assert_int_equal(l->redundant[0].result, -38);
	assert_int_equal(l->failure_count, 0);
	gt_ledger_free(l);
}

static void only_releases_can_be_redundant(void **state)
{
	struct gt_ledger *l = gt_ledger_new();
	struct gt_event e;

	apply(l, GT_FN_clCreateBuffer, 1, 10, 1000);
	apply(l, GT_FN_clReleaseMemObject, 1, 11, 0);
	e = event_of(GT_FN_clRetainMemObject, 1, 12, 0);
	gt_ledger_apply(l, &e, 0);
	e.failed = 1;
	e.result = -38;
	gt_ledger_apply(l, &e, 0);
	assert_int_equal(l->redundant_count, 0);
	assert_int_equal(l->failure_count, 1);
	assert_int_equal(l->tally[GT_OPENCL][GT_BUFFER].failed, 1);
	gt_ledger_free(l);
}

static void handles_are_separate_per_process(void **state)
{
	struct gt_ledger *l = gt_ledger_new();
	struct gt_event create = event_of(GT_FN_clCreateBuffer, 1, 10, 1000);
	struct gt_event release = event_of(GT_FN_clReleaseMemObject, 1, 11, 0);

	gt_ledger_apply(l, &create, 0);
	gt_ledger_apply(l, &create, 1);
	assert_int_equal(l->live.count, 2);
	assert_int_equal(l->replaced, 0);
	gt_ledger_apply(l, &release, 0);
	gt_ledger_apply(l, &release, 2);
	assert_int_equal(l->redundant_count, 0);
	assert_int_equal(l->unknown_ends, 1);
	gt_ledger_apply(l, &release, 0);
	assert_int_equal(l->redundant_count, 1);
	assert_int_equal(l->live.count, 1);
	gt_ledger_free(l);
}

static void ends_of_unknown_handles_are_counted_separately(void **state)
{
	struct gt_ledger *l = gt_ledger_new();

	apply(l, GT_FN_clReleaseMemObject, 1, 11, 0);
	apply(l, GT_FN_clSVMFree, 2, 11, 0);
	apply(l, GT_FN_clRetainMemObject, 1, 11, 0);
	assert_int_equal(l->unknown_ends, 2);
	assert_int_equal(l->redundant_count, 0);
	gt_ledger_free(l);
}

static void a_replaced_handle_ends_its_first_lifetime(void **state)
{
	struct gt_ledger *l = gt_ledger_new();

	apply(l, GT_FN_clCreateBuffer, 1, 10, 1000);
	apply(l, GT_FN_clCreateBuffer, 1, 20, 300);
	assert_int_equal(l->replaced, 1);
	assert_int_equal(l->device_bytes, 300);
	assert_int_equal(l->peak_bytes, 1000);
	assert_int_equal(l->tally[GT_OPENCL][GT_BUFFER].live, 1);
	assert_int_equal(site_of(l, 10, GT_BUFFER)->live, 0);
	assert_int_equal(site_of(l, 20, GT_BUFFER)->live, 1);
	gt_ledger_finish(l);
	assert_int_equal(site_of(l, 10, GT_BUFFER)->bytes_at_peak, 1000);
	assert_int_equal(site_of(l, 20, GT_BUFFER)->bytes_at_peak, 0);
	gt_ledger_free(l);
}

static void failures_are_grouped_by_function_stack_and_code(void **state)
{
	struct gt_ledger *l = gt_ledger_new();
	struct gt_event e = event_of(GT_FN_clCreateBuffer, 0, 10, 1000);

	e.failed = 1;
	e.result = -61;
	gt_ledger_apply(l, &e, 0);
	e.size = 5000;
	gt_ledger_apply(l, &e, 0);
	e.size = 200;
	gt_ledger_apply(l, &e, 0);
	assert_int_equal(l->failure_count, 1);
	assert_int_equal(l->failures[0].count, 3);
	assert_int_equal(l->failures[0].bytes_most, 5000);
	e.result = -4;
	gt_ledger_apply(l, &e, 0);
	e.stack = 11;
	gt_ledger_apply(l, &e, 0);
	e.function = GT_FN_clCreateImage;
	gt_ledger_apply(l, &e, 0);
	assert_int_equal(l->failure_count, 4);
	assert_int_equal(l->tally[GT_OPENCL][GT_BUFFER].failed, 5);
	assert_int_equal(l->tally[GT_OPENCL][GT_BUFFER].created, 0);
	assert_int_equal(l->live.count, 0);
	assert_int_equal(l->site_count, 0);
	gt_ledger_free(l);
}

static void the_last_call_that_ran_out_of_memory_is_kept_with_who_held_it(void **state)
{
	struct gt_ledger *l = gt_ledger_new();
	struct gt_event e = event_of(GT_FN_clCreateBuffer, 0, 30, 500);

	apply(l, GT_FN_clCreateBuffer, 1, 10, 1000);
	apply(l, GT_FN_clCreateBuffer, 2, 20, 4000);
	apply(l, GT_FN_clReleaseMemObject, 1, 11, 0);
	e.failed = 1;
	e.result = -30; /* it asked for something invalid: memory has not run out */
	gt_ledger_apply(l, &e, 0);
	assert_int_equal(l->shortage_count, 0);
	e.result = -4;
	gt_ledger_apply(l, &e, 0);
	assert_int_equal(l->shortage_count, 1);
	assert_int_equal(l->shortages[0].asked, 500);
	assert_int_equal(l->shortages[0].device_bytes, 4000);
	assert_int_equal(l->shortages[0].holder_count, 1);
	assert_int_equal(l->sites[l->shortages[0].holders[0].site].stack, 20);
	assert_int_equal(l->shortages[0].holders[0].bytes, 4000);
	/* objects without bytes do not show that memory could be had again */
	apply(l, GT_FN_clCreateUserEvent, 7, 10, 0);
	assert_false(l->shortages[0].went_on);
	apply(l, GT_FN_clCreateBuffer, 3, 10, 1);
	assert_true(l->shortages[0].went_on);
	gt_ledger_apply(l, &e, 0);
	assert_int_equal(l->shortages[0].count, 2);
	assert_false(l->shortages[0].went_on);
	gt_ledger_apply(l, &e, 1); /* another process */
	assert_int_equal(l->shortage_count, 2);
	/* a release that fails so asks for nothing */
	e = event_of(GT_FN_clReleaseMemObject, 2, 30, 0);
	e.failed = 1;
	e.result = -6;
	gt_ledger_apply(l, &e, 0);
	assert_int_equal(l->shortages[0].count, 2);
	gt_ledger_free(l);
}

static void a_failed_release_of_a_live_resource_is_a_failure_and_changes_nothing(void **state)
{
	struct gt_ledger *l = gt_ledger_new();
	struct gt_event e = event_of(GT_FN_clReleaseMemObject, 1, 11, 0);

	apply(l, GT_FN_clCreateBuffer, 1, 10, 1000);
	e.failed = 1;
	e.result = -6;
	gt_ledger_apply(l, &e, 0);
	assert_int_equal(l->failure_count, 1);
	assert_int_equal(l->redundant_count, 0);
	assert_int_equal(l->live.count, 1);
	assert_int_equal(l->device_bytes, 1000);
	gt_ledger_free(l);
}

static void the_call_a_process_died_in_is_recorded_and_changes_nothing(void **state)
{
	struct gt_ledger *l = gt_ledger_new();
	struct gt_event e = event_of(GT_FN_clReleaseMemObject, 1, 11, 0);

	apply(l, GT_FN_clCreateBuffer, 1, 10, 1000);
	e.unfinished = 1;
	gt_ledger_apply(l, &e, 3);
	assert_int_equal(l->last_call_count, 1);
	assert_int_equal(l->last_calls[0].process, 3);
	assert_int_equal(l->last_calls[0].event.handle, 1);
	assert_int_equal(l->live.count, 1);
	assert_int_equal(l->failure_count, 0);
	assert_int_equal(l->redundant_count, 0);
	gt_ledger_free(l);
}

static void dying_in_a_redundant_release_is_fatal(void **state)
{
	struct gt_ledger *l = gt_ledger_new();
	struct gt_event e;

	apply(l, GT_FN_clCreateBuffer, 1, 10, 1000);
	apply(l, GT_FN_clReleaseMemObject, 1, 11, 0);
	e = event_of(GT_FN_clReleaseMemObject, 1, 12, 0);
	e.unfinished = 1;
	gt_ledger_apply(l, &e, 0);
	assert_int_equal(l->redundant_count, 1);
	assert_true(l->redundant[0].fatal);
	assert_int_equal(l->redundant[0].created_stack, 10);
	assert_int_equal(l->last_call_count, 1);
	gt_ledger_free(l);
}

/* Far more ends than are remembered: recent ones are known, early ones forgotten. */
static void only_recent_ends_are_remembered(void **state)
{
	enum { DEATHS = 200000 };
	struct gt_ledger *l = gt_ledger_new();

	for (uint64_t h = 1; h <= DEATHS; h++) {
		apply(l, GT_FN_clCreateUserEvent, h, (uint32_t)(h % 1000), 0);
		apply(l, GT_FN_clReleaseEvent, h, (uint32_t)(h % 1000 + 1000), 0);
	}
	apply(l, GT_FN_clReleaseEvent, 5, 1, 0);
	assert_int_equal(l->redundant_count, 0);
	assert_int_equal(l->unknown_ends, 1);
	for (uint64_t h = DEATHS - 500; h < DEATHS; h++) {
		apply(l, GT_FN_clReleaseEvent, h, 1, 0);
		assert_int_equal(l->redundant[l->redundant_count - 1].created_stack, h % 1000);
		assert_int_equal(l->redundant[l->redundant_count - 1].ended_stack, h % 1000 + 1000);
	}
	assert_int_equal(l->redundant_count, 500);
	gt_ledger_free(l);
}

/* Interpreted calls never have handle 0, but a trace is untrusted input and may. */
static void many_ends_of_handle_zero_do_not_hang(void **state)
{
	int status;
	pid_t child = fork();

	if (!child) {
		struct gt_ledger *l = gt_ledger_new();

		alarm(5);
		for (int i = 0; i < 70000; i++) {
			apply(l, GT_FN_clCreateUserEvent, 0, 1, 0);
			apply(l, GT_FN_clReleaseEvent, 0, 2, 0);
		}
		/* enough of them to meet it in whatever order the dead are kept */
		for (uint64_t h = 1; h < 500000; h++)
			apply(l, GT_FN_clReleaseEvent, h, 3, 0);
		gt_ledger_free(l);
		_exit(0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

static void any_number_of_mistakes_uses_bounded_memory(void **state)
{
	struct gt_ledger *l = gt_ledger_new();

	for (uint32_t i = 0; i < 3000; i++) {
		struct gt_event e = event_of(GT_FN_clCreateBuffer, 0, i, 8);

		e.failed = 1;
		gt_ledger_apply(l, &e, 0);
	}
	assert_int_equal(l->failure_count, 1000);
	assert_int_equal(l->tally[GT_OPENCL][GT_BUFFER].failed, 3000);
	gt_ledger_free(l);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_last_call_that_ran_out_of_memory_is_kept_with_who_held_it),
		cmocka_unit_test(retains_keep_a_resource_alive_and_the_last_one_is_known),
		cmocka_unit_test(a_redundant_release_names_all_three_stacks),
		cmocka_unit_test(a_redundant_release_of_a_reused_handle_names_its_second_lifetime),
		cmocka_unit_test(a_failed_release_of_an_ended_resource_is_redundant_too),
		cmocka_unit_test(only_releases_can_be_redundant),
		cmocka_unit_test(handles_are_separate_per_process),
		cmocka_unit_test(ends_of_unknown_handles_are_counted_separately),
		cmocka_unit_test(a_replaced_handle_ends_its_first_lifetime),
		cmocka_unit_test(failures_are_grouped_by_function_stack_and_code),
		cmocka_unit_test(
			a_failed_release_of_a_live_resource_is_a_failure_and_changes_nothing),
		cmocka_unit_test(the_call_a_process_died_in_is_recorded_and_changes_nothing),
		cmocka_unit_test(dying_in_a_redundant_release_is_fatal),
		cmocka_unit_test(only_recent_ends_are_remembered),
		cmocka_unit_test(many_ends_of_handle_zero_do_not_hang),
		cmocka_unit_test(any_number_of_mistakes_uses_bounded_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
