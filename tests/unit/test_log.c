/* SPDX-License-Identifier: MIT */
/* test_log.c - times in the log, without a lock that a child may find held for ever. */
#include "tracker/log.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

enum { AHEAD_S = 5 * 3600 + 45 * 60 };

static char path[] = "/tmp/gputrack-log-XXXXXX";
static bool is_held; /* the C library's lock on its zone, by a thread that is not there */

/* Replaces the C library's. */
struct tm *localtime_r(const time_t *restrict time, struct tm *restrict out)
{
	if (is_held)
		_exit(9);
	memset(out, 0, sizeof *out);
	out->tm_gmtoff = AHEAD_S;
	return *time ? out : NULL;
}

static void read_log(char *text, size_t size)
{
	FILE *file = fopen(path, "r");
	size_t n = fread(text, 1, size - 1, file);

	text[n] = '\0';
	fclose(file);
}

/*
 * The date and time a line begins with, as the C library writes them. Uses the log's own clock:
 * time(2) may still be a tick behind when a new second begins.
 */
static void expect(char *out, size_t size)
{
	struct timespec now;
	time_t local;

	clock_gettime(CLOCK_REALTIME, &now);
	local = now.tv_sec + AHEAD_S;
	strftime(out, size, "[%Y-%m-%d %H:%M:%S.", gmtime(&local));
}

static void a_line_has_the_local_time(void **state)
{
	char text[4096], before[64], after[64];
	unsigned thread;

	(void)state;
	expect(before, sizeof before);
	gt_log(GT_LOG_INFO, "hello");
	expect(after, sizeof after);
	read_log(text, sizeof text);
	assert_true(strncmp(text, before, strlen(before)) >= 0);
	assert_true(strncmp(text, after, strlen(after)) <= 0);
	assert_int_equal(
		sscanf(text + strlen(before) + 3, "] [thread-id: %u] [info] hello", &thread), 1);
}

static void a_child_does_not_wait_for_the_time_zone_lock(void **state)
{
	int status;
	pid_t child = fork();

	(void)state;
	if (!child) {
		is_held = true;
		gt_log_restart();
		gt_log(GT_LOG_INFO, "from the child");
		_exit(0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}

static int start(void **state)
{
	int fd = mkstemp(path);

	(void)state;
	setenv("GPUTRACK_LOG", path, 1);
	gt_log_start();
	return close(fd);
}

static int finish(void **state)
{
	(void)state;
	return unlink(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_line_has_the_local_time),
		cmocka_unit_test(a_child_does_not_wait_for_the_time_zone_lock),
	};

	return cmocka_run_group_tests(tests, start, finish);
}
