/* SPDX-License-Identifier: MIT */
/* test_survive.c - files that are cut, or may not grow, do not end us; other signals do. */
#include "base/survive.h"

#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

/* Without the handlers of cmocka, of which SIGBUS is one. */
static void survive(void)
{
	signal(SIGBUS, SIG_DFL);
	signal(SIGXFSZ, SIG_DFL);
	gt_survive_files();
}

static void what_was_cut_off_reads_as_zeroes(void **state)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	FILE *file = tmpfile();
	volatile uint8_t *at;

	assert_non_null(file);
	for (size_t i = 0; i < 4 * page; i++)
		putc('x', file);
	assert_int_equal(fflush(file), 0);
	at = mmap(NULL, 4 * page, PROT_READ | PROT_WRITE, MAP_SHARED, fileno(file), 0);
	assert_ptr_not_equal(at, MAP_FAILED);
	assert_int_equal(at[3 * page], 'x');
	assert_int_equal(ftruncate(fileno(file), (off_t)page), 0);
	survive();
	assert_int_equal(at[4 * page - 1], 0);
	assert_int_equal(at[3 * page], 0);
	at[page + 7] = 1;
	assert_int_equal(at[page + 7], 1);
	assert_int_equal(at[page - 1], 'x');
	munmap((void *)at, 4 * page);
	fclose(file);
}

/* The signal that a child ends by, 0 for none. */
static int ending(void (*child)(void))
{
	struct rlimit none = { 0, 0 };
	int status;
	pid_t pid = fork();

	if (!pid) {
		setrlimit(RLIMIT_CORE, &none);
		child();
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

static void be_sent_one(void)
{
	survive();
	kill(getpid(), SIGBUS);
}

static void be_sent_one_that_is_ignored(void)
{
	signal(SIGBUS, SIG_IGN);
	gt_survive_files();
	kill(getpid(), SIGBUS);
}

static void write_too_much(void)
{
	struct rlimit one = { 1, 1 };
	FILE *file = tmpfile();

	survive();
	if (!file || setrlimit(RLIMIT_FSIZE, &one) || write(fileno(file), "xy", 2) != 1 ||
	    write(fileno(file), "y", 1) != -1 || errno != EFBIG)
		raise(SIGUSR1);
}

static void a_file_that_may_not_grow_is_an_error(void **state)
{
	assert_int_equal(ending(write_too_much), 0);
}

static void one_that_is_sent_does_what_it_would(void **state)
{
	assert_int_equal(ending(be_sent_one), SIGBUS);
	assert_int_equal(ending(be_sent_one_that_is_ignored), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_file_that_may_not_grow_is_an_error),
		cmocka_unit_test(one_that_is_sent_does_what_it_would),
		cmocka_unit_test(what_was_cut_off_reads_as_zeroes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
