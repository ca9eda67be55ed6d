/* SPDX-License-Identifier: MIT */
/* test_own_stack_cache.c - stacks that a thread has had before are not walked again. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "guest/own_stack.h"
#include "guest/walk.h"

enum { LEVELS = 6, FRAMES = 64, ROUNDS_TO_LEARN = 3 };

static long steps;

/* The linker puts it in the place of the other. */
bool __real_gt_walk_step(struct gt_walk *w);
bool __wrap_gt_walk_step(struct gt_walk *w);
bool __wrap_gt_walk_step(struct gt_walk *w)
{
	steps++;
	return __real_gt_walk_step(w);
}

__attribute__((noinline)) static void door(void)
{
	uint64_t *frames;

	assert_true(gt_unwind(&frames, FRAMES, __builtin_return_address(0)) > LEVELS);
}

/* Which of two places it goes deeper from is a digit of the stack's number; all end at one place.
 */
__attribute__((noinline)) static void descend(int levels, unsigned number)
{
	if (!levels)
		door();
	else if (number & 1) {
		descend(levels - 1, number >> 1);
		__asm__ volatile("" : : "r"(number));
	} else {
		descend(levels - 1, number >> 1);
		__asm__ volatile("" : : "r"(levels));
	}
	__asm__ volatile("" : : : "memory");
}

/* The steps walked in one round more. */
static long steps_of(unsigned stacks)
{
	for (int round = 0; round <= ROUNDS_TO_LEARN; round++) {
		steps = 0;
		for (unsigned i = 0; i < stacks; i++)
			descend(LEVELS, i);
	}
	return steps;
}

static void stacks_in_turn_are_walked_until_they_are_known(void **unused)
{
	(void)unused;
	assert_int_equal(steps_of(1), 0);
	assert_int_equal(steps_of(10), 0);
	assert_int_equal(steps_of(16), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(stacks_in_turn_are_walked_until_they_are_known),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
