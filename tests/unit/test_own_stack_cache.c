/* SPDX-License-Identifier: MIT */
/* test_own_stack_cache.c - stacks that a thread has had before are not walked again. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "guest/own_stack.h"
#include "guest/stack_cache.h"
#include "guest/walk.h"

enum {
	LEVELS = 12,
	FRAMES = 64,
	MANY = 300,             /* of a step of training */
	TOO_MANY = 1 << LEVELS, /* more than a thread remembers */
};

static long steps;
/* What the door does with the addresses of a stack: saves those walked, or compares with them. */
static enum { IGNORED, SAVED, COMPARED } what;
static uint64_t walked[FRAMES];

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
	size_t count = gt_unwind(&frames, FRAMES, __builtin_return_address(0));

	assert_true(count > LEVELS);
	if (what == SAVED)
		memcpy(walked, frames, sizeof walked);
	else if (what == COMPARED)
		assert_memory_equal(walked, frames, count * sizeof *frames);
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

/*
 * The steps walked in the last of some rounds. What stack `number` has in that round is compared
 * with what was walked in the first one.
 */
static long steps_of_and_compare(unsigned stacks, int rounds, unsigned number)
{
	for (int round = 0; round < rounds; round++) {
		steps = 0;
		for (unsigned i = 0; i < stacks; i++) {
			what = i != number         ? IGNORED :
			       round == 0          ? SAVED :
			       round == rounds - 1 ? COMPARED :
						     IGNORED;
			descend(LEVELS, i);
		}
	}
	return steps;
}

static long steps_of(unsigned stacks, int rounds)
{
	return steps_of_and_compare(stacks, rounds, TOO_MANY);
}

static void stacks_in_turn_are_walked_until_they_are_known(void **unused)
{
	(void)unused;
	assert_int_equal(steps_of(1, 4), 0);
	assert_int_equal(steps_of(10, 4), 0);
	assert_int_equal(steps_of(16, 4), 0);
}

static void hundreds_of_stacks_from_one_place_are_known(void **unused)
{
	(void)unused;
	/* some displace each other before they are learnt */
	assert_int_equal(steps_of(MANY, 64), 0);
}

static void code_that_was_unloaded_is_walked_again(void **unused)
{
	(void)unused;
	assert_int_equal(steps_of(10, 16), 0);
	gt_unwind_flush();
	assert_true(steps_of(10, 1) > 0);
	assert_int_equal(steps_of(10, 16), 0);
}

/* They differ far inside and far outside: runs are split again and again. */
static void a_known_stack_is_the_one_that_was_walked(void **unused)
{
	(void)unused;
	for (unsigned i = 0; i < MANY; i += 23) {
		gt_unwind_flush();
		assert_int_equal(steps_of_and_compare(MANY, 64, i), 0);
	}
}

static void more_stacks_than_there_is_space_for_are_right(void **unused)
{
	(void)unused;
	for (unsigned i = 0; i < TOO_MANY; i += 397) {
		gt_unwind_flush();
		assert_true(steps_of_and_compare(TOO_MANY, 4, i) > 0);
	}
}

static struct gt_stack_word word_of(const uint64_t *at, bool returns)
{
	return (struct gt_stack_word){ .at = at, .value = *at, .returns = returns };
}

/* A register may look like a frame pointer at one time, and not at another. */
static void the_same_frame_may_be_known_by_other_words(void **unused)
{
	uint64_t stack[8] = { 0, 0, 0x1000, 0, 0x7000, 0x2000, 0x3000, 0 }, frames[FRAMES];
	const struct gt_stack_word plain[] = { word_of(&stack[2], true), word_of(&stack[5], true) };
	const struct gt_stack_word pointed[] = { word_of(&stack[2], true),
						 word_of(&stack[4], false),
						 word_of(&stack[6], true) };

	(void)unused;
	gt_stack_cache_learn(stack, FRAMES, plain, 2);
	assert_int_equal(gt_stack_cache_find(stack, frames, FRAMES), 3);
	assert_int_equal(frames[2], 0x2000);
	gt_stack_cache_learn(stack, FRAMES, pointed, 3);
	stack[5] = 1;
	assert_int_equal(gt_stack_cache_find(stack, frames, FRAMES), 3);
	assert_int_equal(frames[1], 0x1000);
	assert_int_equal(frames[2], 0x3000);
	stack[6] = 1;
	assert_int_equal(gt_stack_cache_find(stack, frames, FRAMES), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(stacks_in_turn_are_walked_until_they_are_known),
		cmocka_unit_test(hundreds_of_stacks_from_one_place_are_known),
		cmocka_unit_test(code_that_was_unloaded_is_walked_again),
		cmocka_unit_test(a_known_stack_is_the_one_that_was_walked),
		cmocka_unit_test(more_stacks_than_there_is_space_for_are_right),
		cmocka_unit_test(the_same_frame_may_be_known_by_other_words),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
