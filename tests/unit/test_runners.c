/* SPDX-License-Identifier: MIT */
/* test_runners.c - which ranks of a job still run; killed ranks never left the list. */
#include "cli/run/job.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/cli.h"
#include "test_writer.h"

/* Never called here; replaces the one in main.c. */
void gt_tell(const char *format, ...)
{
	fail_msg("%s", format);
}

/* A process that waits until it is killed. */
static pid_t start(void)
{
	pid_t pid = fork();

	assert_true(pid >= 0);
	while (!pid)
		pause();
	return pid;
}

static void end(pid_t pid)
{
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

/* The caller frees it. */
static char *list_of(pid_t first, pid_t second)
{
	char *one = gt_runners_add("", "0", first), *two = gt_runners_add(one, "17", second);

	free(one);
	return two;
}

static void running_ranks_are_listed_and_finished_ranks_are_not(void **state)
{
	pid_t other = start();
	char *list = list_of(getpid(), other), *alone = gt_runners_add("", "17", other);
	struct gt_runners r;

	gt_runners_check(&r, list, "0");
	assert_int_equal(r.count, 1);
	assert_int_equal(r.here_count, 1);
	assert_int_equal(r.here[0], other);
	assert_string_equal(r.list, alone);
	assert_string_equal(r.killed, "");
	gt_runners_fini(&r);
	gt_runners_check(&r, alone, "17");
	assert_int_equal(r.count, 0);
	assert_string_equal(r.list, "");
	gt_runners_fini(&r);
	end(other);
	free(alone);
	free(list);
}

/* A zombie does not count as running either. */
static void killed_ranks_are_listed_separately(void **state)
{
	pid_t other = start();
	char *list = list_of(getpid(), other);
	struct gt_runners r;
	siginfo_t info;

	kill(other, SIGKILL);
	assert_int_equal(waitid(P_PID, (id_t)other, &info, WEXITED | WNOWAIT), 0);
	for (int waited = 0; waited < 2; waited++) {
		gt_runners_check(&r, list, "0");
		assert_int_equal(r.count, 0);
		assert_int_equal(r.here_count, 0);
		assert_string_equal(r.list, "");
		assert_string_equal(r.killed, "17");
		gt_runners_fini(&r);
		if (!waited)
			end(other);
	}
	free(list);
}

static void ranks_on_other_hosts_are_assumed_to_run(void **state)
{
	struct gt_runners r;

	gt_runners_check(&r, "3 999999999 another/pid:[1]", "0");
	assert_int_equal(r.count, 1);
	assert_int_equal(r.here_count, 0);
	assert_string_equal(r.killed, "");
	assert_string_equal(r.list, "3 999999999 another/pid:[1]");
	gt_runners_fini(&r);
}

static void malformed_entries_are_skipped(void **state)
{
	static const char *const lists[] = { "",      ",",      ",,,",   "x",      "1", "1 2",
					     "1 x y", "1 -2 y", "1 0 y", "a 1 y,", " " };
	struct gt_runners r;

	for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
		gt_runners_check(&r, lists[i], "0");
		assert_int_equal(r.count, 0);
		assert_string_equal(r.killed, "");
		gt_runners_fini(&r);
	}
}

static void waiting_ends_with_the_last_rank(void **state)
{
	pid_t first = start(), second = start();
	char *list = list_of(first, second);
	struct gt_runners r;

	gt_runners_check(&r, list, "none");
	assert_int_equal(r.here_count, 2);
	kill(first, SIGKILL);
	kill(second, SIGKILL);
	/* would go on for weeks, were it not for their end */
	gt_runners_wait(&r, INT32_MAX);
	end(first);
	end(second);
	gt_runners_wait(&r, INT32_MAX);
	gt_runners_fini(&r);
	free(list);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(running_ranks_are_listed_and_finished_ranks_are_not),
		cmocka_unit_test(killed_ranks_are_listed_separately),
		cmocka_unit_test(ranks_on_other_hosts_are_assumed_to_run),
		cmocka_unit_test(malformed_entries_are_skipped),
		cmocka_unit_test(waiting_ends_with_the_last_rank),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
