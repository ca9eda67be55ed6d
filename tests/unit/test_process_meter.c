/* SPDX-License-Identifier: MIT */
/* test_process_meter.c - the readings of a process, compared with its own. */
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/process.h"
#include "cli/monitor/process_meter.h"

/* The CPU time of this process, directly from the kernel. */
static uint64_t own_cpu_ns(void)
{
	return gt_clock_ns(CLOCK_PROCESS_CPUTIME_ID);
}

static void *burn(void *until_ns)
{
	while (gt_clock_ns(CLOCK_THREAD_CPUTIME_ID) < *(uint64_t *)until_ns)
		;
	return NULL;
}

static void cpu_time_is_exact_and_covers_all_threads(void **state)
{
	uint64_t part_ns = 3000000, before, after;
	struct gt_process_meter m;
	struct gt_process_reading r;
	pthread_t thread;

	(void)state;
	assert_int_equal(gt_process_meter_open(&m, getpid(), NULL), 0);
	for (int i = 0; i < 5; i++) {
		uint64_t then = m.cpu_ns, when = m.time_ns;

		pthread_create(&thread, NULL, burn, &part_ns);
		pthread_join(thread, NULL);
		before = own_cpu_ns();
		assert_true(gt_process_meter_read(&m, &r));
		after = own_cpu_ns();
		assert_true(r.cpu_ns >= before && r.cpu_ns <= after);
		assert_true(r.cpu_ns - then >= part_ns);
		assert_true(r.cpu_percent ==
			    100.0 * (double)(r.cpu_ns - then) / (double)(m.time_ns - when));
	}
	gt_process_meter_close(&m);
}

static void memory_is_resident_memory(void **state)
{
	enum { SIZE = 64 << 20 };
	struct gt_process_meter m;
	struct gt_process_reading small, big;
	char *block;

	(void)state;
	assert_int_equal(gt_process_meter_open(&m, getpid(), NULL), 0);
	assert_true(gt_process_meter_read(&m, &small));
	block = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	memset(block, 1, SIZE);
	assert_true(gt_process_meter_read(&m, &big));
	munmap(block, SIZE);
	/* the kernel counts in batches per processor */
	assert_true(big.rss_bytes - small.rss_bytes > SIZE - (4 << 20));
	assert_true(big.rss_bytes - small.rss_bytes < SIZE + (16 << 20));
	assert_true(gt_machine_memory_bytes() > big.rss_bytes);
	gt_process_meter_close(&m);
}

static pid_t sleeper(const char *name)
{
	int ready[2];
	pid_t child;
	char byte;

	assert_int_equal(pipe(ready), 0);
	child = fork();
	if (!child) {
		prctl(PR_SET_NAME, name);
		if (write(ready[1], "", 1) == 1)
			pause();
		_exit(0);
	}
	assert_int_equal(read(ready[0], &byte, 1), 1);
	close(ready[0]);
	close(ready[1]);
	return child;
}

static void the_end_of_a_process_is_noticed(void **state)
{
	struct gt_process_meter m;
	struct gt_process_reading r;
	pid_t child = sleeper("we, the \"odd\"");

	(void)state;
	assert_int_equal(gt_process_meter_open(&m, child, NULL), 0);
	assert_string_equal(m.name, "we, the \"odd\"");
	assert_true(gt_process_meter_read(&m, &r));
	kill(child, SIGKILL);
	/* dead, but still there for its parent to ask about */
	assert_int_equal(waitid(P_PID, (id_t)child, &(siginfo_t){ 0 }, WEXITED | WNOWAIT), 0);
	assert_false(gt_process_meter_read(&m, &r));
	assert_int_equal(gt_process_meter_open(&(struct gt_process_meter){ 0 }, child, NULL),
			 -ESRCH);
	waitpid(child, NULL, 0);
	assert_false(gt_process_meter_read(&m, &r));
	gt_process_meter_close(&m);
}

/* A meter whose pid belongs to another process by now. */
static void a_reused_pid_is_another_process(void **state)
{
	struct gt_process_meter m;
	struct gt_process_reading r;
	pid_t child = sleeper("other");

	(void)state;
	assert_int_equal(gt_process_meter_open(&m, child, NULL), 0);
	assert_true(gt_process_meter_read(&m, &r));
	m.start_ticks--;
	assert_false(gt_process_meter_read(&m, &r));
	gt_process_meter_close(&m);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
}

static void *thread_number(void *number)
{
	*(pid_t *)number = (pid_t)syscall(SYS_gettid);
	pause();
	return NULL;
}

static void a_pid_without_a_process_is_reported_in_one_line(void **state)
{
	struct gt_process_meter m;
	struct gt_error error;
	volatile pid_t number = 0;
	pthread_t thread;

	(void)state;
	assert_int_equal(gt_process_meter_open(&m, 4194304 + 1, &error), -ESRCH);
	assert_non_null(strstr(error.text, "no process 4194305"));
	assert_int_equal(gt_process_meter_open(&m, 0, &error), -ESRCH);
	pthread_create(&thread, NULL, thread_number, (void *)&number);
	while (!number)
		sched_yield();
	assert_true(gt_process_meter_open(&m, number, &error) < 0);
	assert_null(strchr(error.text, '\n'));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cpu_time_is_exact_and_covers_all_threads),
		cmocka_unit_test(memory_is_resident_memory),
		cmocka_unit_test(the_end_of_a_process_is_noticed),
		cmocka_unit_test(a_reused_pid_is_another_process),
		cmocka_unit_test(a_pid_without_a_process_is_reported_in_one_line),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
