/* SPDX-License-Identifier: MIT */
/* test_malloc_use.c - how much memory malloc holds free, and when it is asked. */
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

#include "base/process.h"
#include "tracker/malloc_use.h"
#include "tracker/tracker.h"

enum { CALLS = 1024, BLOCKS = 1000, BLOCK = 2000, MARGIN = 100 * 1024 };

static int64_t free_now(void)
{
	int64_t bytes = -1;

	assert_true(gt_malloc_use_read(&bytes));
	return bytes;
}

/* Blocks that lie side by side, but for the last, which keeps them from the end of the heap. */
static void free_memory_is_what_was_freed(void **state)
{
	static char *volatile blocks[BLOCKS];
	int64_t before, after, again;
	char *volatile wall;

	(void)state;
	gt_malloc_use_start();
	if (!gt_malloc_use_is_known())
		skip(); /* the malloc of a sanitizer */
	for (int i = 0; i < BLOCKS; i++) {
		blocks[i] = malloc(BLOCK);
		memset(blocks[i], 1, BLOCK);
	}
	wall = malloc(BLOCK);
	before = free_now();
	for (int i = 0; i < BLOCKS; i++)
		free(blocks[i]);
	after = free_now();
	assert_true(gt_malloc_use_read_again(&again));
	assert_true(again == after);
	assert_in_range(after - before, BLOCKS * BLOCK - MARGIN, BLOCKS * BLOCK + MARGIN);
	free(wall);
}

static void an_era_ends_after_calls_in_which_nothing_grew(void **state)
{
	uint64_t now = gt_now_ns();
	uint16_t first;

	(void)state;
	gt_malloc_use_start();
	if (!gt_malloc_use_is_known())
		skip();
	first = gt_malloc_use_era(now);
	assert_true(first > 0);
	for (int i = 1; i < CALLS; i++)
		assert_int_equal(gt_malloc_use_era(now), first);
	assert_int_equal(gt_malloc_use_era(now), 0);
	/* the next is twice as long, and prolonged when something grows */
	gt_malloc_use_watch();
	for (int i = 0; i < CALLS; i++)
		assert_int_equal(gt_malloc_use_era(now), first + 1);
	gt_malloc_use_watch();
	for (int i = 0; i < 2 * CALLS; i++)
		assert_int_equal(gt_malloc_use_era(now), first + 1);
	assert_int_equal(gt_malloc_use_era(now), 0);
}

/* As a driver that maps memory and touches it. */
static void grow(void)
{
	char *at = mmap(NULL, MARGIN, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	assert_ptr_not_equal(at, MAP_FAILED);
	memset(at, 1, MARGIN);
}

static void only_growth_of_a_call_that_was_alone_begins_an_era(void **state)
{
	struct gt_tracker_call call, other;
	struct gt_tracker_result result;

	(void)state;
	gt_malloc_use_start();
	if (!gt_malloc_use_is_known())
		skip();
	for (int i = 0; i < CALLS; i++)
		assert_true(gt_malloc_use_era(gt_now_ns()) > 0);
	gt_tracker_before(&call, gt_now_ns());
	gt_tracker_before(&other, gt_now_ns());
	grow();
	gt_tracker_after(&other, &result);
	gt_tracker_after(&call, &result);
	assert_int_equal(gt_malloc_use_era(gt_now_ns()), 0);
	gt_tracker_before(&call, gt_now_ns());
	grow();
	gt_tracker_after(&call, &result);
	assert_true(gt_malloc_use_era(gt_now_ns()) > 0);
}

static void a_child_without_locks_never_asks(void **state)
{
	(void)state;
	gt_malloc_use_start();
	gt_malloc_use_restart(true);
	if (!gt_malloc_use_is_known())
		skip();
	assert_true(gt_malloc_use_era(gt_now_ns()) > 0);
	gt_malloc_use_restart(false);
	assert_false(gt_malloc_use_is_known());
	assert_int_equal(gt_malloc_use_era(gt_now_ns()), 0);
	gt_malloc_use_watch();
	assert_int_equal(gt_malloc_use_era(gt_now_ns()), 0);
}

static volatile sig_atomic_t read_in_handler;

static void handle(int number)
{
	int64_t bytes;

	(void)number;
	read_in_handler = gt_malloc_use_read(&bytes);
}

/* On the thread's own stack, and on one for signals. */
static void a_signal_handler_never_asks(void **state)
{
	static char stack[1 << 16];
	stack_t other = { .ss_sp = stack, .ss_size = sizeof stack };
	struct sigaction action = { .sa_handler = handle };

	(void)state;
	gt_malloc_use_start();
	if (!gt_malloc_use_is_known())
		skip();
	free_now();
	for (int i = 0; i < 2; i++) {
		read_in_handler = -1;
		assert_int_equal(sigaction(SIGUSR1, &action, NULL), 0);
		assert_int_equal(raise(SIGUSR1), 0);
		assert_int_equal(read_in_handler, 0);
		assert_int_equal(sigaltstack(&other, NULL), 0);
		action.sa_flags = SA_ONSTACK;
	}
	free_now();
}

static void *ask(void *out)
{
	*(int64_t *)out = free_now();
	return NULL;
}

static void any_thread_may_ask(void **state)
{
	pthread_t thread;
	int64_t bytes = -1;

	(void)state;
	gt_malloc_use_start();
	if (!gt_malloc_use_is_known())
		skip();
	assert_int_equal(pthread_create(&thread, NULL, ask, &bytes), 0);
	pthread_join(thread, NULL);
	assert_true(bytes >= 0);
}

static void asking_leaves_the_signal_mask_as_it_was(void **state)
{
	sigset_t before, after;

	(void)state;
	gt_malloc_use_start();
	if (!gt_malloc_use_is_known())
		skip();
	sigemptyset(&before);
	sigaddset(&before, SIGUSR2);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	free_now();
	pthread_sigmask(SIG_SETMASK, NULL, &after);
	for (int i = 1; i < 32; i++)
		assert_int_equal(sigismember(&after, i), i == SIGUSR2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(free_memory_is_what_was_freed),
		cmocka_unit_test(an_era_ends_after_calls_in_which_nothing_grew),
		cmocka_unit_test(a_signal_handler_never_asks),
		cmocka_unit_test(any_thread_may_ask),
		cmocka_unit_test(asking_leaves_the_signal_mask_as_it_was),
		cmocka_unit_test(only_growth_of_a_call_that_was_alone_begins_an_era),
		cmocka_unit_test(a_child_without_locks_never_asks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
