/* SPDX-License-Identifier: MIT */
/* test_ledger.c - totals, sites and the peak, against a model that recomputes them. */
#include "test_ledger.h"

/* The model: all live resources in an array, from which sites and the peak are recomputed. */
enum { HANDLES = 64, STACKS = 12, OPERATIONS = 100000 };

static const struct model_kind {
	uint16_t create, end;
	enum gt_kind kind;
	bool on_device, has_bytes;
} model_kinds[] = {
	{ GT_FN_clCreateBuffer, GT_FN_clReleaseMemObject, GT_BUFFER, true, true },
	{ GT_FN_clCreateSubBuffer, GT_FN_clReleaseMemObject, GT_SUBBUFFER, false, false },
	{ GT_FN_clSVMAlloc, GT_FN_clSVMFree, GT_SVM, true, true },
	{ GT_FN_clHostMemAllocINTEL, GT_FN_clMemFreeINTEL, GT_HOST_MEMORY, false, true },
	{ GT_FN_clDeviceMemAllocINTEL, GT_FN_clMemFreeINTEL, GT_DEVICE_MEMORY, true, true },
	{ GT_FN_clCreateUserEvent, GT_FN_clReleaseEvent, GT_EVENT, false, false },
};

enum { MODEL_KINDS = sizeof model_kinds / sizeof *model_kinds };

struct alive {
	bool is;
	uint32_t stack;
	uint64_t size;
};

struct model {
	struct alive alive[MODEL_KINDS][HANDLES];
	uint64_t created[MODEL_KINDS], ended[MODEL_KINDS];
	uint64_t peak_bytes, peak_ns;
	uint64_t bytes_at_peak[MODEL_KINDS][STACKS], live_at_peak[MODEL_KINDS][STACKS];
};

static void count_sites(const struct model *m, uint64_t bytes[MODEL_KINDS][STACKS],
			uint64_t live[MODEL_KINDS][STACKS])
{
	memset(bytes, 0, sizeof m->bytes_at_peak);
	memset(live, 0, sizeof m->live_at_peak);
	for (size_t k = 0; k < MODEL_KINDS; k++)
		for (size_t h = 0; h < HANDLES; h++)
			if (m->alive[k][h].is) {
				live[k][m->alive[k][h].stack]++;
				if (model_kinds[k].has_bytes)
					bytes[k][m->alive[k][h].stack] += m->alive[k][h].size;
			}
}

static uint64_t sum_bytes(const struct model *m, bool on_device)
{
	uint64_t sum = 0;

	for (size_t k = 0; k < MODEL_KINDS; k++)
		for (size_t h = 0; h < HANDLES; h++)
			if (m->alive[k][h].is && model_kinds[k].has_bytes &&
			    model_kinds[k].on_device == on_device)
				sum += m->alive[k][h].size;
	return sum;
}

/* One random creation or end in both. Kinds of one family use distinct handles. */
static void step(struct gt_ledger *l, struct model *m, uint64_t *seed)
{
	size_t k = random_word(seed) % MODEL_KINDS, h = random_word(seed) % HANDLES;
	struct alive *a = &m->alive[k][h];
	uint64_t handle = 0x1000 * (k + 1) + h * 8;
	struct gt_event e;

	/* in waves, so that there are many peaks and long times without one */
	if (!a->is && random_word(seed) % 16 < 4 + l->events / 5000 % 8) {
		*a = (struct alive){ true, (uint32_t)(random_word(seed) % STACKS),
				     random_word(seed) % 9999 };
		e = event_of(model_kinds[k].create, handle, a->stack, a->size);
		m->created[k]++;
	} else if (a->is) {
		a->is = false;
		e = event_of(model_kinds[k].end, handle, 99, 0);
		m->ended[k]++;
	} else {
		return;
	}
	gt_ledger_apply(l, &e, 0);
	if (sum_bytes(m, true) > m->peak_bytes) {
		m->peak_bytes = sum_bytes(m, true);
		m->peak_ns = e.time_ns;
		count_sites(m, m->bytes_at_peak, m->live_at_peak);
	}
}

static void check_sites(const struct gt_ledger *l, const struct model *m)
{
	uint64_t bytes[MODEL_KINDS][STACKS], live[MODEL_KINDS][STACKS];
	uint64_t at_peak = 0;

	count_sites(m, bytes, live);
	for (size_t k = 0; k < MODEL_KINDS; k++)
		for (uint32_t s = 0; s < STACKS; s++) {
			const struct gt_site *site = site_of(l, s, model_kinds[k].kind);

			assert_true(site || !live[k][s]);
			if (!site)
				continue;
			assert_int_equal(site->live, live[k][s]);
			assert_int_equal(site->bytes_live, bytes[k][s]);
			assert_int_equal(site->live_at_peak, m->live_at_peak[k][s]);
			assert_int_equal(site->bytes_at_peak, m->bytes_at_peak[k][s]);
			if (model_kinds[k].on_device)
				at_peak += site->bytes_at_peak;
		}
	/* who held it adds up to the peak itself */
	assert_int_equal(at_peak, l->peak_bytes);
}

static void check_tallies(const struct gt_ledger *l, const struct model *m)
{
	struct gt_tally sum = gt_ledger_total(l);
	uint64_t created = 0, ended = 0;

	for (size_t k = 0; k < MODEL_KINDS; k++) {
		const struct gt_tally *t = &l->tally[GT_OPENCL][model_kinds[k].kind];

		assert_int_equal(t->created, m->created[k]);
		assert_int_equal(t->ended, m->ended[k]);
		assert_int_equal(t->live, m->created[k] - m->ended[k]);
		created += m->created[k];
		ended += m->ended[k];
	}
	assert_int_equal(sum.created, created);
	assert_int_equal(sum.ended, ended);
	assert_int_equal(sum.live, l->live.count);
	assert_int_equal(sum.bytes_live, l->device_bytes + l->host_bytes);
}

static void the_peak_agrees_with_a_full_count(void **state)
{
	uint64_t seed = 3;

	/* ended at different moments: right after a peak, and long after one */
	for (unsigned operations = 100; operations <= OPERATIONS; operations *= 10) {
		struct gt_ledger *l = gt_ledger_new();
		struct model *m = calloc(1, sizeof *m);

		for (unsigned i = 0; i < operations; i++) {
			step(l, m, &seed);
			if (i % 1000 == 0) {
				assert_int_equal(l->device_bytes, sum_bytes(m, true));
				assert_int_equal(l->host_bytes, sum_bytes(m, false));
			}
		}
		gt_ledger_finish(l);
		assert_int_equal(l->peak_bytes, m->peak_bytes);
		assert_int_equal(l->peak_ns, m->peak_ns);
		check_sites(l, m);
		check_tallies(l, m);
		assert_int_equal(l->redundant_count, 0);
		assert_int_equal(l->unknown_ends, 0);
		assert_int_equal(l->replaced, 0);
		gt_ledger_free(l);
		free(m);
	}
}

static void the_first_of_equal_peaks_counts(void **state)
{
	struct gt_ledger *l = gt_ledger_new();
	uint64_t first_ns;

	apply(l, GT_FN_clCreateBuffer, 1, 10, 1000);
	first_ns = clock_ns - 1;
	apply(l, GT_FN_clReleaseMemObject, 1, 11, 0);
	apply(l, GT_FN_clCreateBuffer, 2, 20, 1000);
	gt_ledger_finish(l);
	assert_int_equal(l->peak_ns, first_ns);
	assert_int_equal(site_of(l, 10, GT_BUFFER)->bytes_at_peak, 1000);
	assert_int_equal(site_of(l, 20, GT_BUFFER)->bytes_at_peak, 0);
	gt_ledger_free(l);
}

static void an_ended_process_releases_its_memory_but_keeps_its_leaks(void **state)
{
	struct gt_ledger *l = gt_ledger_new();
	struct gt_event e = event_of(GT_FN_clCreateBuffer, 1, 10, 1000);

	gt_ledger_apply(l, &e, 0);
	e = event_of(GT_FN_clCreateBuffer, 1, 20, 300);
	gt_ledger_apply(l, &e, 1);
	gt_ledger_process_end(l, 0);
	assert_int_equal(l->device_bytes, 300);
	assert_int_equal(l->device_left, 1300);
	assert_int_equal(l->live.count, 2);
	assert_int_equal(l->tally[GT_OPENCL][GT_BUFFER].live, 2);
	assert_int_equal(l->tally[GT_OPENCL][GT_BUFFER].gone, 1);
	assert_int_equal(l->tally[GT_OPENCL][GT_BUFFER].bytes_gone, 1000);
	assert_true(gt_ledger_is_gone(l, gt_live_find(&l->live, 0, GT_BUFFER, 1)));
	assert_false(gt_ledger_is_gone(l, gt_live_find(&l->live, 1, GT_BUFFER, 1)));
	assert_int_equal(l->peak_bytes, 1300);
	/* a later peak is held by those who were there */
	e = event_of(GT_FN_clCreateBuffer, 2, 20, 1200);
	gt_ledger_apply(l, &e, 1);
	gt_ledger_finish(l);
	assert_int_equal(l->peak_bytes, 1500);
	assert_int_equal(l->peak_live, 2);
	assert_int_equal(site_of(l, 10, GT_BUFFER)->bytes_at_peak, 0);
	assert_int_equal(site_of(l, 20, GT_BUFFER)->bytes_at_peak, 1500);
	assert_int_equal(site_of(l, 10, GT_BUFFER)->bytes_live, 1000);
	gt_ledger_free(l);
}

static void resources_ended_with_their_owner_are_not_leaks(void **state)
{
	struct gt_ledger *l = gt_ledger_new();
	struct gt_event e = event_of(GT_FN_zeMemAllocDevice, 0x100, 10, 64);

	gt_ledger_apply(l, &e, 0);
	for (uint64_t handle = 1; handle <= 2; handle++) {
		e = event_of(GT_FN_zeMemGetIpcHandle, handle, 20, 0);
		e.owner = handle * 0x100; /* the second one's owner is not alive */
		gt_ledger_apply(l, &e, 0);
	}
	gt_ledger_finish(l);
	assert_int_equal(l->died_with_owner, 1);
	assert_int_equal(l->live.count, 2);
	assert_non_null(gt_live_find(&l->live, 0, GT_IPC_HANDLE, 1));
	assert_null(gt_live_find(&l->live, 0, GT_IPC_HANDLE, 2));
	gt_ledger_free(l);
}

static void host_memory_is_not_in_device_bytes(void **state)
{
	struct gt_ledger *l = gt_ledger_new();

	apply(l, GT_FN_clHostMemAllocINTEL, 1, 1, 1000);
	assert_int_equal(l->device_bytes, 0);
	assert_int_equal(l->host_bytes, 1000);
	assert_int_equal(l->peak_bytes, 0);
	apply(l, GT_FN_clSharedMemAllocINTEL, 2, 1, 500);
	apply(l, GT_FN_clDeviceMemAllocINTEL, 3, 1, 20);
	assert_int_equal(l->device_bytes, 520);
	assert_int_equal(l->peak_bytes, 520);
	apply(l, GT_FN_clMemFreeINTEL, 1, 2, 0);
	apply(l, GT_FN_clMemFreeINTEL, 2, 2, 0);
	assert_int_equal(l->host_bytes, 0);
	assert_int_equal(l->device_bytes, 20);
	gt_ledger_free(l);
}

static void views_have_no_bytes(void **state)
{
	struct gt_ledger *l = gt_ledger_new();

	apply(l, GT_FN_clCreateBuffer, 1, 1, 1000);
	apply(l, GT_FN_clCreateSubBuffer, 2, 1, 600);
	assert_int_equal(l->device_bytes, 1000);
	assert_int_equal(l->host_bytes, 0);
	assert_int_equal(site_of(l, 1, GT_SUBBUFFER)->bytes_live, 0);
	assert_int_equal(site_of(l, 1, GT_SUBBUFFER)->live, 1);
	apply(l, GT_FN_clReleaseMemObject, 2, 1, 0);
	assert_int_equal(l->device_bytes, 1000);
	gt_ledger_free(l);
}

static void times_and_events_match_the_recording(void **state)
{
	struct gt_ledger *l = gt_ledger_new();
	struct gt_event e = event_of(GT_FN_clCreateBuffer, 1, 10, 100);

	e.time_ns = 50;
	gt_ledger_apply(l, &e, 0);
	e = event_of(GT_FN_clReleaseMemObject, 1, 10, 0);
	e.time_ns = 40; /* nested calls come out of order */
	gt_ledger_apply(l, &e, 0);
	assert_int_equal(l->events, 2);
	assert_int_equal(l->first_ns, 50);
	assert_int_equal(l->last_ns, 50);
	assert_int_equal(l->peak_events, 1);
	assert_int_equal(l->peak_live, 1);
	gt_ledger_free(l);
}

static void freeing_null_is_allowed(void **state)
{
	gt_ledger_free(NULL);
}

static void create_in(struct gt_ledger *l, uint16_t function, uint64_t handle, uint64_t owner,
		      uint64_t size)
{
	struct gt_event e = event_of(function, handle, 1, size);

	e.owner = owner;
	gt_ledger_apply(l, &e, 0);
}

static void destroying_a_context_ends_what_it_owns(void **state)
{
	struct gt_ledger *l = gt_ledger_new();

	create_in(l, GT_FN_cuCtxCreate_v2, 0x10, 0, 0);
	create_in(l, GT_FN_cuCtxCreate_v2, 0x20, 0, 0);
	create_in(l, GT_FN_cuMemAlloc_v2, 0x100, 0x10, 4096);
	create_in(l, GT_FN_cuMemHostAlloc, 0x200, 0x10, 512);
	create_in(l, GT_FN_cuStreamCreate, 0x300, 0x10, 0);
	create_in(l, GT_FN_cuMemAlloc_v2, 0x400, 0x20, 64);
	create_in(l, GT_FN_clCreateBuffer, 0x500, 0x10, 32);
	apply(l, GT_FN_cuCtxDestroy_v2, 0x10, 2, 0);
	assert_int_equal(l->device_bytes, 96);
	assert_int_equal(l->peak_bytes, 4096 + 96);
	gt_ledger_finish(l);
	assert_int_equal(l->freed.count, 3);
	assert_int_equal(l->freed.device_bytes, 4096);
	assert_int_equal(l->freed.host_bytes, 512);
	assert_int_equal(l->live.count, 3); /* the other context, its memory, OpenCL's buffer */
	gt_ledger_free(l);
}

static void a_primary_context_ends_with_its_last_reference(void **state)
{
	struct gt_ledger *l = gt_ledger_new();

	create_in(l, GT_FN_cuDevicePrimaryCtxRetain, 0x10, 0, 0);
	create_in(l, GT_FN_cuDevicePrimaryCtxRetain, 0x10, 0, 0);
	create_in(l, GT_FN_cuMemAlloc_v2, 0x100, 0x10, 4096);
	apply(l, GT_FN_cuDevicePrimaryCtxRelease_v2, 0x10, 2, 0);
	assert_int_equal(l->device_bytes, 4096);
	apply(l, GT_FN_cuDevicePrimaryCtxRelease_v2, 0x10, 2, 0);
	assert_int_equal(l->device_bytes, 0);
	assert_int_equal(l->freed.count, 1);
	/* one release too many is no mistake: others hold references that nobody saw */
	apply(l, GT_FN_cuDevicePrimaryCtxRelease_v2, 0x10, 2, 0);
	assert_int_equal(l->redundant_count, 0);
	gt_ledger_free(l);
}

static void a_mapping_keeps_released_memory_alive(void **state)
{
	struct gt_ledger *l = gt_ledger_new();

	create_in(l, GT_FN_cuMemCreate, 0x10, 0, 4096);
	create_in(l, GT_FN_cuMemMap, 0x1000, 0x10, 4096);
	apply(l, GT_FN_cuMemRelease, 0x10, 2, 0);
	assert_int_equal(l->device_bytes, 4096);
	apply(l, GT_FN_cuMemRetainAllocationHandle, 0x10, 2, 0);
	apply(l, GT_FN_cuMemUnmap, 0x1000, 2, 0);
	assert_int_equal(l->device_bytes, 4096);
	apply(l, GT_FN_cuMemRelease, 0x10, 3, 0);
	assert_int_equal(l->device_bytes, 0);
	create_in(l, GT_FN_cuMemCreate, 0x10, 0, 100);
	create_in(l, GT_FN_cuMemMap, 0x1000, 0x10, 100);
	apply(l, GT_FN_cuMemRelease, 0x10, 2, 0);
	apply(l, GT_FN_cuMemUnmap, 0x1000, 2, 0);
	gt_ledger_finish(l);
	assert_int_equal(l->live.count, 0);
	assert_int_equal(l->redundant_count, 0);
	gt_ledger_free(l);
}

static void process_lifetime_resources_are_not_leaks(void **state)
{
	struct gt_ledger *l = gt_ledger_new();

	create_in(l, GT_FN_cuDevicePrimaryCtxRetain, 0x10, 0, 0);
	create_in(l, GT_FN_cuMemAlloc_v2, 0x100, 0x10, 4096);
	gt_ledger_finish(l);
	assert_int_equal(l->lasting.count, 1);
	assert_int_equal(gt_ledger_leaked(l).count, 1);
	assert_int_equal(gt_ledger_leaked(l).device_bytes, 4096);
	assert_int_equal(gt_ledger_total(l).live, 1);
	gt_ledger_free(l);
}

static void without_stacks_the_function_is_the_site(void **state)
{
	struct gt_ledger *l = gt_ledger_new();

	apply(l, GT_FN_clCreateBuffer, 1, 0, 100);
	apply(l, GT_FN_clCreateBufferWithProperties, 2, 0, 10);
	apply(l, GT_FN_clCreateBuffer, 3, 0, 100);
	/* with one they are the same: a frame that is cut off may have had both */
	apply(l, GT_FN_clCreateBuffer, 4, 7, 1);
	apply(l, GT_FN_clCreateBufferWithProperties, 5, 7, 1);
	assert_int_equal(l->site_count, 3);
	assert_int_equal(gt_ledger_find_site(l, 0, GT_FN_clCreateBuffer)->bytes_live, 200);
	assert_int_equal(gt_ledger_find_site(l, 0, GT_FN_clCreateBufferWithProperties)->live, 1);
	assert_int_equal(gt_ledger_find_site(l, 7, GT_FN_clCreateBufferWithProperties)->function,
			 GT_FN_clCreateBuffer);
	apply(l, GT_FN_clReleaseMemObject, 2, 0, 0);
	assert_int_equal(gt_ledger_find_site(l, 0, GT_FN_clCreateBufferWithProperties)->live, 0);
	gt_ledger_free(l);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(without_stacks_the_function_is_the_site),
		cmocka_unit_test(destroying_a_context_ends_what_it_owns),
		cmocka_unit_test(a_primary_context_ends_with_its_last_reference),
		cmocka_unit_test(a_mapping_keeps_released_memory_alive),
		cmocka_unit_test(process_lifetime_resources_are_not_leaks),
		cmocka_unit_test(the_peak_agrees_with_a_full_count),
		cmocka_unit_test(the_first_of_equal_peaks_counts),
		cmocka_unit_test(an_ended_process_releases_its_memory_but_keeps_its_leaks),
		cmocka_unit_test(resources_ended_with_their_owner_are_not_leaks),
		cmocka_unit_test(host_memory_is_not_in_device_bytes),
		cmocka_unit_test(views_have_no_bytes),
		cmocka_unit_test(times_and_events_match_the_recording),
		cmocka_unit_test(freeing_null_is_allowed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
