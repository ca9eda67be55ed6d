/* SPDX-License-Identifier: MIT */
/* test_page_blocks.c - the page has the biggest blocks of the whole time and of each part of it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/bytes.h"
#include "page/blocks.h"

enum { LIVES = 4000, END = 1000000, KIB = 1024 };

static const struct gt_block_limits few = {
	.end_ns = END,
	.windows = { 1, 4, 16 },
	.blocks = { 64, 16, 4 },
	.segments = 4,
};

static struct gt_ledger *ledger_with_site(struct gt_entry *entry)
{
	struct gt_ledger *l = gt_ledger_new();
	struct gt_event e = { .function = GT_FN_cuMemAlloc_v2, .handle = 1, .size = 8, .stack = 7 };

	gt_ledger_apply(l, &e, 0);
	*entry = *gt_live_find(&l->live, 0, GT_DEVICE_MEMORY, 1);
	return l;
}

static void end_one(struct gt_page_blocks *b, const struct gt_ledger *l,
		    const struct gt_entry *entry, uint64_t time_ns, uint32_t stack)
{
	struct gt_life life = { .entry = entry, .count = 1, .bytes = (int64_t)entry->size };

	b->now_ns = time_ns;
	gt_page_blocks_take(b, l, &life);
	gt_page_blocks_applied(b, stack);
}

/* A block as the test knows it. */
struct block {
	uint64_t born, ended, size, weight;
	bool is_taken;
};

static int heaviest_first(const void *a, const void *b)
{
	const struct block *x = a, *y = b;

	return x->weight < y->weight ? 1 : -(x->weight > y->weight);
}

static bool is_in(const struct gt_page_blocks *b, size_t level, size_t window,
		  const struct block *block)
{
	const struct gt_block_window *w = &b->levels[level].windows[window];

	for (size_t i = 0; i < w->count; i++)
		if (w->list[i].born_ns == block->born && w->list[i].ended_ns == block->ended &&
		    w->list[i].size == block->size)
			return true;
	return false;
}

static void the_biggest_of_each_part_of_the_time_stay(void **state)
{
	static struct block blocks[LIVES];
	struct gt_page_blocks b;
	struct gt_entry entry;
	struct gt_ledger *l = ledger_with_site(&entry);

	gt_page_blocks_init(&b, &few);
	for (uint64_t i = 0; i < LIVES; i++) {
		struct block *one = &blocks[i];

		one->born = gt_mix64(i) % END;
		one->ended = one->born + 1 + gt_mix64(i + LIVES) % (END - one->born);
		one->size = 1 + gt_mix64(i + 2 * LIVES) % KIB;
		one->weight = gt_page_block_weight(one->size, one->born, one->ended);
		entry.time_ns = one->born;
		entry.size = one->size;
		end_one(&b, l, &entry, one->ended, (uint32_t)i + 1);
	}
	assert_int_equal(b.total, LIVES);
	qsort(blocks, LIVES, sizeof *blocks, heaviest_first);
	for (size_t level = 0; level < GT_BLOCK_LEVELS; level++) {
		size_t used[16] = { 0 };

		for (size_t i = 0; i < LIVES; i++) {
			size_t window = blocks[i].born / (END / few.windows[level] + 1);

			if (blocks[i].is_taken || used[window] == few.blocks[level])
				continue;
			used[window]++;
			blocks[i].is_taken = true;
			assert_true(is_in(&b, level, window, &blocks[i]));
		}
		for (size_t i = 0; i < few.windows[level]; i++)
			assert_int_equal(b.levels[level].windows[i].count, used[i]);
	}
	gt_page_blocks_fini(&b);
	gt_ledger_free(l);
}

static void a_block_knows_who_freed_it(void **state)
{
	struct gt_page_blocks b;
	struct gt_entry entry;
	struct gt_ledger *l = ledger_with_site(&entry);
	const struct gt_page_block *list;
	struct gt_life alive = {
		.entry = &entry, .ended = GT_LIFE_GOES_ON, .count = 1, .bytes = 8
	};
	struct gt_life left = {
		.entry = &entry, .count = 1, .bytes = 8, .by = GT_ENDED_BY_PROCESS
	};

	gt_page_blocks_init(&b, &few);
	end_one(&b, l, &entry, 50, 99);
	b.now_ns = 60;
	gt_page_blocks_take(&b, l, &left);
	gt_page_blocks_applied(&b, 98);
	gt_page_blocks_take(&b, l, &alive);
	list = b.levels[0].windows[0].list;
	assert_int_equal(b.levels[0].windows[0].count, 3);
	assert_int_equal(list[0].freed_stack, 99);
	assert_int_equal(list[0].ended_ns, 50);
	assert_int_equal(list[0].stack, 7);
	assert_true(list[0].has_address);
	/* no call freed these */
	assert_int_equal(list[1].freed_stack, 0);
	assert_int_equal(list[1].ended_ns, 60);
	assert_int_equal(list[2].freed_stack, 0);
	assert_int_equal(list[2].ended_ns, 0);
	gt_page_blocks_fini(&b);
	gt_ledger_free(l);
}

/* Blocks have so many bytes more of a segment. */
static void use(struct gt_page_blocks *b, const struct gt_ledger *l, const struct gt_entry *segment,
		uint64_t time_ns, int64_t bytes)
{
	struct gt_life life = { .entry = segment, .ended = GT_LIFE_GOES_ON, .bytes = -bytes };

	b->now_ns = time_ns;
	gt_page_blocks_take(b, l, &life);
}

static void a_segment_is_what_has_blocks_in_it(void **state)
{
	struct gt_page_blocks b;
	struct gt_entry entry;
	struct gt_ledger *l = ledger_with_site(&entry);
	struct gt_life rest = { .entry = &entry, .ended = GT_LIFE_GOES_ON, .bytes = 300 };
	const struct gt_page_segment *s;

	entry.size = KIB;
	gt_page_blocks_init(&b, &few);
	use(&b, l, &entry, 10, 100);
	use(&b, l, &entry, 20, 200);
	use(&b, l, &entry, 20, -100);
	use(&b, l, &entry, 30, -200);
	use(&b, l, &entry, 40, 300);
	end_one(&b, l, &entry, 50, 1);
	gt_page_blocks_take(&b, l, &rest);
	assert_int_equal(b.total, 0);
	assert_int_equal(b.segment_count, 1);
	s = &b.segments[0];
	assert_int_equal(s->size, KIB);
	assert_int_equal(s->ended_ns, 50);
	assert_int_equal(s->count, 4);
	assert_int_equal(s->points[1].time_ns, 20);
	assert_int_equal(s->points[1].used, 200);
	assert_int_equal(s->points[2].used, 0);
	assert_int_equal(s->points[3].used, 300);
	/* the next one of that slot is another */
	use(&b, l, &entry, 60, 8);
	end_one(&b, l, &entry, 70, 1);
	assert_int_equal(b.segment_total, 2);
	assert_int_equal(b.segments[1].points[0].used, 8);
	gt_page_blocks_fini(&b);
	gt_ledger_free(l);
}

static void points_of_a_segment_stay_few(void **state)
{
	struct gt_page_blocks b;
	struct gt_entry entry;
	struct gt_ledger *l = ledger_with_site(&entry);
	struct gt_page_segment *s;

	gt_page_blocks_init(&b, &few);
	for (int64_t i = 0; i < 100000; i++)
		use(&b, l, &entry, 100 + (uint64_t)i, i % 2 ? -1 : 1);
	s = b.open[0];
	assert_in_range(s->count, 64, 2048);
	for (size_t i = 0; i < s->count; i++)
		assert_int_equal(s->points[i].used, s->points[i].time_ns % 2 ? 0 : 1);
	assert_int_equal(s->points[s->count - 1].time_ns, 100 + 99999);
	gt_page_segment_thin(s, 10);
	assert_in_range(s->count, 5, 10);
	assert_int_equal(s->points[s->count - 1].time_ns, 100 + 99999);
	/* more segments than there is room for: the biggest stay */
	for (uint32_t i = 1; i <= 10; i++) {
		entry.size = i * KIB;
		use(&b, l, &entry, 100100, 1);
		use(&b, l, &entry, 100150, -1);
		end_one(&b, l, &entry, 100200, 1);
	}
	assert_int_equal(b.segment_count, 4);
	for (size_t i = 0; i < b.segment_count; i++)
		assert_in_range(b.segments[i].size, 7 * KIB, 10 * KIB);
	gt_page_blocks_fini(&b);
	gt_ledger_free(l);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_biggest_of_each_part_of_the_time_stay),
		cmocka_unit_test(a_block_knows_who_freed_it),
		cmocka_unit_test(a_segment_is_what_has_blocks_in_it),
		cmocka_unit_test(points_of_a_segment_stay_few),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
