/* SPDX-License-Identifier: MIT */
/* test_python.c - Python line tables of every version, and malformed ones. */
#include "base/python_layout.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "fixtures/python_lines.h"

enum { VERSIONS = sizeof python_lines / sizeof *python_lines };

/* The published offsets of 3.13 that are used. */
static void publish(uint64_t numbers[64])
{
	memset(numbers, 0, 64 * sizeof *numbers);
	memcpy(numbers, "xdebugpy", 8);
	numbers[1] = 0x030d00f0;
}

static struct gt_python_layout layout_of(unsigned minor)
{
	struct gt_python_layout layout;
	uint64_t numbers[64];

	publish(numbers);
	assert_true(gt_python_layout_of(&layout, minor, numbers));
	return layout;
}

static void every_instruction_has_its_line(void **state)
{
	for (int v = 0; v < VERSIONS; v++) {
		const struct python_lines *p = &python_lines[v];
		struct gt_python_layout layout = layout_of(p->minor);

		for (int i = 0; i < p->count; i++) {
			uint32_t line = gt_python_line(&layout, p->table, p->size, p->first,
						       p->unit == 1 ? i * 2 : i);

			if (line != p->lines[i])
				fail_msg("3.%u instruction %d: line %u, not %u", p->minor, i, line,
					 p->lines[i]);
		}
	}
}

static void before_the_first_instruction_the_first_line_is_reported(void **state)
{
	for (int v = 0; v < VERSIONS; v++) {
		struct gt_python_layout layout = layout_of(python_lines[v].minor);

		assert_int_equal(
			gt_python_line(&layout, python_lines[v].table, python_lines[v].size, 7, -1),
			7);
	}
}

static void arbitrary_bytes_give_some_line_and_do_no_harm(void **state)
{
	uint8_t bytes[64];

	srand(1);
	for (int round = 0; round < 20000; round++) {
		struct gt_python_layout layout = layout_of(8 + (unsigned)(rand() % 6));
		size_t size = (size_t)(rand() % 64);
		uint8_t *exact = malloc(size ? size : 1);

		for (size_t i = 0; i < size; i++)
			bytes[i] = (uint8_t)rand();
		memcpy(exact, bytes, size);
		gt_python_line(&layout, exact, size, (uint32_t)rand(), rand() % 100);
		free(exact);
	}
}

static void unknown_versions_are_left_alone(void **state)
{
	struct gt_python_layout layout;
	uint64_t numbers[64];

	publish(numbers);
	assert_false(gt_python_layout_of(&layout, 7, numbers));
	assert_false(gt_python_layout_of(&layout, 15, numbers));
	assert_false(gt_python_layout_of(&layout, 13, NULL));
	numbers[2] = 1; /* without a GIL */
	assert_false(gt_python_layout_of(&layout, 13, numbers));
	publish(numbers);
	numbers[0]++;
	assert_false(gt_python_layout_of(&layout, 13, numbers));
	publish(numbers);
	numbers[6 + 13 + 9 + 1] = 1 << 20; /* an offset that cannot be */
	assert_false(gt_python_layout_of(&layout, 13, numbers));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_instruction_has_its_line),
		cmocka_unit_test(before_the_first_instruction_the_first_line_is_reported),
		cmocka_unit_test(arbitrary_bytes_give_some_line_and_do_no_harm),
		cmocka_unit_test(unknown_versions_are_left_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
