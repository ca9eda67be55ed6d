/* SPDX-License-Identifier: MIT */
/* test_span.c - lookup among overlapping ranges agrees with a linear search. */
#include "symbol/span.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "test_random.h"

static const struct gt_span *look_at_each(const struct gt_spans *spans, uint64_t address)
{
	for (size_t i = spans->count; i-- > 0;)
		if (spans->list[i].start <= address && spans->list[i].end > address)
			return &spans->list[i];
	return NULL;
}

static void lookup_agrees_with_a_linear_search(void **state)
{
	uint64_t seed = 7;

	for (int round = 0; round < 200; round++) {
		struct gt_spans spans = { 0 };
		size_t count = random_word(&seed) % 40;

		for (uint32_t i = 0; i < count; i++) {
			uint64_t start = random_word(&seed) % 64;

			gt_spans_add(&spans,
				     &(struct gt_span){ .start = start,
							.end = start + random_word(&seed) % 64,
							.rank = (uint32_t)(random_word(&seed) % 3),
							.index = i });
		}
		gt_spans_sort(&spans);
		for (uint64_t address = 0; address < 130; address++)
			assert_ptr_equal(gt_spans_find(&spans, address),
					 look_at_each(&spans, address));
		gt_spans_fini(&spans);
	}
}

/* One range over all, the others nested: a lookup must not walk through all of them. */
static void deeply_nested_spans_are_found_quickly(void **state)
{
	enum { COUNT = 1000000 };
	struct gt_spans spans = { 0 };

	gt_spans_add(&spans, &(struct gt_span){ .start = 0, .end = UINT64_MAX });
	for (uint32_t i = 1; i < COUNT; i++)
		gt_spans_add(&spans,
			     &(struct gt_span){ .start = i, .end = 2 * COUNT - i, .index = i });
	gt_spans_sort(&spans);
	/* a million times all of them would not end before the test's limit */
	for (uint64_t i = 0; i < COUNT; i++)
		assert_int_equal(gt_spans_find(&spans, 3 * COUNT + i)->index, 0);
	gt_spans_fini(&spans);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lookup_agrees_with_a_linear_search),
		cmocka_unit_test(deeply_nested_spans_are_found_quickly),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
