/* test_watch.c - the resource tracker starts in whatever thread makes the first call. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "guest/guest.h"
#include "guest/watch.h"

#include "test_scratch.h"

enum { SMALL_STACK = 48 << 10 };

static void *start(void *nothing)
{
	gt_guest_start();
	return nothing;
}

/* What it takes ahead is of its own memory, not of a stack that has no room for it. */
static void a_small_stack_is_enough_to_start(void **state)
{
	pthread_attr_t attributes;
	pthread_t thread;
	char csv[64];

	(void)state;
	snprintf(csv, sizeof csv, "%s/a.csv", scratch);
	setenv("GPUTRACK_CSV", csv, 1);
	assert_int_equal(pthread_attr_init(&attributes), 0);
	assert_int_equal(pthread_attr_setstacksize(&attributes, SMALL_STACK), 0);
	assert_int_equal(pthread_create(&thread, &attributes, start, NULL), 0);
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_true(gt_watch_is_on());
	pthread_attr_destroy(&attributes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_small_stack_is_enough_to_start),
	};

	return cmocka_run_group_tests(tests, make_scratch, remove_scratch);
}
