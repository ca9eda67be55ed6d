/* SPDX-License-Identifier: MIT */
/* test_ring_size.c - the ring fits the machine. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cli/attach/ring_size.h"

#define MIB(n) ((uint64_t)(n) << 20)

static void it_grows_with_the_processors_and_with_copies_of_stacks(void **state)
{
	static const struct {
		struct gt_ring_needs needs;
		uint64_t bytes;
	} rows[] = {
		{ { 1, MIB(64 << 10), false }, MIB(16) },
		{ { 4, MIB(64 << 10), false }, MIB(16) },
		{ { 5, MIB(64 << 10), false }, MIB(32) },
		{ { 16, MIB(64 << 10), false }, MIB(64) },
		{ { 256, MIB(64 << 10), false }, MIB(64) },
		{ { 2, MIB(64 << 10), true }, MIB(128) },
		{ { 256, MIB(64 << 10), true }, MIB(512) },
		/* where memory is short, and where nobody knows */
		{ { 16, MIB(1024), false }, MIB(16) },
		{ { 16, MIB(100), false }, MIB(1) },
		{ { 16, MIB(1), true }, MIB(1) },
		{ { 16, 0, false }, MIB(64) },
	};

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		assert_int_equal(gt_ring_size_for(&rows[i].needs), rows[i].bytes);
}

static void a_size_that_was_asked_for_is_kept(void **state)
{
	const struct gt_probes_options how = { .frames = 64 };

	assert_int_equal(gt_ring_size(1, &how), 4096);
	assert_int_equal(gt_ring_size(5000, &how), 8192);
	assert_int_equal(gt_ring_size(MIB(16), &how), MIB(16));
	assert_int_equal(gt_ring_size(MIB(5000), &how), GT_RING_MAX);
	assert_true(gt_ring_size(0, &how) >= MIB(1));
}

static void what_it_bears_depends_on_the_stacks(void **state)
{
	struct gt_probes_options how = { .frames = 64, .stack_bytes = 8192, .ring_bytes = MIB(16) };
	uint64_t tables = gt_ring_calls(&how), copies, none;

	how.unwinding = GT_UNWIND_DWARF;
	copies = gt_ring_calls(&how);
	how.frames = 0;
	none = gt_ring_calls(&how);
	assert_true(none > tables && tables > 10 * copies && copies > 1000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_grows_with_the_processors_and_with_copies_of_stacks),
		cmocka_unit_test(a_size_that_was_asked_for_is_kept),
		cmocka_unit_test(what_it_bears_depends_on_the_stacks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
