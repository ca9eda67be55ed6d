/* SPDX-License-Identifier: MIT */
/* test_obstacle.c - what keeps `attach` from tracing on a machine, and the words for it. */
#include "capture/ebpf/obstacle.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static void every_obstacle_has_its_own_message(void **state)
{
	const struct gt_surroundings fine = {
		.kernel_major = 6, .kernel_minor = 1, .has_types = true, .capabilities = UINT64_MAX
	};
	struct gt_surroundings s = fine;
	struct gt_error error;

	(void)state;
	assert_int_equal(gt_obstacle_before(&s, &error), 0);
	s.kernel_major = 5;
	s.kernel_minor = 10;
	assert_true(gt_obstacle_before(&s, &error) && strstr(error.text, "5.15"));
	s = fine;
	s.capabilities = 0;
	assert_true(gt_obstacle_before(&s, &error) && strstr(error.text, "root"));
	s = fine;
	s.locked_down = true;
	assert_true(gt_obstacle_before(&s, &error) && strstr(error.text, "lockdown"));
	s = fine;
	s.has_types = false;
	assert_true(gt_obstacle_before(&s, &error) && strstr(error.text, "BTF"));
	s = fine;
	s.seccomp = true;
	assert_int_equal(gt_obstacle_after(&s, -1, "load", "", &error), -1);
	assert_non_null(strstr(error.text, "seccomp"));
	s.seccomp = false;
	gt_obstacle_after(&s, -1, "load", "", &error);
	assert_non_null(strstr(error.text, "--privileged"));
	gt_obstacle_after(&s, -524, "attach to x", "", &error);
	assert_non_null(strstr(error.text, "cannot be probed"));
}

static void each_requirement_is_reported_as_met_or_not(void **state)
{
	const struct gt_surroundings fine = { .kernel_major = 6,
					      .has_types = true,
					      .capabilities = UINT64_MAX };
	const struct gt_surroundings nothing = { .kernel_major = 5, .locked_down = true };
	struct gt_need needs[GT_NEED_COUNT];

	(void)state;
	gt_needs_look(&fine, needs);
	for (int i = 0; i < GT_NEED_COUNT; i++)
		assert_true(needs[i].is_met && *needs[i].text && !needs[i].code);
	gt_needs_look(&nothing, needs);
	for (int i = 0; i < GT_NEED_COUNT; i++)
		assert_true(!needs[i].is_met && *needs[i].text && needs[i].code < 0 &&
			    *needs[i].remedy);
	assert_true(gt_may_look_at_others(&fine));
	assert_false(gt_may_look_at_others(&nothing));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_obstacle_has_its_own_message),
		cmocka_unit_test(each_requirement_is_reported_as_met_or_not),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
