/* test_cut_files.c - what a mapped file no longer holds is zeroes; any other SIGBUS ends us. */
#include "base/cut_files.h"

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

/* Without the handlers of cmocka, of which this signal is one. */
static void survive(void)
{
	signal(SIGBUS, SIG_DFL);
	gt_cut_files_survive();
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
	gt_cut_files_survive();
	kill(getpid(), SIGBUS);
}

static void one_that_is_sent_does_what_it_would(void **state)
{
	assert_int_equal(ending(be_sent_one), SIGBUS);
	assert_int_equal(ending(be_sent_one_that_is_ignored), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_that_is_sent_does_what_it_would),
		cmocka_unit_test(what_was_cut_off_reads_as_zeroes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
