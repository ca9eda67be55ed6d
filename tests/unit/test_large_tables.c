/* SPDX-License-Identifier: MIT */
/* test_large_tables.c - large tables: their contents, and who touches their pages first. */
#include "base/mem.h"

#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/table_memory.h"

enum { PAGE = 4096, SMALL = 1000, LARGE = 24 << 20, FIRST = 2 << 20, PATIENCE_MS = 20000 };

static const struct gt_table_memory *const tables = &gt_large_tables;

static bool is_zero(const char *memory, size_t size)
{
	return !memory[0] && !memcmp(memory, memory + 1, size - 1);
}

static void tables_of_all_sizes_begin_zeroed(void **state)
{
	for (size_t size = 1; size < 2 * LARGE; size *= 7) {
		char *table = tables->allocate(size);

		assert_true(is_zero(table, size));
		memset(table, 0x5a, size);
		tables->release(table);
	}
}

static void a_table_that_grows_keeps_its_contents(void **state)
{
	char *table = tables->allocate(SMALL);

	memset(table, 1, SMALL);
	for (size_t size = SMALL; size < 2 * LARGE; size *= 3) {
		table = tables->resize(table, size * 3);
		for (size_t i = 0; i < size; i++)
			assert_int_equal(table[i], 1);
		memset(table, 1, size * 3);
	}
	tables->release(table);
}

static size_t cores(void)
{
	cpu_set_t set;

	return sched_getaffinity(0, sizeof set, &set) ? 1 : (size_t)CPU_COUNT(&set);
}

/* Pages of a table that are in memory. */
static size_t present(char *table, size_t size)
{
	static unsigned char is_present[2 * LARGE / PAGE];
	size_t count = 0;

	assert_int_equal(mincore(table, size, is_present), 0);
	for (size_t i = 0; i < size / PAGE; i++)
		count += is_present[i] & 1;
	return count;
}

/* Waits until another thread has touched all pages of a new table but the first ones. */
static bool all_pages_come(void)
{
	char *table = tables->allocate(LARGE);
	size_t count = 0;

	for (int i = 0; i < PATIENCE_MS && count < (LARGE - FIRST) / PAGE; i++) {
		count = present(table + FIRST, LARGE - FIRST);
		usleep(1000);
	}
	tables->release(table);
	return count == (LARGE - FIRST) / PAGE;
}

static void pages_come_before_they_are_touched(void **state)
{
	if (cores() < 2)
		skip();
	assert_true(all_pages_come());
}

/* The thread that touches them is neither in the way nor stopped by it. */
static void tables_go_while_their_pages_come(void **state)
{
	for (size_t i = 0; i < 300; i++) {
		char *table = tables->allocate(LARGE);

		table[i * PAGE] = 1;
		tables->release(table);
	}
	if (cores() > 1)
		assert_true(all_pages_come());
}

/* In a process that has no thread yet. */
static void on_one_core_pages_wait_until_they_are_touched(void **state)
{
	int status;
	pid_t child = fork();

	assert_true(child >= 0);
	if (!child) {
		cpu_set_t one;
		char *table;

		CPU_ZERO(&one);
		CPU_SET((size_t)sched_getcpu(), &one);
		if (sched_setaffinity(0, sizeof one, &one))
			_exit(2);
		table = tables->allocate(LARGE);
		usleep(100000);
		_exit(present(table, LARGE) > LARGE / PAGE / 2);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status) && !WEXITSTATUS(status));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(on_one_core_pages_wait_until_they_are_touched),
		cmocka_unit_test(tables_of_all_sizes_begin_zeroed),
		cmocka_unit_test(a_table_that_grows_keeps_its_contents),
		cmocka_unit_test(pages_come_before_they_are_touched),
		cmocka_unit_test(tables_go_while_their_pages_come),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
