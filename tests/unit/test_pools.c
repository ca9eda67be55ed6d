/* SPDX-License-Identifier: MIT */
/* test_pools.c - blocks of a pool and the segments that they lie in, counted once. */
#include "test_ledger.h"

#include "../fake/torch/caching.h"
#include "ledger/groups.h"
#include "replay/pool.h"

enum { MIB = 1 << 20 };

static uint64_t bytes_of(const struct gt_ledger *l, enum gt_api api, enum gt_kind kind)
{
	return l->tally[api][kind].bytes_live;
}

static void a_block_has_its_bytes_from_its_segment(void **state)
{
	struct gt_ledger *l = gt_ledger_new();

	(void)state;
	apply(l, GT_FN_cuMemAlloc_v2, 0x1000000, 10, 20 * MIB);
	assert_int_equal(bytes_of(l, GT_CUDA, GT_DEVICE_MEMORY), 20 * MIB);
	apply(l, GT_FN_torchBlock, 0x1000000 + 4096, 11, 3 * MIB);
	assert_int_equal(l->device_bytes, 20 * MIB);
	assert_int_equal(l->device_left, 20 * MIB);
	assert_int_equal(bytes_of(l, GT_PYTORCH, GT_TORCH_BLOCK), 3 * MIB);
	/* from now on, what is left is memory that the pool has cached, and no leak */
	assert_int_equal(bytes_of(l, GT_CUDA, GT_DEVICE_MEMORY), 0);
	assert_int_equal(l->tally[GT_CUDA][GT_DEVICE_MEMORY].created, 0);
	assert_int_equal(bytes_of(l, GT_CUDA, GT_CACHED_MEMORY), 17 * MIB);
	assert_int_equal(site_of(l, 10, GT_CACHED_MEMORY)->bytes_live, 17 * MIB);
	assert_int_equal(site_of(l, 11, GT_TORCH_BLOCK)->bytes_live, 3 * MIB);
	assert_int_equal(gt_ledger_leaked(l).device_bytes, 3 * MIB);
	apply(l, GT_FN_torchBlockFreed, 0x1000000 + 4096, 12, 0);
	assert_int_equal(bytes_of(l, GT_CUDA, GT_CACHED_MEMORY), 20 * MIB);
	apply(l, GT_FN_cuMemFree_v2, 0x1000000, 13, 0);
	assert_int_equal(l->device_bytes, 0);
	assert_int_equal(bytes_of(l, GT_CUDA, GT_CACHED_MEMORY), 0);
	assert_int_equal(l->peak_bytes, 20 * MIB);
	assert_int_equal(l->unknown_ends, 0);
	gt_ledger_free(l);
}

static void a_segment_of_the_programs_own_pool_is_not_pytorchs(void **state)
{
	struct gt_ledger *l = gt_ledger_new();

	(void)state;
	apply(l, GT_FN_cuMemAlloc_v2, 0x1000000, 10, 20 * MIB);
	apply(l, GT_FN_gputrack_pool_block, 0x1000000, 11, 3 * MIB);
	apply(l, GT_FN_cuMemAlloc_v2, 0x4000000, 20, 20 * MIB);
	apply(l, GT_FN_torchBlock, 0x4000000, 21, MIB);
	assert_int_equal(l->device_bytes, 40 * MIB);
	assert_int_equal(bytes_of(l, GT_OWN_POOL, GT_OWN_BLOCK), 3 * MIB);
	assert_int_equal(bytes_of(l, GT_CUDA, GT_OWN_SEGMENT), 17 * MIB);
	assert_int_equal(bytes_of(l, GT_CUDA, GT_CACHED_MEMORY), 19 * MIB);
	/* known by its call site before it has a block */
	apply(l, GT_FN_cuMemAlloc_v2, 0x8000000, 10, MIB);
	assert_int_equal(bytes_of(l, GT_CUDA, GT_OWN_SEGMENT), 18 * MIB);
	assert_int_equal(gt_ledger_leaked(l).count, 2);
	apply(l, GT_FN_gputrack_pool_end, 0x1000000, 12, 0);
	assert_int_equal(bytes_of(l, GT_CUDA, GT_OWN_SEGMENT), 21 * MIB);
	gt_ledger_free(l);
}

static void memory_without_blocks_is_counted_as_ever(void **state)
{
	struct gt_ledger *l = gt_ledger_new();

	(void)state;
	apply(l, GT_FN_cuMemAlloc_v2, 0x1000000, 9, MIB);
	apply(l, GT_FN_cuMemAlloc_v2, 0x2000000, 10, MIB);
	apply(l, GT_FN_torchBlock, 0x2000000, 11, MIB);
	apply(l, GT_FN_cuMemAlloc_v2, 0x3000000, 9, MIB);
	/* lies nowhere: another tool attached late, or the driver is not tracked */
	apply(l, GT_FN_torchBlock, 0x9000000, 11, MIB);
	assert_int_equal(bytes_of(l, GT_CUDA, GT_DEVICE_MEMORY), 2 * MIB);
	assert_int_equal(l->device_bytes, 4 * MIB);
	assert_int_equal(gt_ledger_leaked(l).count, 4);
	gt_ledger_free(l);
}

/* So that no call site is left over with nothing but the moment before the first block. */
static void memory_from_the_call_site_of_segments_is_a_segment(void **state)
{
	struct gt_ledger *l = gt_ledger_new();

	(void)state;
	apply(l, GT_FN_cuMemAlloc_v2, 0x1000000, 10, MIB);
	apply(l, GT_FN_torchBlock, 0x1000000, 11, 4096);
	assert_int_equal(l->site_count, 2);
	apply(l, GT_FN_cuMemAlloc_v2, 0x2000000, 10, MIB);
	assert_int_equal(bytes_of(l, GT_CUDA, GT_CACHED_MEMORY), 2 * MIB - 4096);
	assert_int_equal(l->site_count, 2);
	assert_int_equal(site_of(l, 10, GT_CACHED_MEMORY)->created, 2);
	/* without stacks all have one call site, which says nothing */
	apply(l, GT_FN_cuMemAlloc_v2, 0x3000000, 0, MIB);
	apply(l, GT_FN_torchBlock, 0x3000000, 0, 4096);
	apply(l, GT_FN_cuMemAlloc_v2, 0x4000000, 0, MIB);
	assert_int_equal(bytes_of(l, GT_CUDA, GT_DEVICE_MEMORY), MIB);
	gt_ledger_free(l);
}

/* A piece of an expandable segment: physical memory, mapped. */
static void map_piece(struct gt_ledger *l, uint64_t address, uint64_t size)
{
	struct gt_event e;

	apply(l, GT_FN_cuMemCreate, address + 1, 20, size);
	e = event_of(GT_FN_cuMemMap, address, 21, size);
	e.owner = address + 1;
	gt_ledger_apply(l, &e, 0);
}

static void unmap_piece(struct gt_ledger *l, uint64_t address, uint64_t size)
{
	apply(l, GT_FN_cuMemUnmap, address, 22, size);
	apply(l, GT_FN_cuMemRelease, address + 1, 22, 0);
}

static void a_block_may_lie_in_several_mappings(void **state)
{
	struct gt_ledger *l = gt_ledger_new();
	struct gt_pools p;

	(void)state;
	apply(l, GT_FN_cuMemAddressReserve, 0x40000000, 19, 1 << 30);
	for (unsigned i = 0; i < 4; i++)
		map_piece(l, 0x40000000 + i * 2u * MIB, 2 * MIB);
	apply(l, GT_FN_torchBlock, 0x40000000 + MIB, 11, 5 * MIB);
	assert_int_equal(l->device_bytes, 8 * MIB);
	/* the last piece has no block, and nobody knows yet that it belongs to the pool */
	assert_int_equal(bytes_of(l, GT_CUDA, GT_CACHED_PHYSICAL), MIB);
	apply(l, GT_FN_torchBlock, 0x40000000 + 6 * MIB, 12, MIB / 2);
	gt_pools_init(&p, l);
	assert_int_equal(p.segment_count, 4);
	assert_int_equal(p.run_count, 1);
	assert_int_equal(p.reserved, 8 * MIB);
	assert_int_equal(p.live, 5 * MIB + MIB / 2);
	assert_int_equal(p.fragmented, p.cached);
	assert_int_equal(p.largest_free, 3 * MIB / 2);
	assert_int_equal(p.free_pieces, 2);
	gt_pools_fini(&p);
	apply(l, GT_FN_torchBlockFreed, 0x40000000 + 6 * MIB, 12, 0);
	unmap_piece(l, 0x40000000 + 6 * MIB, 2 * MIB);
	assert_int_equal(l->device_bytes, 6 * MIB);
	apply(l, GT_FN_torchBlockFreed, 0x40000000 + MIB, 12, 0);
	for (unsigned i = 0; i < 3; i++)
		unmap_piece(l, 0x40000000 + i * 2u * MIB, 2 * MIB);
	assert_int_equal(l->device_bytes, 0);
	gt_ledger_free(l);
}

/* Otherwise a new segment would be the peak before its first block is there: all of it cached. */
static void of_equal_peaks_the_one_with_the_most_in_blocks_counts(void **state)
{
	struct gt_ledger *l = gt_ledger_new();

	(void)state;
	apply(l, GT_FN_cuMemAlloc_v2, 0x1000000, 10, 20 * MIB);
	apply(l, GT_FN_torchBlock, 0x1000000, 11, 3 * MIB);
	apply(l, GT_FN_torchBlock, 0x1000000 + 4 * MIB, 12, 10 * MIB);
	apply(l, GT_FN_torchBlockFreed, 0x1000000 + 4 * MIB, 12, 0);
	apply(l, GT_FN_torchBlock, 0x1000000 + 4 * MIB, 13, 9 * MIB);
	apply(l, GT_FN_torchBlockFreed, 0x1000000, 11, 0);
	gt_ledger_finish(l);
	assert_int_equal(l->peak_bytes, 20 * MIB);
	assert_int_equal(l->peak_pooled_bytes, 13 * MIB);
	assert_int_equal(l->peak_events, 3);
	assert_int_equal(site_of(l, 11, GT_TORCH_BLOCK)->bytes_at_peak, 3 * MIB);
	assert_int_equal(site_of(l, 12, GT_TORCH_BLOCK)->bytes_at_peak, 10 * MIB);
	assert_int_equal(site_of(l, 13, GT_TORCH_BLOCK)->bytes_at_peak, 0);
	assert_int_equal(site_of(l, 10, GT_CACHED_MEMORY)->bytes_at_peak, 7 * MIB);
	gt_ledger_free(l);
}

static void blocks_do_not_outlive_their_segment(void **state)
{
	struct gt_ledger *l = gt_ledger_new();

	(void)state;
	apply(l, GT_FN_cuMemAlloc_v2, 0x1000000, 10, 20 * MIB);
	apply(l, GT_FN_cuMemAlloc_v2, 0x4000000, 10, 20 * MIB);
	apply(l, GT_FN_torchBlock, 0x1000000, 11, 3 * MIB);
	apply(l, GT_FN_torchBlock, 0x4000000, 11, 5 * MIB);
	apply(l, GT_FN_torchBlock, 0x9000000, 12, MIB);
	apply(l, GT_FN_cuMemFree_v2, 0x1000000, 13, 0);
	assert_int_equal(l->device_bytes, 21 * MIB);
	assert_int_equal(bytes_of(l, GT_PYTORCH, GT_TORCH_BLOCK), 6 * MIB);
	assert_int_equal(l->freed.count, 1);
	/* memory is given out again whose free was not seen */
	apply(l, GT_FN_cuMemAlloc_v2, 0x4000000, 10, 2 * MIB);
	assert_int_equal(l->device_bytes, 3 * MIB);
	assert_int_equal(bytes_of(l, GT_PYTORCH, GT_TORCH_BLOCK), MIB);
	gt_ledger_free(l);
}

static void what_an_ended_process_left_is_counted_once(void **state)
{
	struct gt_ledger *l = gt_ledger_new();
	struct gt_groups groups;
	struct gt_pools p;

	(void)state;
	apply(l, GT_FN_cuMemAlloc_v2, 0x1000000, 10, 20 * MIB);
	apply(l, GT_FN_torchBlock, 0x1000000, 11, 3 * MIB);
	apply(l, GT_FN_torchCpuBlock, 0x5000, 14, 4096);
	gt_ledger_process_end(l, 0);
	assert_int_equal(l->device_bytes, 0);
	assert_int_equal(l->pooled_bytes, 0);
	assert_int_equal(l->device_left, 20 * MIB);
	assert_int_equal(l->host_left, 4096);
	gt_ledger_finish(l);
	gt_groups_init(&groups, l, GT_GROUPS_LEAKS);
	assert_int_equal(groups.count, 2);
	assert_int_equal(groups.list[0].site->kind, GT_TORCH_BLOCK);
	assert_int_equal(groups.bytes, 3 * MIB + 4096);
	gt_groups_fini(&groups);
	gt_groups_init(&groups, l, GT_GROUPS_LASTING);
	assert_int_equal(groups.bytes, 17 * MIB);
	gt_groups_fini(&groups);
	gt_pools_init(&p, l);
	assert_int_equal(p.reserved, 20 * MIB);
	gt_pools_fini(&p);
	gt_ledger_free(l);
}

/* The model's driver: events of a ledger. Addresses are never used again. */
struct world {
	struct gt_ledger *ledger;
	uint64_t next, other, seed; /* other: bytes that no pool has */
};

static uint64_t take_addresses(struct world *w, uint64_t size)
{
	uint64_t at = w->next ? w->next : 0x10000000;

	/* now and then right behind the last, as drivers do */
	w->next = at + size + (random_word(&w->seed) % 3 ? 4 * MIB : 0);
	return at;
}

static uint64_t allocate(void *context, uint64_t size)
{
	struct world *w = context;
	uint64_t at = take_addresses(w, size);

	apply(w->ledger, GT_FN_cuMemAlloc_v2, at, 30, size);
	return at;
}

static void free_memory(void *context, uint64_t address)
{
	apply(((struct world *)context)->ledger, GT_FN_cuMemFree_v2, address, 31, 0);
}

static uint64_t reserve(void *context, uint64_t size)
{
	struct world *w = context;
	uint64_t at = take_addresses(w, size);

	apply(w->ledger, GT_FN_cuMemAddressReserve, at, 19, size);
	return at;
}

static void map_memory(void *context, uint64_t address, uint64_t size)
{
	map_piece(((struct world *)context)->ledger, address, size);
}

static void unmap_memory(void *context, uint64_t address, uint64_t size)
{
	unmap_piece(((struct world *)context)->ledger, address, size);
}

static void report_block(void *context, uint64_t address, int64_t size, uint64_t allocated,
			 uint64_t reserved)
{
	struct world *w = context;

	(void)allocated;
	(void)reserved;
	if (size > 0)
		apply(w->ledger, GT_FN_torchBlock, address,
		      40 + (uint32_t)(random_word(&w->seed) % 7), (uint64_t)size);
	else
		apply(w->ledger, GT_FN_torchBlockFreed, address, 50, 0);
}

static const struct caching_driver to_ledger = { .allocate = allocate,
						 .free = free_memory,
						 .reserve = reserve,
						 .map = map_memory,
						 .unmap = unmap_memory,
						 .report = report_block };

static void assert_as_in_model(const struct world *w, const struct caching *c)
{
	const struct gt_ledger *l = w->ledger;
	uint64_t sites = 0;
	struct gt_pools p;

	gt_pools_init(&p, l);
	assert_int_equal(p.live, c->allocated);
	assert_int_equal(p.reserved, c->reserved);
	assert_int_equal(p.cached, c->reserved - c->allocated);
	assert_int_equal(p.fragmented, caching_fragmented(c));
	assert_int_equal(p.largest_free, caching_largest_free(c));
	assert_int_equal(p.block_count, c->block_count);
	assert_int_equal(p.segment_count, c->segment_count);
	assert_int_equal(p.loose, 0);
	gt_pools_fini(&p);
	assert_int_equal(l->device_bytes, c->reserved + w->other);
	assert_int_equal(l->pooled_bytes, c->allocated);
	for (size_t i = 0; i < l->site_count; i++)
		sites += l->sites[i].bytes_live;
	assert_int_equal(sites, l->device_bytes);
}

static void follow_model(bool expandable, int pools, uint64_t seed)
{
	enum { OPERATIONS = 3000, MOMENTS = 1000 };
	struct world w = { .ledger = gt_ledger_new(), .seed = seed };
	struct caching *c = calloc(1, sizeof *c);

	c->driver = to_ledger;
	c->driver.context = &w;
	c->expandable = expandable;
	for (unsigned i = 0; i < OPERATIONS; i++) {
		uint64_t random = random_word(&w.seed);

		if (random % 100 < 2) {
			caching_trim(c);
		} else if (random % 100 < 4) {
			apply(w.ledger, GT_FN_cuMemAlloc_v2, take_addresses(&w, 4096), 33, 4096);
			w.other += 4096;
		} else if (random % 100 < 40 + c->block_count / 4 && c->block_count) {
			caching_free(c, random_word(&w.seed) % c->block_count);
		} else {
			caching_malloc(c, (int)(random_word(&w.seed) % (unsigned)pools),
				       1 + random_word(&w.seed) % (random % 5 ? 65536 : 6 * MIB));
		}
		if (i % (OPERATIONS / MOMENTS) == 0)
			assert_as_in_model(&w, c);
	}
	while (c->block_count)
		caching_free(c, 0);
	caching_trim(c);
	assert_as_in_model(&w, c);
	assert_int_equal(w.ledger->device_bytes, w.other);
	assert_int_equal(w.ledger->unknown_ends, 0);
	gt_ledger_free(w.ledger);
	free(c);
}

static void plain_segments_are_as_in_a_model(void **state)
{
	(void)state;
	follow_model(false, 1, 7);
}

static void expandable_segments_are_as_in_a_model(void **state)
{
	(void)state;
	follow_model(true, 1, 8);
}

static void private_pools_are_as_in_a_model(void **state)
{
	(void)state;
	follow_model(false, CACHING_POOLS, 9);
	follow_model(true, CACHING_POOLS, 10);
}

/*
 * A case: a run of segments full of small blocks, of which all are freed but those of one line.
 * These pin everything between them.
 */
static void fragment(unsigned number)
{
	const uint64_t base = 0x100000000, step = 2 * MIB;
	unsigned segments = 3 + number % 5, per_segment = 4 + number % 3 * 4;
	unsigned pinned_from = number % 2, expandable = number / 10;
	uint64_t block = step / per_segment, pinned = 0;
	struct gt_ledger *l = gt_ledger_new();
	struct gt_pool_pin *pins;
	struct gt_pools p;
	size_t count;

	if (expandable)
		apply(l, GT_FN_cuMemAddressReserve, base, 19, 1 << 30);
	for (unsigned s = 0; s < segments; s++) {
		if (expandable)
			map_piece(l, base + s * step, step);
		else
			apply(l, GT_FN_cuMemAlloc_v2, base + s * step, 10, step);
		for (unsigned b = 0; b < per_segment; b++)
			apply(l, GT_FN_torchBlock, base + s * step + b * block,
			      b == number % per_segment && s >= pinned_from ? 88 : 70 + b, block);
	}
	/* another line's block, in a segment of its own that it fills */
	apply(l, GT_FN_cuMemAlloc_v2, base + (1 << 30) + step, 10, step);
	apply(l, GT_FN_torchBlock, base + (1 << 30) + step, 60, step);
	for (unsigned s = 0; s < segments; s++)
		for (unsigned b = 0; b < per_segment; b++)
			if (b != number % per_segment || s < pinned_from)
				apply(l, GT_FN_torchBlockFreed, base + s * step + b * block, 1, 0);
			else
				pinned += step - block;
	gt_pools_init(&p, l);
	assert_int_equal(p.fragmented, pinned);
	assert_int_equal(p.cached, pinned + pinned_from * step);
	count = gt_pools_pins(&p, l, &pins);
	assert_int_equal(count, 1);
	assert_int_equal(pins[0].site->stack, 88);
	assert_int_equal(pins[0].blocks, segments - pinned_from);
	assert_int_equal(pins[0].pinned, pinned);
	assert_int_equal(pins[0].pinned_alone, pinned);
	for (size_t i = 0; i < p.block_count; i++)
		assert_int_equal(p.blocks[i].pinned_alone,
				 p.blocks[i].entry->stack == 88 ? step - block : 0);
	free(pins);
	gt_pools_fini(&p);
	gt_ledger_free(l);
}

static void the_blocks_that_pin_fragmented_segments_are_named(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 20; i++)
		fragment(i);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_block_has_its_bytes_from_its_segment),
		cmocka_unit_test(a_segment_of_the_programs_own_pool_is_not_pytorchs),
		cmocka_unit_test(memory_without_blocks_is_counted_as_ever),
		cmocka_unit_test(memory_from_the_call_site_of_segments_is_a_segment),
		cmocka_unit_test(a_block_may_lie_in_several_mappings),
		cmocka_unit_test(of_equal_peaks_the_one_with_the_most_in_blocks_counts),
		cmocka_unit_test(blocks_do_not_outlive_their_segment),
		cmocka_unit_test(what_an_ended_process_left_is_counted_once),
		cmocka_unit_test(plain_segments_are_as_in_a_model),
		cmocka_unit_test(expandable_segments_are_as_in_a_model),
		cmocka_unit_test(private_pools_are_as_in_a_model),
		cmocka_unit_test(the_blocks_that_pin_fragmented_segments_are_named),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
