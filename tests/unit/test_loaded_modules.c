/* SPDX-License-Identifier: MIT */
/* test_loaded.c - what objects export is found as dlsym finds it, and without its lock. */
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

static void it_is_looked_again_when_something_was_loaded(void **state)
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

static void nothing_is_left_in_dlerror(void **state)
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
		cmocka_unit_test(it_is_looked_again_when_something_was_loaded),
		cmocka_unit_test(nothing_is_left_in_dlerror),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
