/* SPDX-License-Identifier: MIT */
/* test_loaded_modules.c - exported symbols are found as by dlsym, without its lock. */
#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "guest/loaded_modules.h"

extern int exported_here;
__attribute__((visibility("default"))) int exported_here = 4711;

static void names_are_found_where_dlsym_finds_them(void **state)
{
	static const char *const names[] = {
		"qsort",   "exported_here",  "no_such_name_anywhere",
		"environ", "pthread_create", "_cmocka_run_group_tests"
	};
	enum { COUNT = sizeof names / sizeof *names };
	unsigned long long adds = 0;
	void *found[COUNT];

	assert_true(gt_modules_find_symbols(names, found, COUNT, &adds));
	for (int i = 0; i < COUNT; i++)
		assert_ptr_equal(found[i], dlsym(RTLD_DEFAULT, names[i]));
	assert_ptr_equal(found[1], &exported_here);
	assert_null(found[2]);
}

static void modules_are_searched_again_after_a_load(void **state)
{
	static const char *const name[] = { "dwfl_begin" };
	unsigned long long adds = 0;
	void *found, *library;

	assert_true(gt_modules_find_symbols(name, &found, 1, &adds));
	assert_null(found);
	assert_false(gt_modules_find_symbols(name, &found, 1, &adds));
	/* what a program keeps to itself is found, too */
	library = dlopen("libdw.so.1", RTLD_NOW | RTLD_LOCAL);
	if (!library)
		skip();
	assert_true(gt_modules_find_symbols(name, &found, 1, &adds));
	assert_ptr_equal(found, dlsym(library, name[0]));
	dlclose(library);
}

static void dlerror_stays_clear(void **state)
{
	static const char *const name[] = { "no_such_name_anywhere" };
	unsigned long long adds = 0;
	void *found;

	dlerror();
	gt_modules_find_symbols(name, &found, 1, &adds);
	assert_null(dlerror());
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_are_found_where_dlsym_finds_them),
		cmocka_unit_test(modules_are_searched_again_after_a_load),
		cmocka_unit_test(dlerror_stays_clear),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
