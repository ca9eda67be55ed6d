/* SPDX-License-Identifier: MIT */
/* test_stacks.c - stacks that resemble each other have different keys, which spread evenly. */
#include "trace/stacks.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

enum { FRAMES = 20, DEPTH = 128, KEYS_MOST = 1 << 18, BUCKETS = 4096 };

struct keys {
	uint64_t *list;
	size_t count;
};

static void add(struct keys *k, const uint64_t *frames, size_t count)
{
	assert_true(k->count < KEYS_MOST);
	k->list[k->count++] = gt_stack_key(frames, count);
}

static int compare(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static void assert_different(struct keys *k)
{
	qsort(k->list, k->count, sizeof *k->list, compare);
	assert_int_not_equal(k->list[0], 0);
	for (size_t i = 1; i < k->count; i++)
		assert_true(k->list[i - 1] != k->list[i]);
}

/* As of a program: return addresses some bytes apart. */
static void fill(uint64_t *frames)
{
	for (size_t i = 0; i < FRAMES; i++)
		frames[i] = 0x555555554000 + 0x35 * i;
}

/* Keys of stacks that differ from one another in one place, or in the order of two frames. */
static void add_similar(struct keys *k)
{
	uint64_t frames[FRAMES], changed[FRAMES];

	fill(frames);
	for (size_t count = 1; count <= FRAMES; count++)
		add(k, frames, count);
	for (size_t i = 0; i < FRAMES; i++)
		for (int bit = 0; bit < 48; bit++) {
			fill(changed);
			changed[i] ^= UINT64_C(1) << bit;
			add(k, changed, FRAMES);
		}
	for (size_t i = 0; i < FRAMES; i++)
		for (size_t j = i + 1; j < FRAMES; j++) {
			fill(changed);
			changed[i] = frames[j];
			changed[j] = frames[i];
			add(k, changed, FRAMES);
		}
}

/* Of functions that call themselves: one, two in turns, and at any depth another line. */
static void add_recursive(struct keys *k)
{
	uint64_t frames[DEPTH];

	for (uint64_t function = 0; function < 64; function++) {
		for (size_t i = 0; i < DEPTH; i++)
			frames[i] = 0x7f0000001000 + 16 * function;
		for (size_t count = FRAMES + 1; count <= DEPTH; count++)
			add(k, frames, count);
		for (size_t i = 0; i < DEPTH; i++) {
			frames[i]++;
			add(k, frames, DEPTH);
			frames[i]--;
		}
		for (size_t i = 0; i < DEPTH; i += 2)
			frames[i] = 0x7f0000001008;
		for (size_t count = FRAMES + 2; count <= DEPTH; count += 2)
			add(k, frames, count);
	}
}

static void similar_stacks_have_different_keys(void **state)
{
	struct keys k = { calloc(KEYS_MOST, sizeof *k.list), 0 };

	assert_non_null(k.list);
	add_similar(&k);
	add_recursive(&k);
	assert_different(&k);
	free(k.list);
}

static size_t free_buckets(unsigned int shift, size_t frame)
{
	bool is_used[BUCKETS] = { false };
	uint64_t frames[FRAMES];
	size_t count = 0;

	fill(frames);
	for (size_t i = 0; i < BUCKETS; i++) {
		frames[frame] += 5;
		is_used[gt_stack_key(frames, FRAMES) >> shift & (BUCKETS - 1)] = true;
	}
	for (size_t i = 0; i < BUCKETS; i++)
		count += !is_used[i];
	return count;
}

static void keys_of_lines_of_one_function_spread_over_a_table(void **state)
{
	/* of random keys, 1/e of the buckets stay free: 1,507 of 4,096 */
	for (unsigned int shift = 0; shift <= 52; shift += 13)
		for (size_t frame = 0; frame < FRAMES; frame++) {
			assert_true(free_buckets(shift, frame) > 1300);
			assert_true(free_buckets(shift, frame) < 1700);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(similar_stacks_have_different_keys),
		cmocka_unit_test(keys_of_lines_of_one_function_spread_over_a_table),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
