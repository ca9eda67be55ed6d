/* SPDX-License-Identifier: MIT */
/* test_tracker.c - the resource tracker starts in whatever thread makes the first call. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "guest/guest.h"
#include "tracker/meter.h"
#include "tracker/tracker.h"

#include "test_scratch.h"

enum { SMALL_STACK = 48 << 10 };

static void *start(void *nothing)
{
	gt_guest_start();
	return nothing;
}

/* It reserves memory of its own, not on a stack that may be too small. */
static void a_small_stack_is_enough_to_start(void **state)
{
	size_t least = (size_t)sysconf(_SC_THREAD_STACK_MIN); /* 128 KiB on arm64 */
	pthread_attr_t attributes;
	pthread_t thread;
	char csv[64];

	(void)state;
	snprintf(csv, sizeof csv, "%s/a.csv", scratch);
	setenv("GPUTRACK_CSV", csv, 1);
	assert_int_equal(pthread_attr_init(&attributes), 0);
	assert_int_equal(
		pthread_attr_setstacksize(&attributes, SMALL_STACK < least ? least : SMALL_STACK),
		0);
	assert_int_equal(pthread_create(&thread, &attributes, start, NULL), 0);
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_true(gt_tracker_is_on());
	pthread_attr_destroy(&attributes);
}

/* Only the stacks of later threads are left out of the figures. */
static void figures_of_the_first_thread_match_the_kernel(void **state)
{
	struct gt_meter m;
	unsigned long pages;
	FILE *statm;

	gt_guest_start();
	statm = fopen("/proc/self/statm", "re");
	assert_non_null(statm);
	assert_int_equal(setvbuf(statm, NULL, _IONBF, 0), 0);
	gt_meter_read(&m);
	assert_int_equal(fscanf(statm, "%lu", &pages), 1);
	assert_int_equal(m.size_kb, pages * (unsigned long)sysconf(_SC_PAGESIZE) / 1024);
	fclose(statm);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_small_stack_is_enough_to_start),
		cmocka_unit_test(figures_of_the_first_thread_match_the_kernel),
	};

	return cmocka_run_group_tests(tests, make_scratch, remove_scratch);
}
