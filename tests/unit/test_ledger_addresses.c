/* SPDX-License-Identifier: MIT */
/* test_ledger_addresses.c - blocks freed by an address inside them, and what finding them costs. */
#include "test_ledger.h"

#include "ledger/addresses.h"

static void a_free_by_an_address_inside_a_block_ends_it_and_is_reported(void **state)
{
	struct gt_ledger *l = gt_ledger_new();

	(void)state;
	apply(l, GT_FN_zeMemAllocDevice, 0x10000, 10, 4096);
	apply(l, GT_FN_zeMemAllocHost, 0x20000, 11, 4096);
	apply(l, GT_FN_zeMemFree, 0x10000 + 64, 12, 0);
	assert_int_equal(l->device_bytes, 0);
	assert_int_equal(l->host_bytes, 4096);
	assert_int_equal(l->interior_calls, 1);
	assert_int_equal(l->interior[0].handle, 0x10000);
	assert_int_equal(l->interior[0].offset, 64);
	assert_int_equal(l->interior[0].bytes, 4096);
	assert_int_equal(l->interior[0].stack, 12);
	assert_int_equal(l->interior[0].created_stack, 10);
	/* the first byte behind a block is not inside it */
	apply(l, GT_FN_zeMemFree, 0x20000 + 4096, 12, 0);
	assert_int_equal(l->unknown_ends, 1);
	apply(l, GT_FN_zeMemFreeExt, 0x20000 + 4095, 12, 0);
	/* the block is known to have ended, under the address that it was created with */
	apply(l, GT_FN_zeMemFree, 0x20000, 13, 0);
	gt_ledger_finish(l);
	assert_int_equal(l->live.count, 0);
	assert_int_equal(l->interior_calls, 2);
	assert_int_equal(l->redundant_calls, 1);
	assert_int_equal(l->redundant[0].created_stack, 11);
	gt_ledger_free(l);
}

static void only_drivers_that_mean_the_block_end_it(void **state)
{
	struct gt_ledger *l = gt_ledger_new();

	(void)state;
	apply(l, GT_FN_clSVMAlloc, 0x10000, 10, 4096);
	apply(l, GT_FN_clSVMFree, 0x10040, 11, 0);
	apply(l, GT_FN_cuMemAlloc_v2, 0x20000, 10, 4096);
	apply(l, GT_FN_cuMemFree_v2, 0x20040, 11, 0);
	apply(l, GT_FN_clSharedMemAllocINTEL, 0x30000, 10, 4096);
	apply(l, GT_FN_clMemBlockingFreeINTEL, 0x30040, 11, 0);
	assert_int_equal(l->unknown_ends, 2);
	assert_int_equal(l->interior_calls, 1);
	assert_int_equal(l->live.count, 2);
	gt_ledger_free(l);
}

static bool loses_everything(const void *context, uint32_t process, uint64_t from_ns,
			     uint64_t to_ns)
{
	(void)context;
	(void)process;
	(void)from_ns;
	(void)to_ns;
	return true;
}

/* Its free and the allocation of another at that address may be what is missing. */
static void a_block_is_not_ended_across_a_gap(void **state)
{
	struct gt_ledger *l = gt_ledger_new();

	(void)state;
	l->gaps.may_miss = loses_everything;
	apply(l, GT_FN_zeMemAllocDevice, 0x10000, 10, 4096);
	apply(l, GT_FN_zeMemFree, 0x10000 + 64, 12, 0);
	assert_int_equal(l->interior_calls, 0);
	assert_int_equal(l->unknown_ends, 1);
	assert_int_equal(l->live.count, 1);
	gt_ledger_free(l);
}

/* The model: an array of blocks without overlap, in two processes. */
static void random_blocks_are_found_as_in_a_model(void **state)
{
	enum { PLACES = 100, STRIDE = 1 << 16, OPERATIONS = 50000 };
	uint64_t sizes[2][PLACES] = { { 0 } }, seed = 5;
	struct gt_ledger *l = gt_ledger_new();
	uint64_t interior = 0, unknown = 0;

	(void)state;
	for (unsigned i = 0; i < OPERATIONS; i++) {
		uint32_t process = random_word(&seed) % 2;
		size_t at = random_word(&seed) % PLACES;
		uint64_t *size = &sizes[process][at], base = (at + 1) * STRIDE, offset;
		struct gt_event e;

		if (!*size && random_word(&seed) % 2) {
			*size = 1 + random_word(&seed) % STRIDE;
			e = event_of(GT_FN_zeMemAllocShared, base, 1, *size);
		} else {
			offset = random_word(&seed) % 3 ? random_word(&seed) % STRIDE : 0;
			e = event_of(GT_FN_zeMemFree, base + offset, 2, 0);
			interior += offset && offset < *size;
			unknown += offset >= *size && offset;
			if (offset >= *size && !offset)
				continue; /* may be a redundant one: not what this is about */
			if (offset < *size)
				*size = 0;
		}
		gt_ledger_apply(l, &e, process);
	}
	for (uint16_t process = 0; process < 2; process++)
		for (size_t at = 0; at < PLACES; at++) {
			const struct gt_entry *e = gt_live_find(&l->live, process, GT_SHARED_MEMORY,
								(at + 1) * STRIDE);

			assert_int_equal(e ? e->size : 0, sizes[process][at]);
		}
	assert_true(interior > 1000 && unknown > 1000);
	assert_int_equal(l->interior_calls, interior);
	assert_int_equal(l->unknown_ends, unknown);
	gt_ledger_free(l);
}

/* A block whose end was not seen gives way to younger ones that overlap it. */
static void the_youngest_of_overlapping_blocks_is_found(void **state)
{
	struct gt_ledger *l = gt_ledger_new();

	(void)state;
	apply(l, GT_FN_zeMemFree, 0x99, 1, 0); /* orders the blocks from now on */
	apply(l, GT_FN_zeMemAllocDevice, 0x10000, 10, 0x4000);
	apply(l, GT_FN_zeMemAllocDevice, 0x11000, 11, 0x1000);
	apply(l, GT_FN_zeMemFree, 0x11010, 1, 0);
	assert_null(gt_live_find(&l->live, 0, GT_DEVICE_MEMORY, 0x11000));
	assert_non_null(gt_live_find(&l->live, 0, GT_DEVICE_MEMORY, 0x10000));
	apply(l, GT_FN_zeMemFree, 0x10000, 1, 0);
	assert_int_equal(l->live.count, 0);
	gt_ledger_free(l);
}

/* Counts comparisons: twice as many blocks may add two or three to a look-up, not double it. */
static void a_million_unknown_frees_are_not_quadratic(void **state)
{
	enum { BLOCKS = 20000, FREES = 1000000, MOST = 40 };
	struct gt_addresses a = { 0 };
	struct gt_live l = { 0 };

	(void)state;
	for (uint64_t i = 0; i < BLOCKS; i++) {
		struct gt_event e = event_of(GT_FN_zeMemAllocDevice, (i + 1) << 12, 1, 64);

		gt_live_apply(&l, &e, 0, NULL, NULL);
	}
	for (uint64_t i = 0; i < FREES; i++) {
		struct gt_event e = event_of(GT_FN_zeMemFree, (i << 12) + 100, 1, 0);

		assert_null(gt_addresses_find(&a, &l, &e, 0));
	}
	assert_true(a.steps > FREES);
	assert_true(a.steps < (size_t)MOST * (FREES + BLOCKS));
	gt_addresses_fini(&a);
	gt_live_fini(&l);
}

/* Programs that free what they allocated pay nothing. */
static void known_frees_order_nothing(void **state)
{
	struct gt_addresses a = { 0 };
	struct gt_live l = { 0 };
	struct gt_event e = event_of(GT_FN_zeMemAllocDevice, 0x1000, 1, 64);
	struct gt_entry *entry;

	(void)state;
	gt_live_apply(&l, &e, 0, &entry, NULL);
	gt_addresses_born(&a, entry);
	assert_null(a.tree);
	gt_addresses_ended(&a, entry);
	assert_int_equal(a.steps, 0);
	gt_addresses_fini(&a);
	gt_live_fini(&l);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_free_by_an_address_inside_a_block_ends_it_and_is_reported),
		cmocka_unit_test(only_drivers_that_mean_the_block_end_it),
		cmocka_unit_test(a_block_is_not_ended_across_a_gap),
		cmocka_unit_test(random_blocks_are_found_as_in_a_model),
		cmocka_unit_test(the_youngest_of_overlapping_blocks_is_found),
		cmocka_unit_test(a_million_unknown_frees_are_not_quadratic),
		cmocka_unit_test(known_frees_order_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
