/* SPDX-License-Identifier: MIT */
/* test_resident.c - what a start-up mapped is given back, and nothing is lost by it. */
#include "base/resident.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "test_scratch.h"

enum { PAGES = 16 };

static size_t page;

/* A private mapping of a file of PAGES pages, each filled with 'a', which can be written to. */
static char *map_file(const char *name)
{
	char path[64], *at;
	int fd;

	snprintf(path, sizeof path, "%s/%s", scratch, name);
	fd = open(path, O_CREAT | O_RDWR, 0600);
	assert_true(fd >= 0);
	for (size_t i = 0; i < PAGES * page; i++)
		assert_int_equal(write(fd, "a", 1), 1);
	at = mmap(NULL, PAGES * page, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
	assert_ptr_not_equal(at, MAP_FAILED);
	close(fd);
	return at;
}

/* The resident memory of the mapping that begins there; -1: there is none. */
static long resident_kb(const void *at)
{
	FILE *smaps = fopen("/proc/self/smaps", "r");
	char line[512], wanted[32];
	bool is_found = false;
	long kb = -1;

	assert_non_null(smaps);
	snprintf(wanted, sizeof wanted, "%lx-", (unsigned long)(uintptr_t)at);
	while (kb < 0 && fgets(line, sizeof line, smaps)) {
		is_found |= !strncmp(line, wanted, strlen(wanted));
		if (is_found)
			sscanf(line, "Rss: %ld", &kb);
	}
	fclose(smaps);
	return kb;
}

static void read_all(const char *at)
{
	for (size_t i = 0; i < PAGES * page; i++)
		assert_int_equal(at[i], 'a');
}

static void pages_of_a_file_are_unmapped_until_they_are_read(void **state)
{
	char *at = map_file("clean");

	(void)state;
	assert_int_equal(mprotect(at, PAGES * page, PROT_READ), 0);
	read_all(at);
	assert_int_equal(resident_kb(at), PAGES * page / 1024);
	gt_resident_trim();
	assert_int_equal(resident_kb(at), 0);
	read_all(at);
	munmap(at, PAGES * page);
}

/* As a library's relocations, and a debugger's breakpoints. */
static void a_page_that_was_changed_stays(void **state)
{
	char *at = map_file("changed");

	(void)state;
	at[page] = 'b';
	assert_int_equal(mprotect(at, PAGES * page, PROT_READ), 0);
	gt_resident_trim();
	assert_int_equal(at[page], 'b');
	munmap(at, PAGES * page);
}

static int start(void **state)
{
	page = (size_t)sysconf(_SC_PAGESIZE);
	return make_scratch(state);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pages_of_a_file_are_unmapped_until_they_are_read),
		cmocka_unit_test(a_page_that_was_changed_stays),
	};

	return cmocka_run_group_tests(tests, start, remove_scratch);
}
