/* SPDX-License-Identifier: MIT */
/* test_heap.c - streams come out merged, the smallest key first. */
#include "base/heap.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>

#include <cmocka.h>

static void keys_come_out_in_order(void **state)
{
	struct gt_heap h = { 0 };
	uint64_t last = 0;

	srandom(2);
	for (uint32_t i = 0; i < 5000; i++)
		gt_heap_push(&h, (uint64_t)random() % 1000, i);
	for (uint32_t i = 0; i < 5000; i++) {
		assert_true(h.items[0].key >= last);
		last = h.items[0].key;
		gt_heap_pop(&h);
	}
	assert_int_equal(h.count, 0);
	gt_heap_fini(&h);
}

static void equal_keys_come_out_by_item(void **state)
{
	struct gt_heap h = { 0 };

	srandom(3);
	for (uint32_t i = 0; i < 200; i++)
		gt_heap_push(&h, 7, i * 77 % 200);
	for (uint32_t i = 0; i < 200; i++) {
		assert_int_equal(h.items[0].item, i);
		gt_heap_pop(&h);
	}
	gt_heap_fini(&h);
}

/* As readers use it: the first stream moves on, or ends. */
static void streams_that_move_on_or_end_stay_merged(void **state)
{
	enum { STREAMS = 37 };
	struct gt_heap h = { 0 };
	uint64_t next[STREAMS], last = 0;
	unsigned left[STREAMS], seen = 0;

	srandom(4);
	for (uint32_t i = 0; i < STREAMS; i++) {
		next[i] = (uint64_t)random() % 100;
		left[i] = 300;
		gt_heap_push(&h, next[i], i);
	}
	for (; h.count; seen++) {
		uint32_t first = h.items[0].item;

		for (uint32_t i = 0; i < STREAMS; i++)
			assert_true(!left[i] || next[first] <= next[i]);
		assert_true(h.items[0].key == next[first] && next[first] >= last);
		last = next[first];
		if (--left[first]) {
			next[first] += (uint64_t)random() % 100;
			gt_heap_rekey(&h, next[first]);
		} else {
			gt_heap_pop(&h);
		}
	}
	assert_int_equal(seen, STREAMS * 300);
	gt_heap_fini(&h);
}

static void the_greatest_key_sorts_last(void **state)
{
	struct gt_heap h = { 0 };

	gt_heap_push(&h, UINT64_MAX, 0);
	gt_heap_push(&h, 0, 1);
	gt_heap_push(&h, UINT64_MAX - 1, 2);
	assert_int_equal(h.items[0].item, 1);
	gt_heap_pop(&h);
	assert_int_equal(h.items[0].item, 2);
	gt_heap_pop(&h);
	assert_int_equal(h.items[0].item, 0);
	gt_heap_fini(&h);
	assert_null(h.items);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(keys_come_out_in_order),
		cmocka_unit_test(equal_keys_come_out_by_item),
		cmocka_unit_test(streams_that_move_on_or_end_stay_merged),
		cmocka_unit_test(the_greatest_key_sorts_last),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
