/* test_python_library.c - a Python that its program keeps to itself is found without a deadlock. */
#include <dlfcn.h>
#include <link.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "guest/foreign.h"
#include "guest/python.h"

typedef int each_fn(struct dl_phdr_info *info, size_t size, void *context);

static const char path[] = "/somewhere/libpython3.11.so.1.0";
static bool is_listing;      /* the loader's list is locked */
static int opened, opened_while_listing;

/* The linker puts these in the place of the loader's own. */
int __wrap_dl_iterate_phdr(each_fn *each, void *context);
void *__wrap_dlopen(const char *name, int how);

int __wrap_dl_iterate_phdr(each_fn *each, void *context)
{
	struct dl_phdr_info info = { .dlpi_name = path };
	int result;

	is_listing = true;
	result = each(&info, sizeof info, context);
	/* what it got was the list's, and is gone with it */
	info.dlpi_name = NULL;
	is_listing = false;
	return result;
}

void *__wrap_dlopen(const char *name, int how)
{
	assert_string_equal(name, path);
	assert_true(how & RTLD_NOLOAD);
	opened++;
	opened_while_listing += is_listing;
	return NULL;
}

static uint64_t no_number(const struct gt_text_frame *frame)
{
	(void)frame;
	return 0;
}

static void it_is_opened_when_the_list_is_free(void **state)
{
	uint64_t frames[8] = { 4711 };

	(void)state;
	assert_int_equal(gt_python_merge(frames, 1, 8, no_number, UINT64_C(10000000000)), 1);
	assert_int_equal(opened, 1);
	assert_int_equal(opened_while_listing, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_is_opened_when_the_list_is_free),
	};

	gt_foreign_start();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
