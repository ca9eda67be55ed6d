/* SPDX-License-Identifier: MIT */
/* test_stack_tree.c - stacks as a tree of frames. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "trace/stack_tree.h"

enum { DEPTH = 20, STACKS = 50000 };

/* Stack `n`: twenty frames, whose inner ones are the digits of `n`. */
static void make(uint64_t frames[DEPTH], uint32_t n)
{
	for (int i = 0; i < DEPTH; i++, n /= 4)
		frames[i] = 0x7f0000000000 + (uint64_t)i * 0x1000 + n % 4 * 16;
}

static void equal_stacks_have_the_same_node(void **state)
{
	struct gt_stack_tree t = { 0 };
	static uint32_t nodes[STACKS];
	uint64_t frames[DEPTH], got[DEPTH + 1];

	(void)state;
	for (uint32_t i = 0; i < STACKS; i++) {
		make(frames, i);
		nodes[i] = gt_stack_tree_add(&t, frames, DEPTH);
		assert_int_not_equal(nodes[i], 0);
	}
	for (uint32_t i = 0; i < STACKS; i++) {
		make(frames, i);
		assert_int_equal(gt_stack_tree_add(&t, frames, DEPTH), nodes[i]);
		assert_int_equal(gt_stack_tree_get(&t, nodes[i], got, DEPTH + 1), DEPTH);
		assert_memory_equal(got, frames, sizeof frames);
	}
	gt_stack_tree_fini(&t);
}

static void stacks_share_the_frames_of_their_callers(void **state)
{
	struct gt_stack_tree t = { 0 };
	const uint64_t leaf[] = { 3, 2, 1 }, other[] = { 4, 2, 1 }, caller[] = { 2, 1 },
		       alone[] = { 3 };
	uint32_t first;

	(void)state;
	assert_int_equal(gt_stack_tree_add(&t, leaf, 0), 0);
	first = gt_stack_tree_add(&t, leaf, 3);
	assert_int_equal(t.count, 4);
	gt_stack_tree_add(&t, other, 3);
	assert_int_equal(t.count, 5);
	assert_int_equal(gt_stack_tree_add(&t, caller, 2), t.nodes[first].parent);
	assert_int_equal(t.count, 5);
	/* the same frame, called from elsewhere */
	assert_int_not_equal(gt_stack_tree_add(&t, alone, 1), first);
	gt_stack_tree_fini(&t);
}

static void get_stops_where_there_is_no_more_room(void **state)
{
	struct gt_stack_tree t = { 0 };
	const uint64_t frames[] = { 3, 2, 1 };
	uint64_t got[3] = { 0 };

	(void)state;
	assert_int_equal(gt_stack_tree_get(&t, gt_stack_tree_add(&t, frames, 3), got, 2), 2);
	assert_int_equal(got[0], 3);
	assert_int_equal(got[1], 2);
	assert_int_equal(got[2], 0);
	assert_int_equal(gt_stack_tree_get(&t, 0, got, 3), 0);
	gt_stack_tree_fini(&t);
}

static void trees_stay_within_the_budget_that_they_share(void **state)
{
	struct gt_stack_budget budget = { .limit_bytes = 100000 };
	struct gt_stack_tree a = { .budget = &budget }, b = { .budget = &budget };
	uint64_t frames[DEPTH];
	uint32_t first = 0, refused = 0;

	(void)state;
	for (uint32_t i = 0; i < STACKS; i++) {
		make(frames, i);
		if (!gt_stack_tree_add(&a, frames, DEPTH))
			refused++;
		else if (!first)
			first = gt_stack_tree_add(&a, frames, DEPTH);
		gt_stack_tree_add(&b, frames, DEPTH);
		assert_true(budget.used_bytes <= budget.limit_bytes);
		assert_int_equal(budget.used_bytes,
				 gt_stack_tree_bytes(&a) + gt_stack_tree_bytes(&b));
	}
	assert_true(refused > STACKS / 2);
	assert_true(budget.refused > refused);
	/* known stacks are still found */
	make(frames, 0);
	assert_int_equal(gt_stack_tree_add(&a, frames, DEPTH), first);
	gt_stack_tree_fini(&a);
	assert_int_equal(budget.used_bytes, gt_stack_tree_bytes(&b));
	gt_stack_tree_fini(&b);
	assert_int_equal(budget.used_bytes, 0);
}

static void a_refused_stack_adds_nothing(void **state)
{
	struct gt_stack_budget budget = { .limit_bytes = 400 };
	struct gt_stack_tree t = { .budget = &budget };
	uint64_t frames[DEPTH];

	(void)state;
	make(frames, 1);
	assert_int_equal(gt_stack_tree_add(&t, frames, DEPTH), 0);
	assert_int_equal(budget.used_bytes, 0);
	assert_int_equal(budget.refused, 1);
	assert_int_not_equal(gt_stack_tree_add(&t, frames, 5), 0);
	gt_stack_tree_fini(&t);
}

static void a_node_takes_24_bytes_at_most(void **state)
{
	struct gt_stack_tree t = { 0 };
	uint64_t frames[DEPTH];

	(void)state;
	for (uint32_t i = 0; i < STACKS; i++) {
		make(frames, i);
		gt_stack_tree_add(&t, frames, DEPTH);
	}
	assert_true(t.count > STACKS);
	assert_true(gt_stack_tree_bytes(&t) <= t.count * 24);
	gt_stack_tree_fini(&t);
}

static void a_stack_can_be_added_frame_by_frame(void **state)
{
	struct gt_stack_tree t = { 0 };
	uint64_t frames[DEPTH];
	uint32_t node = 0;

	(void)state;
	make(frames, 1);
	for (size_t i = DEPTH; i--;)
		node = gt_stack_tree_child(&t, node, frames[i]);
	assert_int_equal(gt_stack_tree_add(&t, frames, DEPTH), node);
	assert_int_equal(t.count, DEPTH + 1);
	gt_stack_tree_fini(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(equal_stacks_have_the_same_node),
		cmocka_unit_test(stacks_share_the_frames_of_their_callers),
		cmocka_unit_test(get_stops_where_there_is_no_more_room),
		cmocka_unit_test(trees_stay_within_the_budget_that_they_share),
		cmocka_unit_test(a_refused_stack_adds_nothing),
		cmocka_unit_test(a_node_takes_24_bytes_at_most),
		cmocka_unit_test(a_stack_can_be_added_frame_by_frame),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
