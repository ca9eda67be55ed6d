/* SPDX-License-Identifier: MIT */
/* test_forward.c - which signals are forwarded: those for us alone, and each once. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "cli/forward.h"

enum { SENDER = 77, OTHER = 78 };

static const unsigned long long MS = 1000000, START = 5000000000;

/* How often it is forwarded in the next two seconds. */
static int forwarded_times(struct gt_witness_signal *s, unsigned long long from_ns)
{
	int times = 0;

	for (unsigned long long t = 0; t < 2000; t++)
		times += gt_witness_is_due(s, from_ns + t * MS);
	return times;
}

static void a_signal_for_us_alone_is_forwarded_once(void **state)
{
	struct gt_witness_signal s = { 0 };

	(void)state;
	gt_witness_tell(&s, SENDER, true, START);
	assert_false(gt_witness_is_due(&s, START + MS));
	assert_int_equal(forwarded_times(&s, START), 1);
	gt_witness_tell(&s, SENDER, true, START + 3000 * MS);
	assert_int_equal(forwarded_times(&s, START + 3000 * MS), 1);
}

static void a_signal_for_the_group_is_not_forwarded(void **state)
{
	struct gt_witness_signal s = { 0 };

	(void)state;
	gt_witness_see(&s, SENDER, START);
	gt_witness_tell(&s, SENDER, true, START + 900 * MS); /* a busy machine */
	assert_int_equal(forwarded_times(&s, START + 900 * MS), 0);
	gt_witness_tell(&s, SENDER, true, START + 5000 * MS);
	gt_witness_see(&s, SENDER, START + 5001 * MS);
	assert_int_equal(forwarded_times(&s, START + 5001 * MS), 0);
}

static void one_for_us_and_one_for_the_group_are_one(void **state)
{
	struct gt_witness_signal s = { 0 };

	(void)state;
	gt_witness_tell(&s, SENDER, true, START);
	gt_witness_see(&s, SENDER, START + MS);
	gt_witness_tell(&s, SENDER, true, START + 2 * MS);
	assert_int_equal(forwarded_times(&s, START), 0);
	/* much later it is another one, and not lost */
	gt_witness_tell(&s, SENDER, true, START + 3000 * MS);
	assert_int_equal(forwarded_times(&s, START + 3000 * MS), 1);
}

static void another_sender_means_another_signal(void **state)
{
	struct gt_witness_signal s = { 0 };

	(void)state;
	gt_witness_see(&s, SENDER, START);
	gt_witness_tell(&s, OTHER, true, START + MS);
	assert_int_equal(forwarded_times(&s, START), 1);
	s = (struct gt_witness_signal){ 0 };
	gt_witness_tell(&s, OTHER, true, START);
	gt_witness_see(&s, SENDER, START + MS);
	assert_int_equal(forwarded_times(&s, START), 1);
}

static void a_program_outside_the_group_receives_each_once(void **state)
{
	struct gt_witness_signal s = { 0 };

	(void)state;
	gt_witness_see(&s, SENDER, START);
	gt_witness_tell(&s, SENDER, false, START + MS);
	gt_witness_see(&s, SENDER, START + 2 * MS);
	gt_witness_tell(&s, SENDER, false, START + 3 * MS);
	assert_int_equal(forwarded_times(&s, START), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_signal_for_us_alone_is_forwarded_once),
		cmocka_unit_test(a_signal_for_the_group_is_not_forwarded),
		cmocka_unit_test(one_for_us_and_one_for_the_group_are_one),
		cmocka_unit_test(another_sender_means_another_signal),
		cmocka_unit_test(a_program_outside_the_group_receives_each_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
