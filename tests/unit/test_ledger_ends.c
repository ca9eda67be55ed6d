/* SPDX-License-Identifier: MIT */
/* test_ledger_ends.c - resources that end with their process, owner or holder. */
#include "test_ledger.h"

#include "ledger/board.h"
#include "ledger/growing_sites.h"

static void apply_in(struct gt_ledger *l, uint32_t process, uint16_t function, uint64_t handle,
		     uint32_t stack, uint64_t size)
{
	struct gt_event e = event_of(function, handle, stack, size);

	gt_ledger_apply(l, &e, process);
}

static struct gt_event owned_event(uint16_t function, uint64_t handle, uint64_t owner,
				   uint32_t stack, uint64_t size)
{
	struct gt_event e = event_of(function, handle, stack, size);

	e.owner = owner;
	return e;
}

static void own(struct gt_ledger *l, uint16_t function, uint64_t handle, uint64_t owner,
		uint32_t stack, uint64_t size)
{
	struct gt_event e = owned_event(function, handle, owner, stack, size);

	gt_ledger_apply(l, &e, 0);
}

static void peaks_count_only_running_processes(void **state)
{
	struct gt_ledger *l = gt_ledger_new();

	for (uint32_t process = 0; process < 3; process++) {
		apply_in(l, process, GT_FN_clCreateBuffer, 1, 10, 100);
		apply_in(l, process, GT_FN_clCreateBuffer, 2, 10, 10);
		apply_in(l, process, GT_FN_clReleaseMemObject, 2, 11, 0);
		gt_ledger_process_end(l, process);
	}
	gt_ledger_finish(l);
	assert_int_equal(l->peak_bytes, 110);
	assert_int_equal(site_of(l, 10, GT_BUFFER)->bytes_peak, 110);
	assert_int_equal(l->tally[GT_OPENCL][GT_BUFFER].bytes_peak, 110);
	assert_int_equal(site_of(l, 10, GT_BUFFER)->bytes_live, 300);
	gt_ledger_free(l);
}

static void an_ended_process_leaves_only_its_own_resources(void **state)
{
	struct gt_ledger *l = gt_ledger_new();

	/* more than one chunk of each, taken in turns, with holes */
	for (uint64_t i = 0; i < 900; i++)
		apply_in(l, (uint32_t)(i % 3), GT_FN_clCreateBuffer, i, (uint32_t)(i % 3), 1);
	for (uint64_t i = 0; i < 900; i += 5)
		apply_in(l, (uint32_t)(i % 3), GT_FN_clReleaseMemObject, i, 9, 0);
	gt_ledger_process_end(l, 1);
	assert_int_equal(l->gone, 240);
	assert_int_equal(site_of(l, 1, GT_BUFFER)->gone, 240);
	assert_int_equal(site_of(l, 0, GT_BUFFER)->gone, 0);
	gt_ledger_process_end(l, 1);
	assert_int_equal(l->gone, 240);
	gt_ledger_process_end(l, 2);
	assert_int_equal(l->gone, 480);
	assert_int_equal(l->device_bytes, 240);
	gt_ledger_process_end(l, 7);
	assert_int_equal(l->gone, 480);
	gt_ledger_free(l);
}

static void an_orphan_of_an_ended_process_is_not_counted_twice(void **state)
{
	struct gt_ledger *l = gt_ledger_new();

	own(l, GT_FN_zeMemGetIpcHandle, 1, 0x100, 20, 0);
	gt_ledger_process_end(l, 0);
	assert_int_equal(l->gone, 1);
	gt_ledger_finish(l);
	assert_int_equal(l->live.count, 0);
	assert_int_equal(l->gone, 0);
	assert_int_equal(site_of(l, 20, GT_IPC_HANDLE)->gone, 0);
	assert_int_equal(l->tally[GT_LEVELZERO][GT_IPC_HANDLE].gone, 0);
	gt_ledger_free(l);
}

static void a_replaced_mapping_releases_the_old_memory_and_holds_the_new(void **state)
{
	struct gt_ledger *l = gt_ledger_new();

	own(l, GT_FN_cuMemCreate, 0x10, 0, 1, 4096);
	own(l, GT_FN_cuMemCreate, 0x20, 0, 1, 512);
	own(l, GT_FN_cuMemMap, 0x1000, 0x10, 2, 4096);
	apply(l, GT_FN_cuMemRelease, 0x10, 3, 0);
	apply(l, GT_FN_cuMemRelease, 0x20, 3, 0);
	assert_int_equal(l->device_bytes, 4096);
	own(l, GT_FN_cuMemCreate, 0x20, 0, 1, 512);
	own(l, GT_FN_cuMemMap, 0x1000, 0x20, 2, 512); /* the unmapping before it was not seen */
	assert_int_equal(l->device_bytes, 512);
	apply(l, GT_FN_cuMemRelease, 0x20, 3, 0);
	assert_int_equal(l->device_bytes, 512);
	/* mapped anew over itself, it stays held */
	own(l, GT_FN_cuMemMap, 0x1000, 0x20, 2, 512);
	assert_int_equal(l->device_bytes, 512);
	apply(l, GT_FN_cuMemUnmap, 0x1000, 3, 0);
	assert_int_equal(l->device_bytes, 0);
	assert_int_equal(l->live.count, 0);
	gt_ledger_free(l);
}

static void a_board_counts_memory_held_by_mappings(void **state)
{
	struct gt_board *b = gt_board_new();
	uint16_t process = gt_board_add(b, 10, "one", 1);
	struct gt_event events[] = {
		owned_event(GT_FN_cuMemCreate, 0x10, 0, 1, 4096),
		owned_event(GT_FN_cuMemMap, 0x1000, 0x10, 2, 4096),
		owned_event(GT_FN_cuMemRelease, 0x10, 0, 3, 0),
		owned_event(GT_FN_cuMemUnmap, 0x1000, 0, 3, 0),
	};
	const uint64_t bytes[] = { 4096, 4096, 4096, 0 }, live[] = { 1, 2, 2, 0 };

	for (size_t i = 0; i < sizeof events / sizeof *events; i++) {
		gt_board_apply(b, &events[i], process);
		assert_int_equal(gt_board_process(b, process)->device_bytes, bytes[i]);
		assert_int_equal(gt_board_process(b, process)->live, live[i]);
	}
	gt_board_free(b);
}

static const struct gt_entry *buffer(const struct gt_ledger *l, uint64_t handle)
{
	return gt_live_find(&l->live, 0, GT_BUFFER, handle);
}

/* A buffer of 4096 bytes, created at 1, with two sub-buffers 0x11 and 0x12. */
static struct gt_ledger *buffer_with_two_parts(void)
{
	struct gt_ledger *l = gt_ledger_new();

	own(l, GT_FN_clCreateBuffer, 0x10, 0xc0, 1, 4096);
	own(l, GT_FN_clCreateSubBuffer, 0x11, 0x10, 2, 128);
	own(l, GT_FN_clCreateSubBuffer, 0x12, 0x10, 2, 128);
	return l;
}

static void a_released_buffer_lives_as_long_as_its_last_sub_buffer(void **state)
{
	struct gt_ledger *l = buffer_with_two_parts();

	assert_int_equal(gt_ledger_references(l, buffer(l, 0x10)), 1);
	apply(l, GT_FN_clReleaseMemObject, 0x10, 3, 0);
	assert_int_equal(l->device_bytes, 4096);
	assert_int_equal(gt_ledger_references(l, buffer(l, 0x10)), 0);
	assert_int_equal(gt_ledger_holders(l, buffer(l, 0x10)), 2);
	assert_true(gt_live_may_hold(GT_SUBBUFFER, buffer(l, 0x10)));
	assert_true(gt_live_may_hold(GT_IMAGE, buffer(l, 0x10)));
	assert_false(gt_live_may_hold(GT_HELD_MAPPING, buffer(l, 0x10)));
	/* a sub-buffer that is retained holds it once, and until its end */
	apply(l, GT_FN_clRetainMemObject, 0x11, 4, 0);
	apply(l, GT_FN_clReleaseMemObject, 0x11, 5, 0);
	assert_int_equal(gt_ledger_holders(l, buffer(l, 0x10)), 2);
	apply(l, GT_FN_clReleaseMemObject, 0x11, 5, 0);
	assert_int_equal(gt_ledger_holders(l, buffer(l, 0x10)), 1);
	assert_int_equal(l->device_bytes, 4096);
	apply(l, GT_FN_clReleaseMemObject, 0x12, 5, 0);
	assert_int_equal(l->device_bytes, 0);
	assert_int_equal(l->live.count, 0);
	assert_int_equal(l->redundant_count + l->unknown_ends, 0);
	gt_ledger_free(l);
}

static void a_buffer_outlives_its_sub_buffers_until_it_is_released(void **state)
{
	struct gt_ledger *l = buffer_with_two_parts();

	apply(l, GT_FN_clRetainMemObject, 0x10, 4, 0);
	assert_int_equal(gt_ledger_retain_stack(l, buffer(l, 0x10)), 4);
	apply(l, GT_FN_clReleaseMemObject, 0x10, 3, 0);
	/* what is left are its creation and its parts: nobody has it retained */
	assert_int_equal(gt_ledger_retain_stack(l, buffer(l, 0x10)), 0);
	apply(l, GT_FN_clReleaseMemObject, 0x11, 5, 0);
	apply(l, GT_FN_clReleaseMemObject, 0x12, 5, 0);
	assert_int_equal(gt_ledger_references(l, buffer(l, 0x10)), 1);
	assert_int_equal(l->device_bytes, 4096);
	apply(l, GT_FN_clReleaseMemObject, 0x10, 3, 0);
	assert_int_equal(l->live.count, 0);
	gt_ledger_free(l);
}

/* An image that is made of a buffer has no bytes of its own, but keeps the buffer's. */
static void a_released_buffer_lives_as_long_as_an_image_made_of_it(void **state)
{
	struct gt_ledger *l = gt_ledger_new();

	(void)state;
	own(l, GT_FN_clCreateContext, 0xc0, 0, 1, 0);
	own(l, GT_FN_clCreateBuffer, 0x10, 0xc0, 1, 4096);
	own(l, GT_FN_clCreateImage, 0x11, 0x10, 2, 0);
	own(l, GT_FN_clCreateImage, 0x12, 0xc0, 2, 100);
	apply(l, GT_FN_clReleaseMemObject, 0x10, 3, 0);
	apply(l, GT_FN_clReleaseContext, 0xc0, 3, 0);
	assert_int_equal(l->device_bytes, 4196);
	assert_int_equal(gt_ledger_holders(l, buffer(l, 0x10)), 1);
	apply(l, GT_FN_clReleaseMemObject, 0x12, 3, 0);
	assert_int_equal(l->device_bytes, 4096);
	apply(l, GT_FN_clReleaseMemObject, 0x11, 3, 0);
	assert_int_equal(l->live.count, 0);
	assert_int_equal(l->redundant_calls + l->unknown_ends, 0);
	gt_ledger_free(l);
}

static void releasing_a_context_ends_no_buffer(void **state)
{
	struct gt_ledger *l = gt_ledger_new();

	own(l, GT_FN_clCreateContext, 0xc0, 0, 1, 0);
	own(l, GT_FN_clCreateBuffer, 0x10, 0xc0, 1, 4096);
	own(l, GT_FN_clCreateSubBuffer, 0x11, 0x10, 2, 128);
	apply(l, GT_FN_clReleaseMemObject, 0x10, 3, 0);
	apply(l, GT_FN_clReleaseContext, 0xc0, 3, 0);
	assert_int_equal(l->device_bytes, 4096);
	assert_int_equal(l->live.count, 2);
	gt_ledger_free(l);
}

static void releasing_a_buffer_kept_only_by_sub_buffers_is_redundant(void **state)
{
	struct gt_ledger *l = buffer_with_two_parts();
	struct gt_event failed = event_of(GT_FN_clReleaseMemObject, 0x10, 8, 0);

	apply(l, GT_FN_clReleaseMemObject, 0x10, 3, 0);
	apply(l, GT_FN_clReleaseMemObject, 0x10, 7, 0);
	failed.failed = 1;
	failed.result = -38;
	gt_ledger_apply(l, &failed, 0);
	assert_int_equal(l->redundant_count, 2);
	assert_int_equal(l->redundant[0].created_stack, 1);
	assert_int_equal(l->redundant[0].ended_stack, 3);
	assert_int_equal(l->redundant[0].stack, 7);
	assert_int_equal(l->redundant[1].stack, 8);
	assert_int_equal(l->failure_count, 0);
	/* and takes nothing from them */
	assert_int_equal(gt_ledger_holders(l, buffer(l, 0x10)), 2);
	assert_int_equal(l->device_bytes, 4096);
	/* after the last of them it is the same release that made it so */
	apply(l, GT_FN_clReleaseMemObject, 0x11, 5, 0);
	apply(l, GT_FN_clReleaseMemObject, 0x12, 5, 0);
	assert_int_equal(l->live.count, 0);
	apply(l, GT_FN_clReleaseMemObject, 0x10, 9, 0);
	assert_int_equal(l->redundant_count, 3);
	assert_int_equal(l->redundant[2].ended_stack, 3);
	gt_ledger_free(l);
}

static void a_sub_buffer_does_not_hold_a_newer_buffer_with_the_same_handle(void **state)
{
	struct gt_ledger *l = buffer_with_two_parts();

	own(l, GT_FN_clCreateBuffer, 0x10, 0xc0, 1, 512); /* the release before it was not seen */
	assert_int_equal(gt_ledger_holders(l, buffer(l, 0x10)), 0);
	apply(l, GT_FN_clReleaseMemObject, 0x11, 5, 0);
	apply(l, GT_FN_clReleaseMemObject, 0x12, 5, 0);
	assert_int_equal(l->device_bytes, 512);
	assert_int_equal(gt_ledger_references(l, buffer(l, 0x10)), 1);
	gt_ledger_free(l);
}

/* NVIDIA's sample stripes memory over devices: one mapping each, one call unmaps all. */
static void one_call_unmaps_everything_in_its_range(void **state)
{
	struct gt_ledger *l = gt_ledger_new();
	struct gt_event e;

	for (uint64_t i = 0; i < 5; i++) {
		own(l, GT_FN_cuMemCreate, 0x10 + i, 0, 1, 4096);
		own(l, GT_FN_cuMemMap, 0x10000 + i * 4096, 0x10 + i, 2, 4096);
		apply(l, GT_FN_cuMemRelease, 0x10 + i, 3, 0);
	}
	assert_int_equal(l->device_bytes, 5 * 4096);
	e = event_of(GT_FN_cuMemUnmap, 0x11000, 3, 3 * 4096);
	gt_ledger_apply(l, &e, 0);
	assert_int_equal(l->device_bytes, 2 * 4096);
	assert_null(gt_live_find(&l->live, 0, GT_HELD_MAPPING, 0x13000));
	assert_non_null(gt_live_find(&l->live, 0, GT_HELD_MAPPING, 0x10000));
	assert_non_null(gt_live_find(&l->live, 0, GT_HELD_MAPPING, 0x14000));
	/* the range goes on where nothing is mapped any more */
	e = event_of(GT_FN_cuMemUnmap, 0x10000, 3, 4 * 4096);
	gt_ledger_apply(l, &e, 0);
	assert_non_null(gt_live_find(&l->live, 0, GT_HELD_MAPPING, 0x14000));
	/* who does not know the size ends the one that is named */
	apply(l, GT_FN_cuMemUnmap, 0x14000, 3, 0);
	assert_int_equal(l->live.count, 0);
	assert_int_equal(l->size_mismatches, 0);
	assert_int_equal(l->redundant_count, 0);
	gt_ledger_free(l);
}

/* The notifications received. */
struct told {
	uint64_t born, ended[GT_ENDED_BY_PROCESS + 1];
};

static void tell_birth(void *context, const struct gt_entry *entry, uint32_t slot)
{
	((struct told *)context)->born++;
}

static void tell_end(void *context, const struct gt_entry *entry, uint32_t slot,
		     enum gt_ended_by by)
{
	((struct told *)context)->ended[by]++;
}

static void every_end_is_reported_with_its_cause(void **state)
{
	struct gt_ledger *l = gt_ledger_new();
	struct told told = { 0 };
	struct gt_live_observer observer = { .born = tell_birth,
					     .ended = tell_end,
					     .context = &told };

	l->observer = &observer;
	own(l, GT_FN_cuCtxCreate_v2, 0x10, 0, 1, 0);
	own(l, GT_FN_cuMemAlloc_v2, 0x100, 0x10, 2, 4096);
	own(l, GT_FN_cuMemAlloc_v2, 0x200, 0x10, 2, 4096);
	own(l, GT_FN_cuMemAlloc_v2, 0x200, 0x10, 2, 4096);
	own(l, GT_FN_cuMemCreate, 0x20, 0, 1, 512);
	own(l, GT_FN_cuMemMap, 0x1000, 0x20, 2, 512);
	apply(l, GT_FN_cuMemRelease, 0x20, 3, 0);
	apply(l, GT_FN_cuMemUnmap, 0x1000, 3, 0);
	apply(l, GT_FN_cuCtxDestroy_v2, 0x10, 3, 0);
	own(l, GT_FN_cuMemAlloc_v2, 0x300, 0, 2, 4096);
	gt_ledger_process_end(l, 0);
	assert_int_equal(told.born, 7);
	assert_int_equal(told.ended[GT_ENDED_BY_CALL], 2);
	assert_int_equal(told.ended[GT_ENDED_BY_CREATION], 1);
	assert_int_equal(told.ended[GT_ENDED_BY_OWNER], 2);
	assert_int_equal(told.ended[GT_ENDED_BY_HOLDER], 1);
	assert_int_equal(told.ended[GT_ENDED_BY_PROCESS], 1);
	gt_ledger_free(l);
}

/* Every site it frees drops to zero: none of them kept growing. */
static void growth_is_notified_of_everything_a_context_ends(void **state)
{
	struct gt_ledger *l = gt_ledger_new();
	struct gt_growth *g = gt_growth_new();
	struct gt_rise *rises;
	size_t count;
	struct gt_event e = owned_event(GT_FN_cuCtxCreate_v2, 0x10, 0, 1, 0);

	gt_ledger_apply(l, &e, 0);
	for (uint64_t i = 0; i < 400; i++) {
		e = owned_event(GT_FN_cuMemAlloc_v2, 0x1000 + i, 0x10, (uint32_t)(2 + i % 4), 64);
		e.time_ns = 10000000ull * i;
		gt_ledger_apply(l, &e, 0);
		gt_growth_record(g, l, e.time_ns);
	}
	e = event_of(GT_FN_cuCtxDestroy_v2, 0x10, 3, 0);
	e.time_ns = 10000000ull * 401;
	gt_ledger_apply(l, &e, 0);
	gt_growth_record(g, l, e.time_ns);
	rises = gt_growth_find(g, l, &count);
	assert_int_equal(count, 4);
	for (size_t i = 0; i < count; i++)
		assert_true(rises[i].given_back);
	free(rises);
	gt_growth_free(g);
	gt_ledger_free(l);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(peaks_count_only_running_processes),
		cmocka_unit_test(an_ended_process_leaves_only_its_own_resources),
		cmocka_unit_test(an_orphan_of_an_ended_process_is_not_counted_twice),
		cmocka_unit_test(a_replaced_mapping_releases_the_old_memory_and_holds_the_new),
		cmocka_unit_test(a_board_counts_memory_held_by_mappings),
		cmocka_unit_test(a_released_buffer_lives_as_long_as_its_last_sub_buffer),
		cmocka_unit_test(a_buffer_outlives_its_sub_buffers_until_it_is_released),
		cmocka_unit_test(a_released_buffer_lives_as_long_as_an_image_made_of_it),
		cmocka_unit_test(releasing_a_context_ends_no_buffer),
		cmocka_unit_test(releasing_a_buffer_kept_only_by_sub_buffers_is_redundant),
		cmocka_unit_test(a_sub_buffer_does_not_hold_a_newer_buffer_with_the_same_handle),
		cmocka_unit_test(one_call_unmaps_everything_in_its_range),
		cmocka_unit_test(every_end_is_reported_with_its_cause),
		cmocka_unit_test(growth_is_notified_of_everything_a_context_ends),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
