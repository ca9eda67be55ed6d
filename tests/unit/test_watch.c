/* test_watch.c - the resource tracker starts in whatever thread makes the first call. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "guest/guest.h"
#include "guest/watch.h"

static char csv[] = "/tmp/gputrack-watch-XXXXXX";

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

	(void)state;
	setenv("GPUTRACK_CSV", csv, 1);
	assert_int_equal(pthread_attr_init(&attributes), 0);
	assert_int_equal(pthread_attr_setstacksize(&attributes, SMALL_STACK), 0);
	assert_int_equal(pthread_create(&thread, &attributes, start, NULL), 0);
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_true(gt_watch_is_on());
	pthread_attr_destroy(&attributes);
}

static int make_name(void **state)
{
	(void)state;
	return mkdtemp(csv) ? 0 : -1;
}

static int remove_name(void **state)
{
	char command[64];

	(void)state;
	snprintf(command, sizeof command, "rm -rf %s*", csv);
	return system(command) ? -1 : 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_small_stack_is_enough_to_start),
	};

	return cmocka_run_group_tests(tests, make_name, remove_name);
}
