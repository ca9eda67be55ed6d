/* SPDX-License-Identifier: MIT */
/* test_ledger_revive.c - retains after the last release, and records with gaps. */
#include "test_ledger.h"

/* One process whose record is incomplete; `lost` are the moments from and to which. */
struct incomplete {
	uint64_t first_ns, last_ns;
	bool is_late;
};

static bool may_miss(const void *context, uint32_t process, uint64_t from_ns, uint64_t to_ns)
{
	const struct incomplete *i = context;

	(void)process;
	return (!from_ns && i->is_late) ||
	       (i->first_ns && i->first_ns <= to_ns && i->last_ns >= from_ns);
}

static struct gt_ledger *ledger_with(const struct incomplete *i)
{
	struct gt_ledger *l = gt_ledger_new();

	l->gaps = (struct gt_gaps){ may_miss, i };
	return l;
}

static const struct gt_entry *context(const struct gt_ledger *l)
{
	return gt_live_find(&l->live, 0, GT_CONTEXT, 0xc0);
}

/* A queue keeps its context: what it is asked for may be retained after the context's release. */
static void released_retained_and_released_again_is_clean(void **state)
{
	struct gt_ledger *l = gt_ledger_new();

	(void)state;
	apply(l, GT_FN_clCreateContext, 0xc0, 10, 0);
	for (int i = 0; i < 5; i++) {
		apply(l, GT_FN_clReleaseContext, 0xc0, 11, 0);
		assert_null(context(l));
		apply(l, GT_FN_clRetainContext, 0xc0, 12, 0);
		assert_non_null(context(l));
	}
	apply(l, GT_FN_clReleaseContext, 0xc0, 11, 0);
	gt_ledger_finish(l);
	assert_int_equal(l->revived, 5);
	assert_int_equal(l->live.count, 0);
	assert_int_equal(l->redundant_calls + l->unknown_ends + l->unsure_ends, 0);
	assert_int_equal(l->tally[GT_OPENCL][GT_CONTEXT].created, 1);
	assert_int_equal(l->tally[GT_OPENCL][GT_CONTEXT].ended, 1);
	assert_int_equal(site_of(l, 10, GT_CONTEXT)->created, 1);
	assert_int_equal(site_of(l, 10, GT_CONTEXT)->live, 0);
	gt_ledger_free(l);
}

static void a_retain_after_the_last_release_is_a_leak_with_both_stacks(void **state)
{
	struct gt_ledger *l = gt_ledger_new();

	(void)state;
	apply(l, GT_FN_clCreateBuffer, 0xb0, 10, 4096);
	apply(l, GT_FN_clReleaseMemObject, 0xb0, 11, 0);
	assert_int_equal(l->device_bytes, 0);
	apply(l, GT_FN_clRetainMemObject, 0xb0, 12, 0);
	gt_ledger_finish(l);
	assert_int_equal(gt_ledger_leaked(l).count, 1);
	assert_int_equal(gt_ledger_leaked(l).device_bytes, 4096);
	assert_int_equal(l->device_bytes, 4096);
	assert_int_equal(l->peak_bytes, 4096);
	assert_int_equal(site_of(l, 10, GT_BUFFER)->bytes_live, 4096);
	assert_int_equal(site_of(l, 10, GT_BUFFER)->bytes_total, 4096);
	assert_int_equal(gt_ledger_references(l, gt_live_find(&l->live, 0, GT_BUFFER, 0xb0)), 1);
	assert_int_equal(gt_ledger_retain_stack(l, gt_live_find(&l->live, 0, GT_BUFFER, 0xb0)), 12);
	gt_ledger_free(l);
}

/* The memory of a revived resource may make a new peak, at the time of the retain. */
static void a_peak_counts_revived_memory_from_its_retain_on(void **state)
{
	struct gt_ledger *l = gt_ledger_new();

	(void)state;
	apply(l, GT_FN_clCreateBuffer, 0xb0, 10, 4096);
	apply(l, GT_FN_clReleaseMemObject, 0xb0, 11, 0);
	apply(l, GT_FN_clCreateBuffer, 0xb1, 10, 1000);
	assert_int_equal(l->peak_bytes, 4096);
	apply(l, GT_FN_clRetainMemObject, 0xb0, 12, 0);
	assert_int_equal(l->peak_bytes, 5096);
	assert_int_equal(l->peak_ns, l->last_ns);
	gt_ledger_finish(l);
	assert_int_equal(site_of(l, 10, GT_BUFFER)->bytes_at_peak, 5096);
	gt_ledger_free(l);
}

static void a_retained_stack_does_not_outlive_a_revived_resource(void **state)
{
	struct gt_ledger *l = gt_ledger_new();

	(void)state;
	apply(l, GT_FN_clCreateContext, 0xc0, 10, 0);
	apply(l, GT_FN_clReleaseContext, 0xc0, 11, 0);
	apply(l, GT_FN_clRetainContext, 0xc0, 12, 0);
	apply(l, GT_FN_clReleaseContext, 0xc0, 11, 0);
	apply(l, GT_FN_clCreateContext, 0xc0, 20, 0);
	assert_int_equal(gt_ledger_retain_stack(l, context(l)), 0);
	gt_ledger_free(l);
}

static void one_release_too_many_of_a_revived_resource_is_redundant(void **state)
{
	struct gt_ledger *l = gt_ledger_new();

	(void)state;
	apply(l, GT_FN_clCreateContext, 0xc0, 10, 0);
	apply(l, GT_FN_clReleaseContext, 0xc0, 11, 0);
	apply(l, GT_FN_clRetainContext, 0xc0, 12, 0);
	apply(l, GT_FN_clReleaseContext, 0xc0, 13, 0);
	apply(l, GT_FN_clReleaseContext, 0xc0, 14, 0);
	gt_ledger_finish(l);
	assert_int_equal(l->redundant_count, 1);
	assert_int_equal(l->redundant[0].created_stack, 10);
	assert_int_equal(l->redundant[0].ended_stack, 13);
	assert_int_equal(l->redundant[0].stack, 14);
	gt_ledger_free(l);
}

/* A call that is not tracked created it, and may have given it more references than we saw. */
static void an_unknown_handle_is_born_at_its_retain(void **state)
{
	struct gt_ledger *l = gt_ledger_new();

	(void)state;
	apply(l, GT_FN_clRetainContext, 0xc0, 12, 0);
	assert_int_equal(context(l)->stack, 12);
	assert_int_equal(gt_entry_kind(context(l)), GT_CONTEXT);
	assert_int_equal(gt_ledger_retain_stack(l, context(l)), 0);
	assert_int_equal(l->tally[GT_OPENCL][GT_CONTEXT].created, 1);
	apply(l, GT_FN_clReleaseContext, 0xc0, 13, 0);
	assert_null(context(l));
	apply(l, GT_FN_clReleaseContext, 0xc0, 14, 0);
	gt_ledger_finish(l);
	assert_int_equal(l->redundant_calls, 0);
	assert_int_equal(l->unsure_ends, 1);
	gt_ledger_free(l);
}

static void a_late_record_ignores_retains_of_unknown_handles(void **state)
{
	struct incomplete late = { .is_late = true };
	struct gt_ledger *l = ledger_with(&late);

	(void)state;
	apply(l, GT_FN_clRetainContext, 0xc0, 12, 0);
	assert_null(context(l));
	apply(l, GT_FN_clReleaseContext, 0xc0, 13, 0);
	apply(l, GT_FN_clReleaseContext, 0xc0, 13, 0);
	/* but one that was created and released while recorded is known */
	apply(l, GT_FN_clCreateContext, 0xc0, 20, 0);
	apply(l, GT_FN_clReleaseContext, 0xc0, 21, 0);
	apply(l, GT_FN_clRetainContext, 0xc0, 22, 0);
	assert_int_equal(context(l)->stack, 20);
	gt_ledger_finish(l);
	assert_int_equal(l->unknown_ends, 2);
	assert_int_equal(l->redundant_calls, 0);
	gt_ledger_free(l);
}

static void a_retain_after_a_gap_revives_nothing(void **state)
{
	struct incomplete gap = { 0 };
	struct gt_ledger *l = ledger_with(&gap);

	(void)state;
	apply(l, GT_FN_clCreateContext, 0xc0, 10, 0);
	apply(l, GT_FN_clReleaseContext, 0xc0, 11, 0);
	gap.first_ns = gap.last_ns = clock_ns++;
	apply(l, GT_FN_clRetainContext, 0xc0, 12, 0);
	assert_null(context(l));
	apply(l, GT_FN_clReleaseContext, 0xc0, 13, 0);
	gt_ledger_finish(l);
	assert_int_equal(l->redundant_calls, 0);
	assert_int_equal(l->unsure_ends, 1);
	gt_ledger_free(l);
}

/* Gaps are known when all events have been read: releases are judged again then. */
static void a_release_is_redundant_only_if_no_creation_can_be_missing(void **state)
{
	struct incomplete gap = { 0 };
	struct gt_ledger *l = ledger_with(&gap);
	uint64_t before, behind;

	(void)state;
	apply(l, GT_FN_clCreateContext, 1, 10, 0);
	apply(l, GT_FN_clCreateContext, 2, 10, 0);
	apply(l, GT_FN_clReleaseContext, 1, 11, 0);
	apply(l, GT_FN_clReleaseContext, 1, 12, 0); /* before the gap */
	apply(l, GT_FN_clReleaseContext, 2, 11, 0);
	before = clock_ns++;
	behind = clock_ns++;
	apply(l, GT_FN_clReleaseContext, 2, 12, 0); /* across it */
	apply(l, GT_FN_clReleaseContext, 1, 15, 0); /* likewise, and the only one there */
	apply(l, GT_FN_clCreateContext, 3, 10, 0);
	apply(l, GT_FN_clReleaseContext, 3, 11, 0);
	apply(l, GT_FN_clReleaseContext, 3, 12, 0); /* after it */
	assert_int_equal(l->redundant_calls, 4);
	gap = (struct incomplete){ .first_ns = before, .last_ns = behind };
	gt_ledger_finish(l);
	assert_int_equal(l->redundant_calls, 2);
	assert_int_equal(l->redundant_count, 1);
	assert_int_equal(l->redundant[0].count, 2);
	assert_int_equal(l->redundant[0].stack, 12);
	assert_int_equal(l->redundant[0].handle, 1);
	assert_int_equal(l->unsure_ends, 2);
	gt_ledger_free(l);
}

/* The driver refused it: it knows better than we do. */
static void a_release_that_failed_is_redundant_despite_a_gap(void **state)
{
	struct incomplete gap = { .first_ns = 1, .last_ns = UINT64_MAX };
	struct gt_ledger *l = ledger_with(&gap);
	struct gt_event e;

	(void)state;
	apply(l, GT_FN_clCreateContext, 1, 10, 0);
	apply(l, GT_FN_clReleaseContext, 1, 11, 0);
	e = event_of(GT_FN_clReleaseContext, 1, 12, 0);
	e.failed = 1;
	e.result = -34;
	gt_ledger_apply(l, &e, 0);
	gt_ledger_finish(l);
	assert_int_equal(l->redundant_calls, 1);
	assert_int_equal(l->unsure_ends, 0);
	gt_ledger_free(l);
}

/* Any other failure says nothing about the handle: it may have been created anew. */
static void a_release_that_failed_for_want_of_memory_is_a_failure(void **state)
{
	struct incomplete gap = { 0 };
	struct gt_ledger *l = ledger_with(&gap);
	struct gt_event e;

	(void)state;
	apply(l, GT_FN_clCreateContext, 1, 10, 0);
	apply(l, GT_FN_clReleaseContext, 1, 11, 0);
	gap.first_ns = gap.last_ns = clock_ns++;
	e = event_of(GT_FN_clReleaseContext, 1, 12, 0);
	e.failed = 1;
	e.result = -6;
	gt_ledger_apply(l, &e, 0);
	gt_ledger_finish(l);
	assert_int_equal(l->redundant_calls, 0);
	assert_int_equal(l->failure_count, 1);
	gt_ledger_free(l);
}

static void a_release_is_no_mistake_where_a_retain_may_be_missing(void **state)
{
	struct incomplete gap = { 0 };
	struct gt_ledger *l = ledger_with(&gap);

	(void)state;
	apply(l, GT_FN_clCreateContext, 1, 10, 0);
	apply(l, GT_FN_zeContextCreate, 2, 10, 0);
	gap.first_ns = gap.last_ns = clock_ns++;
	apply(l, GT_FN_clReleaseContext, 1, 11, 0);
	apply(l, GT_FN_clReleaseContext, 1, 12, 0);
	/* nothing is retained that has no references */
	apply(l, GT_FN_zeContextDestroy, 2, 11, 0);
	apply(l, GT_FN_zeContextDestroy, 2, 12, 0);
	gt_ledger_finish(l);
	assert_int_equal(l->redundant_calls, 1);
	assert_int_equal(l->redundant[0].function, GT_FN_zeContextDestroy);
	assert_int_equal(l->unsure_ends, 1);
	gt_ledger_free(l);
}

static void create_owned(struct gt_ledger *l, uint16_t function, uint64_t handle, uint64_t owner,
			 uint64_t size)
{
	struct gt_event e = event_of(function, handle, 10, size);

	e.owner = owner;
	gt_ledger_apply(l, &e, 0);
}

static void a_context_whose_creation_is_missing_takes_along_what_it_owns(void **state)
{
	(void)state;
	for (int is_late = 0; is_late < 2; is_late++) {
		struct incomplete late = { .is_late = is_late };
		struct gt_ledger *l = ledger_with(&late);
		struct gt_event failed = event_of(GT_FN_cuCtxDestroy_v2, 0xc0, 11, 0);

		failed.failed = 1;
		create_owned(l, GT_FN_cuMemAlloc_v2, 0xa0, 0xc0, 100);
		create_owned(l, GT_FN_cuMemAlloc_v2, 0xb0, 0xc1, 100);
		/* not what it owns: it maps memory that has the same number */
		create_owned(l, GT_FN_cuMemMap, 0xd0, 0xc0, 100);
		gt_ledger_apply(l, &failed, 0);
		assert_int_equal(l->live.count, 3);
		apply(l, GT_FN_cuCtxDestroy_v2, 0xc0, 11, 0);
		/* in a complete record there was no such context */
		assert_int_equal(l->live.count, is_late ? 2 : 3);
		assert_int_equal(l->freed.count, is_late);
		gt_ledger_free(l);
	}
}

/* Among `others` that are alive. */
static void check_missing_ranges(size_t others)
{
	struct incomplete late = { .is_late = true };
	struct gt_ledger *l = ledger_with(&late);

	for (size_t i = 0; i < others; i++)
		apply(l, GT_FN_zeMemAllocDevice, 0x900000 + i * 0x1000, 9, 100);
	/* 0x10000 and 0x12000 were mapped before */
	apply(l, GT_FN_zeVirtualMemMap, 0x11000, 10, 0x1000);
	apply(l, GT_FN_zeVirtualMemMap, 0x13000, 10, 0x1000);
	apply(l, GT_FN_zeVirtualMemMap, 0x14000, 10, 0x1000);
	apply(l, GT_FN_zeVirtualMemUnmap, 0x10000, 11, 0x1000);
	assert_int_equal(l->live.count, others + 3);
	apply(l, GT_FN_zeVirtualMemUnmap, 0x11000, 11, 0x3000);
	assert_int_equal(l->live.count, others + 1);
	apply(l, GT_FN_zeVirtualMemMap, 0x11000, 10, 0x1000);
	apply(l, GT_FN_zeVirtualMemUnmap, 0x10000, 11, 0x2000);
	assert_int_equal(l->live.count, others + 1);
	assert_non_null(gt_live_find(&l->live, 0, GT_MAPPING, 0x14000));
	gt_ledger_free(l);
}

static void ranges_end_with_the_call_that_names_them_if_others_are_missing(void **state)
{
	(void)state;
	check_missing_ranges(0);
	/* more than the pages of a range */
	check_missing_ranges(100);
}

/* An IPC handle ends with its memory, although other memory has its address now. */
static void who_has_the_handle_of_an_owner_is_not_the_owner(void **state)
{
	struct gt_ledger *l = gt_ledger_new();
	const struct gt_entry *ipc;

	(void)state;
	apply(l, GT_FN_zeMemAllocDevice, 0x10000, 10, 100);
	create_owned(l, GT_FN_zeMemGetIpcHandle, 0x11, 0x10000, 0);
	apply(l, GT_FN_zeMemFree, 0x10000, 11, 0);
	apply(l, GT_FN_zeMemAllocDevice, 0x10000, 20, 100);
	create_owned(l, GT_FN_zeMemGetIpcHandle, 0x12, 0x10000, 0);
	/* the driver returns the same one again, and then one that is not in use any more */
	create_owned(l, GT_FN_zeMemGetIpcHandle, 0x12, 0x10000, 0);
	create_owned(l, GT_FN_zeMemGetIpcHandle, 0x11, 0x10000, 0);
	assert_int_equal(gt_live_find(&l->live, 0, GT_IPC_HANDLE, 0x12)->refs, 2);
	ipc = gt_live_find(&l->live, 0, GT_IPC_HANDLE, 0x11);
	assert_int_equal(ipc->refs, 1);
	assert_int_equal(ipc->time_ns, l->last_ns);
	apply(l, GT_FN_zeMemFree, 0x10000, 11, 0);
	apply(l, GT_FN_zeMemAllocDevice, 0x10000, 20, 100);
	gt_ledger_finish(l);
	assert_int_equal(l->live.count, 1);
	assert_int_equal(l->died_with_owner, 2);
	gt_ledger_free(l);
}

static void a_retained_buffer_that_only_sub_buffers_kept_is_held_by_the_program_again(void **state)
{
	struct gt_ledger *l = gt_ledger_new();
	struct gt_event part = event_of(GT_FN_clCreateSubBuffer, 0x11, 2, 128);
	const struct gt_entry *buffer;

	(void)state;
	apply(l, GT_FN_clCreateBuffer, 0x10, 1, 4096);
	part.owner = 0x10;
	part.time_ns = clock_ns++;
	gt_ledger_apply(l, &part, 0);
	apply(l, GT_FN_clReleaseMemObject, 0x10, 3, 0);
	apply(l, GT_FN_clRetainMemObject, 0x10, 4, 0);
	apply(l, GT_FN_clReleaseMemObject, 0x11, 5, 0);
	buffer = gt_live_find(&l->live, 0, GT_BUFFER, 0x10);
	assert_int_equal(gt_ledger_references(l, buffer), 1);
	assert_int_equal(gt_ledger_retain_stack(l, buffer), 4);
	/* the part is dead: a retain brings it back, and it holds its buffer again */
	apply(l, GT_FN_clRetainMemObject, 0x11, 6, 0);
	assert_int_equal(gt_ledger_holders(l, buffer), 1);
	apply(l, GT_FN_clReleaseMemObject, 0x10, 3, 0);
	assert_int_equal(l->device_bytes, 4096);
	apply(l, GT_FN_clReleaseMemObject, 0x11, 5, 0);
	gt_ledger_finish(l);
	assert_int_equal(l->live.count, 0);
	assert_int_equal(l->redundant_calls + l->unknown_ends, 0);
	gt_ledger_free(l);
}

/*
 * The model: the references that a driver counts for each handle, where queues keep contexts alive
 * beyond their last release. The ledger must agree on who is alive and make no accusation.
 */
static void random_retains_and_releases_agree_with_a_model(void **state)
{
	enum { HANDLES = 200, OPERATIONS = 200000 };
	uint32_t refs[HANDLES] = { 0 };
	bool known[HANDLES] = { false };
	uint64_t seed = 17, created = 0, ended = 0, alive = 0;
	struct gt_ledger *l = gt_ledger_new();

	(void)state;
	for (unsigned i = 0; i < OPERATIONS; i++) {
		size_t h = random_word(&seed) % HANDLES;

		switch (random_word(&seed) % 4) {
		case 0: /* the driver reuses a handle only when it is free */
			if (refs[h])
				break;
			apply(l, GT_FN_clCreateContext, h + 1, (uint32_t)h, 0);
			refs[h] = 1;
			known[h] = true;
			created++;
			alive++;
			break;
		case 1:
			if (!known[h])
				break;
			apply(l, GT_FN_clRetainContext, h + 1, 500, 0);
			ended -= !refs[h];
			alive += !refs[h]++;
			break;
		default:
			if (!refs[h])
				break;
			apply(l, GT_FN_clReleaseContext, h + 1, 501, 0);
			ended += !--refs[h];
			alive -= !refs[h];
		}
	}
	gt_ledger_finish(l);
	for (size_t h = 0; h < HANDLES; h++) {
		const struct gt_entry *e = gt_live_find(&l->live, 0, GT_CONTEXT, h + 1);

		assert_true(!!e == !!refs[h]);
		assert_true(!e || (e->refs == refs[h] && e->stack == h));
	}
	assert_int_equal(l->live.count, alive);
	assert_int_equal(l->tally[GT_OPENCL][GT_CONTEXT].created, created);
	assert_int_equal(l->tally[GT_OPENCL][GT_CONTEXT].ended, ended);
	assert_int_equal(l->redundant_calls + l->unknown_ends + l->replaced, 0);
	gt_ledger_free(l);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(released_retained_and_released_again_is_clean),
		cmocka_unit_test(a_retain_after_the_last_release_is_a_leak_with_both_stacks),
		cmocka_unit_test(a_peak_counts_revived_memory_from_its_retain_on),
		cmocka_unit_test(a_retained_stack_does_not_outlive_a_revived_resource),
		cmocka_unit_test(one_release_too_many_of_a_revived_resource_is_redundant),
		cmocka_unit_test(an_unknown_handle_is_born_at_its_retain),
		cmocka_unit_test(a_late_record_ignores_retains_of_unknown_handles),
		cmocka_unit_test(a_retain_after_a_gap_revives_nothing),
		cmocka_unit_test(a_release_is_redundant_only_if_no_creation_can_be_missing),
		cmocka_unit_test(a_release_that_failed_is_redundant_despite_a_gap),
		cmocka_unit_test(a_release_that_failed_for_want_of_memory_is_a_failure),
		cmocka_unit_test(a_release_is_no_mistake_where_a_retain_may_be_missing),
		cmocka_unit_test(a_context_whose_creation_is_missing_takes_along_what_it_owns),
		cmocka_unit_test(ranges_end_with_the_call_that_names_them_if_others_are_missing),
		cmocka_unit_test(who_has_the_handle_of_an_owner_is_not_the_owner),
		cmocka_unit_test(
			a_retained_buffer_that_only_sub_buffers_kept_is_held_by_the_program_again),
		cmocka_unit_test(random_retains_and_releases_agree_with_a_model),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
