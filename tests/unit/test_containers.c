/* SPDX-License-Identifier: MIT */
/* test_containers.c - the arena, interned bytes, the map, the heap, layered ranges. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/containers.h"

static void ids_count_from_zero_in_order_of_appearance(void **state)
{
	struct gt_intern *in = gt_intern_new();

	assert_int_equal(gt_intern(in, "a", 1), 0);
	assert_int_equal(gt_intern(in, "b", 1), 1);
	assert_int_equal(gt_intern(in, "a", 1), 0);
	assert_int_equal(gt_intern_count(in), 2);
	gt_intern_free(in);
}

static void strings_of_different_length_differ(void **state)
{
	struct gt_intern *in = gt_intern_new();

	assert_int_equal(gt_intern(in, "", 0), 0);
	assert_int_equal(gt_intern(in, "\0", 1), 1);
	assert_int_equal(gt_intern(in, "\0\0", 2), 2);
	assert_int_equal(gt_intern(in, "\0\0\0\0\0\0\0\0", 8), 3);
	assert_int_equal(gt_intern(in, "\0\0\0\0\0\0\0\0\0", 9), 4);
	assert_int_equal(gt_intern(in, "", 0), 0);
	assert_int_equal(gt_intern(in, NULL, 0), 0);
	gt_intern_free(in);
}

static void interned_bytes_stay_aligned_and_unchanged_after_growth(void **state)
{
	enum { COUNT = 50000 };
	struct gt_intern *in = gt_intern_new();
	char text[32];
	size_t size;

	for (uint32_t i = 0; i < COUNT; i++)
		assert_int_equal(gt_intern(in, text, (size_t)sprintf(text, "%u", i * 7)), i);
	for (uint32_t i = 0; i < COUNT; i++) {
		int length = sprintf(text, "%u", i * 7);
		const void *bytes = gt_intern_get(in, i, &size);

		assert_int_equal((uintptr_t)bytes % sizeof(uint64_t), 0);
		assert_int_equal(size, length);
		assert_memory_equal(bytes, text, size);
		assert_int_equal(gt_intern(in, text, size), i);
	}
	assert_int_equal(gt_intern_count(in), COUNT);
	gt_intern_free(in);
}

static void interning_makes_a_copy(void **state)
{
	struct gt_intern *in = gt_intern_new();
	char text[] = "abc";
	size_t size;

	gt_intern(in, text, 3);
	text[0] = 'x';
	assert_memory_equal(gt_intern_get(in, 0, &size), "abc", 3);
	assert_int_equal(gt_intern(in, text, 3), 1);
	gt_intern_free(in);
}

static void interned_strings_do_not_move(void **state)
{
	struct gt_intern *in = gt_intern_new();
	const char *first = gt_intern_string(in, "first");
	char text[32];

	for (uint32_t i = 0; i < 50000; i++) {
		sprintf(text, "%u", i);
		gt_intern_string(in, text);
	}
	assert_ptr_equal(gt_intern_string(in, "first"), first);
	assert_string_equal(first, "first");
	gt_intern_free(in);
}

static void arena_memory_is_zeroed_aligned_and_disjoint(void **state)
{
	struct gt_arena a = { 0 };
	static const unsigned char zeroes[200000];

	for (size_t size = 0; size < sizeof zeroes; size = size * 2 + 3) {
		unsigned char *one = gt_arena_alloc(&a, size), *next = gt_arena_alloc(&a, 1);

		assert_int_equal((uintptr_t)one % sizeof(uint64_t), 0);
		assert_memory_equal(one, zeroes, size);
		memset(one, 0xff, size);
		assert_int_equal(*next, 0);
	}
	gt_arena_fini(&a);
}

static void a_map_returns_null_until_a_value_is_set(void **state)
{
	struct gt_map map = { 0 };
	int values[1000];

	for (uint64_t i = 0; i < 1000; i++) {
		assert_null(*gt_map_at(&map, i << 40));
		*gt_map_at(&map, i << 40) = &values[i];
	}
	for (uint64_t i = 0; i < 1000; i++)
		assert_ptr_equal(*gt_map_at(&map, i << 40), &values[i]);
	assert_int_equal(map.count, 1000);
	gt_map_fini(&map);
}

static void bytes_are_found_without_being_interned(void **state)
{
	struct gt_intern *in = gt_intern_new();

	assert_int_equal(gt_intern_find(in, "abc", 3), GT_NOT_INTERNED);
	gt_intern(in, "x", 1);
	gt_intern(in, "abc", 3);
	assert_int_equal(gt_intern_find(in, "abc", 3), 1);
	assert_int_equal(gt_intern_find(in, "ab", 2), GT_NOT_INTERNED);
	assert_int_equal(gt_intern_count(in), 2);
	gt_intern_free(in);
}

static void freeing_null_is_allowed(void **state)
{
	gt_intern_free(NULL);
}

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

/* As readers use it: the first stream advances or ends. */
static void streams_stay_merged_as_they_advance_and_end(void **state)
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

enum { NOBODY = UINT32_MAX };

static uint32_t at(const struct gt_ranges *r, uint64_t address)
{
	uint32_t owner;

	return gt_ranges_find(r, address, &owner) ? owner : NOBODY;
}

static void a_range_covers_exactly_its_addresses(void **state)
{
	struct gt_ranges r = { 0 };

	assert_int_equal(at(&r, 0), NOBODY);
	gt_ranges_put(&r, 100, 10, 7);
	gt_ranges_put(&r, 200, 0, 8);
	assert_int_equal(at(&r, 99), NOBODY);
	assert_int_equal(at(&r, 100), 7);
	assert_int_equal(at(&r, 109), 7);
	assert_int_equal(at(&r, 110), NOBODY);
	assert_int_equal(at(&r, 200), NOBODY);
	gt_ranges_fini(&r);
	assert_int_equal(at(&r, 100), NOBODY);
}

static void the_first_and_last_address_can_be_covered(void **state)
{
	struct gt_ranges r = { 0 };

	gt_ranges_put(&r, 0, UINT64_MAX, 1);
	assert_int_equal(at(&r, UINT64_MAX), NOBODY);
	gt_ranges_put(&r, UINT64_MAX, 1, 2);
	gt_ranges_put(&r, 0, 1, 3);
	assert_int_equal(at(&r, UINT64_MAX), 2);
	assert_int_equal(at(&r, UINT64_MAX - 1), 1);
	assert_int_equal(at(&r, 0), 3);
	assert_int_equal(at(&r, 1), 1);
	/* behind the last there is nothing */
	gt_ranges_put(&r, UINT64_MAX - 5, UINT64_MAX, 4);
	assert_int_equal(at(&r, UINT64_MAX), 4);
	assert_int_equal(at(&r, UINT64_MAX - 6), 1);
	assert_int_equal(at(&r, 0), 3);
	gt_ranges_fini(&r);
}

static void overlapping_ranges_agree_with_a_plain_array(void **state)
{
	enum { SIZE = 512, ROUNDS = 3000 };
	uint32_t wanted[SIZE], seed = 1;
	struct gt_ranges r = { 0 };

	memset(wanted, 0xff, sizeof wanted);
	for (uint32_t i = 0; i < ROUNDS; i++) {
		uint32_t start = (seed = seed * 1664525u + 1013904223u) >> 16 & (SIZE - 1);
		uint32_t size = (seed = seed * 1664525u + 1013904223u) >> 16 & 31;

		if (start + size > SIZE)
			size = SIZE - start;
		gt_ranges_put(&r, start, size, i);
		for (uint32_t k = start; k < start + size; k++)
			wanted[k] = i;
		for (uint32_t k = 0; k < SIZE; k++)
			assert_int_equal(at(&r, k), wanted[k]);
	}
	gt_ranges_fini(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ids_count_from_zero_in_order_of_appearance),
		cmocka_unit_test(strings_of_different_length_differ),
		cmocka_unit_test(interned_bytes_stay_aligned_and_unchanged_after_growth),
		cmocka_unit_test(interning_makes_a_copy),
		cmocka_unit_test(interned_strings_do_not_move),
		cmocka_unit_test(arena_memory_is_zeroed_aligned_and_disjoint),
		cmocka_unit_test(a_map_returns_null_until_a_value_is_set),
		cmocka_unit_test(bytes_are_found_without_being_interned),
		cmocka_unit_test(freeing_null_is_allowed),
		cmocka_unit_test(keys_come_out_in_order),
		cmocka_unit_test(equal_keys_come_out_by_item),
		cmocka_unit_test(streams_stay_merged_as_they_advance_and_end),
		cmocka_unit_test(the_greatest_key_sorts_last),
		cmocka_unit_test(a_range_covers_exactly_its_addresses),
		cmocka_unit_test(the_first_and_last_address_can_be_covered),
		cmocka_unit_test(overlapping_ranges_agree_with_a_plain_array),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
