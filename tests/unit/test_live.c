/* SPDX-License-Identifier: MIT */
/* test_live.c - live resources, compared with a simple model. */
#include "ledger/live_index.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "test_random.h"

static struct gt_event event_of(uint16_t function, uint64_t handle)
{
	return (struct gt_event){ .function = function, .handle = handle, .time_ns = 1 };
}

static enum gt_change apply(struct gt_live *l, uint16_t function, uint64_t handle)
{
	struct gt_event e = event_of(function, handle);

	return gt_live_apply(l, &e, 0, NULL, NULL);
}

/* The model: an array over few handles, in two processes and three families. */
enum { HANDLES = 200, PROCESSES = 2, FAMILIES = 3 };

static const struct family {
	enum gt_kind kind;
	uint16_t create, retain, release, destroy;
} families[FAMILIES] = {
	{ GT_BUFFER, GT_FN_clCreateBuffer, GT_FN_clRetainMemObject, GT_FN_clReleaseMemObject, 0 },
	{ GT_EVENT, GT_FN_clCreateUserEvent, GT_FN_clRetainEvent, GT_FN_clReleaseEvent, 0 },
	{ GT_SVM, GT_FN_clSVMAlloc, 0, 0, GT_FN_clSVMFree },
};

struct model {
	uint32_t refs[PROCESSES][FAMILIES][HANDLES]; /* 0: not alive */
	struct gt_event born[PROCESSES][FAMILIES][HANDLES];
	size_t count;
};

static enum gt_change model_apply(struct model *m, size_t process, size_t family, size_t handle,
				  enum gt_effect effect)
{
	uint32_t *refs = &m->refs[process][family][handle];

	switch (effect) {
	case GT_CREATE:
		m->count += !*refs;
		*refs = 1;
		return GT_CHANGE_BORN;
	case GT_RETAIN:
		if (!*refs)
			return GT_CHANGE_UNKNOWN;
		++*refs;
		return GT_CHANGE_RETAINED;
	case GT_RELEASE:
	case GT_DESTROY:
		if (!*refs)
			return GT_CHANGE_UNKNOWN;
		*refs = effect == GT_DESTROY ? 0 : *refs - 1;
		m->count -= !*refs;
		return *refs ? GT_CHANGE_RELEASED : GT_CHANGE_ENDED;
	default: return GT_CHANGE_NONE;
	}
}

static uint64_t handle_value(size_t handle)
{
	return 0x7f0000000000 + handle * 4096;
}

/* Every handle is alive or ended, with the references and creation, as in the model. */
static void check_all(const struct gt_live *l, const struct model *m)
{
	assert_int_equal(l->count, m->count);
	for (uint16_t p = 0; p < PROCESSES; p++)
		for (size_t f = 0; f < FAMILIES; f++)
			for (size_t h = 0; h < HANDLES; h++) {
				const struct gt_entry *e =
					gt_live_find(l, p, families[f].kind, handle_value(h));
				const struct gt_event *born = &m->born[p][f][h];

				assert_true(!!e == !!m->refs[p][f][h]);
				if (!e)
					continue;
				assert_int_equal(e->refs, m->refs[p][f][h]);
				assert_int_equal(e->size, born->size);
				assert_int_equal(e->stack, born->stack);
				assert_int_equal(e->time_ns, born->time_ns);
				assert_int_equal(e->function, born->function);
				assert_int_equal(e->process, p);
			}
}

static bool count_entry(void *context, const struct gt_entry *entry)
{
	++*(size_t *)context;
	return true;
}

static void random_lifetimes_agree_with_the_model(void **state)
{
	struct gt_live l = { 0 };
	struct model *m = calloc(1, sizeof *m);
	uint64_t seed = 1;
	size_t seen = 0;

	for (uint64_t i = 0; i < 100000; i++) {
		size_t p = random_word(&seed) % PROCESSES, f = random_word(&seed) % FAMILIES;
		size_t h = random_word(&seed) % HANDLES;
		uint64_t dice = random_word(&seed) % 8;
		const struct family *family = &families[f];
		uint16_t function = dice < 3        ? family->create :
				    dice < 5        ? family->retain :
				    family->release ? family->release :
						      family->destroy;
		struct gt_event e = event_of(function, handle_value(h));
		struct gt_entry *entry, gone = { 0 };
		enum gt_change wanted, change;
		bool alive = m->refs[p][f][h];

		if (!function)
			continue;
		e.time_ns = i;
		e.size = i * 3;
		e.stack = (uint32_t)(i % 1000);
		e.failed = random_word(&seed) % 16 == 0;
		change = gt_live_apply(&l, &e, (uint16_t)p, &entry, &gone);
		if (e.failed) {
			assert_int_equal(change, GT_CHANGE_NONE);
			continue;
		}
		wanted = model_apply(m, p, f, h, (enum gt_effect)gt_functions[function].effect);
		if (wanted == GT_CHANGE_BORN && alive)
			wanted = GT_CHANGE_REPLACED;
		assert_int_equal(change, wanted);
		if (change == GT_CHANGE_ENDED || change == GT_CHANGE_REPLACED) {
			assert_int_equal(gone.handle, e.handle);
			assert_int_equal(gone.time_ns, m->born[p][f][h].time_ns);
		}
		if (change == GT_CHANGE_BORN || change == GT_CHANGE_REPLACED)
			m->born[p][f][h] = e;
		assert_true((change == GT_CHANGE_ENDED || change == GT_CHANGE_UNKNOWN) == !entry);
		if (i % 5000 == 0)
			check_all(&l, m);
	}
	check_all(&l, m);
	gt_live_each(&l, count_entry, &seen);
	assert_int_equal(seen, l.count);
	gt_live_fini(&l);
	assert_int_equal(l.count, 0);
	free(m);
}

/* In the traced process an ending is applied first, and undone if the call fails. */
static void a_failed_ending_is_undone(void **state)
{
	struct gt_live l = { 0 };
	struct gt_event create = event_of(GT_FN_clCreateBuffer, 7), release;
	struct gt_entry *entry, gone, before;
	enum gt_change change;

	create.size = 100;
	create.stack = 5;
	create.owner = 0xc0;
	gt_live_apply(&l, &create, 0, &entry, NULL);
	before = *entry;
	release = event_of(GT_FN_clReleaseMemObject, 7);
	change = gt_live_apply(&l, &release, 0, &entry, &gone);
	assert_int_equal(change, GT_CHANGE_ENDED);
	assert_int_equal(l.count, 0);
	assert_int_equal(gt_live_restore(&l, &gone, change), 0);
	entry = gt_live_find(&l, 0, GT_BUFFER, 7);
	assert_non_null(entry);
	assert_memory_equal(entry, &before, sizeof before);
	/* with a reference left, only that comes back */
	apply(&l, GT_FN_clRetainMemObject, 7);
	change = gt_live_apply(&l, &release, 0, &entry, &gone);
	assert_int_equal(change, GT_CHANGE_RELEASED);
	gone = *entry;
	assert_int_equal(gt_live_restore(&l, &gone, change), 0);
	assert_int_equal(gt_live_find(&l, 0, GT_BUFFER, 7)->refs, 2);
	assert_int_equal(l.count, 1);
	gt_live_fini(&l);
}

static void a_failed_release_of_a_resource_ended_meanwhile_restores_nothing(void **state)
{
	struct gt_live l = { 0 };
	struct gt_event release = event_of(GT_FN_clReleaseMemObject, 7);
	struct gt_entry *entry, gone;

	apply(&l, GT_FN_clCreateBuffer, 7);
	apply(&l, GT_FN_clRetainMemObject, 7);
	assert_int_equal(gt_live_apply(&l, &release, 0, &entry, &gone), GT_CHANGE_RELEASED);
	gone = *entry;
	/* another thread ends it meanwhile */
	assert_int_equal(apply(&l, GT_FN_clReleaseMemObject, 7), GT_CHANGE_ENDED);
	assert_int_equal(gt_live_restore(&l, &gone, GT_CHANGE_RELEASED), -ENOENT);
	assert_int_equal(l.count, 0);
	gt_live_fini(&l);
}

static void borrowed_handles_need_no_creation(void **state)
{
	struct gt_live l = { 0 };

	/* root devices: retained and released freely, never counted */
	assert_int_equal(apply(&l, GT_FN_clRetainDevice, 1), GT_CHANGE_NONE);
	assert_int_equal(apply(&l, GT_FN_clReleaseDevice, 1), GT_CHANGE_NONE);
	assert_int_equal(l.count, 0);
	/* a sub-device handed out twice has two references */
	assert_int_equal(apply(&l, GT_FN_clCreateSubDevices, 2), GT_CHANGE_BORN);
	assert_int_equal(apply(&l, GT_FN_clCreateSubDevices, 2), GT_CHANGE_RETAINED);
	assert_int_equal(apply(&l, GT_FN_clReleaseDevice, 2), GT_CHANGE_RELEASED);
	assert_int_equal(apply(&l, GT_FN_clReleaseDevice, 2), GT_CHANGE_ENDED);
	assert_int_equal(apply(&l, GT_FN_clReleaseDevice, 2), GT_CHANGE_NONE);
	gt_live_fini(&l);
}

static void a_handle_without_a_recorded_end_is_replaced(void **state)
{
	struct gt_live l = { 0 };
	struct gt_event first = event_of(GT_FN_clCreateBuffer, 7),
			second = event_of(GT_FN_clCreateImage, 7);
	struct gt_entry *entry, gone;

	first.size = 10;
	second.size = 20;
	gt_live_apply(&l, &first, 0, NULL, NULL);
	apply(&l, GT_FN_clRetainMemObject, 7);
	assert_int_equal(gt_live_apply(&l, &second, 0, &entry, &gone), GT_CHANGE_REPLACED);
	assert_int_equal(gone.size, 10);
	assert_int_equal(gone.refs, 2);
	assert_int_equal(entry->size, 20);
	assert_int_equal(entry->refs, 1);
	assert_int_equal(gt_entry_kind(entry), GT_IMAGE);
	assert_int_equal(l.count, 1);
	gt_live_fini(&l);
}

static void only_kinds_of_one_family_share_handles(void **state)
{
	struct gt_live l = { 0 };

	apply(&l, GT_FN_clCreateImage, 7);
	apply(&l, GT_FN_clCreateUserEvent, 7);
	apply(&l, GT_FN_clCreateContext, 7);
	assert_int_equal(l.count, 3);
	assert_int_equal(apply(&l, GT_FN_clReleaseMemObject, 7), GT_CHANGE_ENDED);
	assert_null(gt_live_find(&l, 0, GT_IMAGE, 7));
	assert_non_null(gt_live_find(&l, 0, GT_EVENT, 7));
	assert_int_equal(apply(&l, GT_FN_clReleaseMemObject, 7), GT_CHANGE_UNKNOWN);
	assert_int_equal(apply(&l, GT_FN_clReleaseEvent, 7), GT_CHANGE_ENDED);
	assert_int_equal(l.count, 1);
	gt_live_fini(&l);
}

static enum gt_change apply_at(struct gt_live *l, uint16_t function, uint64_t handle,
			       uint16_t place)
{
	struct gt_event e = event_of(function, handle);

	e.place = place;
	return gt_live_apply(l, &e, 0, NULL, NULL);
}

static void one_address_on_two_devices_is_two_blocks(void **state)
{
	const uint16_t take = GT_FN_nsysDeviceAllocation, give = GT_FN_nsysDeviceDeallocation;
	struct gt_live l = { 0 };

	assert_int_equal(apply_at(&l, take, 7, 1), GT_CHANGE_BORN);
	assert_int_equal(apply_at(&l, take, 7, 2), GT_CHANGE_BORN);
	assert_int_equal(l.count, 2);
	assert_int_equal(apply_at(&l, give, 7, 1), GT_CHANGE_ENDED);
	assert_int_equal(gt_live_find(&l, 0, GT_DEVICE_MEMORY, 7)->place, 2);
	/* the device that a free names need not be the block's */
	assert_int_equal(apply_at(&l, give, 7, 1), GT_CHANGE_ENDED);
	assert_int_equal(apply_at(&l, give, 7, 1), GT_CHANGE_UNKNOWN);
	/* most APIs' frees do not say where */
	assert_int_equal(apply_at(&l, take, 7, 2), GT_CHANGE_BORN);
	assert_int_equal(apply_at(&l, give, 7, 0), GT_CHANGE_ENDED);
	assert_int_equal(l.count, 0);
	gt_live_fini(&l);
}

/* Grace Hopper: all of it lies in one address space of 48 bits, side by side; kinds are by
 * function. */
static void one_memory_of_host_and_device_has_kinds(void **state)
{
	static const struct {
		uint16_t take, give;
		enum gt_kind kind;
	} ways[] = {
		{ GT_FN_cuMemAlloc_v2, GT_FN_cuMemFree_v2, GT_DEVICE_MEMORY },
		{ GT_FN_cuMemAllocManaged, GT_FN_cuMemFree_v2, GT_SHARED_MEMORY },
		{ GT_FN_cuMemAllocHost_v2, GT_FN_cuMemFreeHost, GT_HOST_MEMORY },
		{ GT_FN_cuMemHostRegister_v2, GT_FN_cuMemHostUnregister, GT_REGISTERED_MEMORY },
	};
	enum { WAYS = sizeof ways / sizeof *ways, EACH = 50 };
	const uint64_t low = UINT64_C(0xffff00000000), step = 65536;
	struct gt_live l = { 0 };

	for (uint64_t i = 0; i < WAYS * EACH; i++)
		assert_int_equal(apply(&l, ways[i % WAYS].take, low + i * step), GT_CHANGE_BORN);
	assert_int_equal(l.count, WAYS * EACH);
	for (uint64_t i = 0; i < WAYS * EACH; i++) {
		const struct gt_entry *entry =
			gt_live_find(&l, 0, ways[i % WAYS].kind, low + i * step);

		assert_non_null(entry);
		assert_int_equal(gt_entry_kind(entry), ways[i % WAYS].kind);
		assert_int_equal(apply(&l, ways[i % WAYS].give, low + i * step), GT_CHANGE_ENDED);
	}
	assert_int_equal(l.count, 0);
	gt_live_fini(&l);
}

static void an_empty_ledger_is_empty_and_allocates_nothing(void **state)
{
	struct gt_live l = { 0 };
	size_t seen = 0;

	assert_int_equal(apply(&l, GT_FN_clReleaseMemObject, 7), GT_CHANGE_UNKNOWN);
	assert_int_equal(apply(&l, GT_FN_clRetainMemObject, 7), GT_CHANGE_UNKNOWN);
	assert_null(gt_live_find(&l, 0, GT_BUFFER, 7));
	gt_live_each(&l, count_entry, &seen);
	assert_int_equal(seen, 0);
	assert_int_equal(gt_live_bytes(&l), 0);
	gt_live_fini(&l);
}

static void unfinished_calls_change_nothing(void **state)
{
	struct gt_live l = { 0 };
	struct gt_event e = event_of(GT_FN_clReleaseMemObject, 7);

	apply(&l, GT_FN_clCreateBuffer, 7);
	e.unfinished = 1;
	assert_int_equal(gt_live_apply(&l, &e, 0, NULL, NULL), GT_CHANGE_NONE);
	assert_int_equal(l.count, 1);
	gt_live_fini(&l);
}

static void a_place_number_out_of_range_is_unknown(void **state)
{
	struct gt_live l = { 0 };
	struct gt_event e = event_of(GT_FN_clCreateBuffer, 7);
	struct gt_entry *entry;

	e.place = 63;
	gt_live_apply(&l, &e, 0, &entry, NULL);
	assert_int_equal(entry->place, 63);
	e.place = 64;
	gt_live_apply(&l, &e, 0, &entry, NULL);
	assert_int_equal(entry->place, 0);
	assert_int_equal(entry->function, GT_FN_clCreateBuffer);
	gt_live_fini(&l);
}

static void slots_are_small_distinct_and_reused(void **state)
{
	enum { COUNT = 3000 };
	struct gt_live l = { 0 };
	bool used[COUNT] = { false };

	for (int round = 0; round < 3; round++) {
		memset(used, 0, sizeof used);
		for (uint64_t h = 1; h <= COUNT; h++)
			apply(&l, GT_FN_clCreateUserEvent, h << round);
		for (uint64_t h = 1; h <= COUNT; h++) {
			uint32_t slot = gt_live_slot(&l, gt_live_find(&l, 0, GT_EVENT, h << round));

			assert_true(slot < COUNT && !used[slot]);
			used[slot] = true;
		}
		for (uint64_t h = 1; h <= COUNT; h++)
			assert_int_equal(apply(&l, GT_FN_clReleaseEvent, h << round),
					 GT_CHANGE_ENDED);
	}
	assert_int_equal(l.count, 0);
	gt_live_fini(&l);
}

static bool stop_at_ten(void *context, const struct gt_entry *entry)
{
	return ++*(size_t *)context < 10;
}

static void a_walk_can_be_stopped_early(void **state)
{
	struct gt_live l = { 0 };
	size_t seen = 0;

	for (uint64_t h = 1; h < 100; h++)
		apply(&l, GT_FN_clCreateUserEvent, h);
	gt_live_each(&l, stop_at_ten, &seen);
	assert_int_equal(seen, 10);
	gt_live_fini(&l);
}

static void a_live_handle_costs_at_most_64_bytes(void **state)
{
	enum { MILLION = 1000000 };
	struct gt_live l = { 0 };

	for (uint64_t h = 1; h <= MILLION; h++)
		assert_int_equal(apply(&l, GT_FN_clCreateUserEvent, 0x555500000000 + h * 192),
				 GT_CHANGE_BORN);
	assert_int_equal(l.count, MILLION);
	assert_true(gt_live_bytes(&l) <= (size_t)64 * MILLION);
	for (uint64_t h = 1; h <= MILLION; h += 999)
		assert_non_null(gt_live_find(&l, 0, GT_EVENT, 0x555500000000 + h * 192));
	gt_live_fini(&l);
}

/* With so many handles, some collide in both hashes of a table of 64 places. */
enum { FIRST = 4 }; /* buckets of the smallest index */

/* The next number after `handle` whose hash begins in this bucket of the smallest index. */
static uint64_t next_of_bucket(uint64_t handle, size_t bucket)
{
	do
		handle++;
	while (gt_live_first_bucket(&(struct gt_live){ .bucket_count = FIRST },
				    gt_handle_hash(0, GT_EVENT, handle)) != bucket);
	return handle;
}

static void handles_that_belong_to_one_bucket_are_found_in_the_next_ones(void **state)
{
	enum { COUNT = FIRST * 9 };
	struct gt_live l = { 0 };
	uint64_t handles[COUNT], handle = 0;
	size_t passed = 0;

	for (size_t i = 0; i < COUNT; i++) {
		handles[i] = handle = next_of_bucket(handle, 3);
		assert_int_equal(apply(&l, GT_FN_clCreateUserEvent, handle), GT_CHANGE_BORN);
	}
	assert_int_equal(l.bucket_count, FIRST);
	for (size_t i = 0; i < COUNT; i++)
		assert_non_null(gt_live_find(&l, 0, GT_EVENT, handles[i]));
	assert_null(gt_live_find(&l, 0, GT_EVENT, next_of_bucket(handle, 3)));
	/* the first ones lie in their own bucket: others are found behind the room that they leave
	 */
	for (size_t i = 0; i < COUNT; i++) {
		assert_int_equal(apply(&l, GT_FN_clReleaseEvent, handles[i]), GT_CHANGE_ENDED);
		assert_null(gt_live_find(&l, 0, GT_EVENT, handles[i]));
		for (size_t k = i + 1; k < COUNT; k++)
			assert_non_null(gt_live_find(&l, 0, GT_EVENT, handles[k]));
	}
	for (size_t i = 0; i < l.bucket_count; i++)
		passed += l.buckets[i].passed;
	assert_int_equal(passed, 0);
	gt_live_fini(&l);
}

static void a_search_ends_where_every_bucket_was_passed(void **state)
{
	struct gt_live l = { 0 };
	uint64_t handle = 0;

	for (size_t i = 0; i < 30; i++)
		apply(&l, GT_FN_clCreateUserEvent, handle = next_of_bucket(handle, 0));
	/* as if others had passed the rest, too */
	for (size_t i = 0; i < l.bucket_count; i++)
		l.buckets[i].passed++;
	assert_null(gt_live_find(&l, 0, GT_EVENT, next_of_bucket(handle, 0)));
	assert_int_equal(apply(&l, GT_FN_clCreateUserEvent, next_of_bucket(handle, 0)),
			 GT_CHANGE_BORN);
	gt_live_fini(&l);
}

static void the_same_handle_in_another_process_is_another_resource(void **state)
{
	struct gt_live l = { 0 };

	(void)state;
	for (uint64_t handle = 1; handle <= 200000; handle++) {
		struct gt_event born = event_of(GT_FN_clCreateUserEvent, handle);
		struct gt_event over = event_of(GT_FN_clReleaseEvent, handle);

		for (uint16_t process = 1; process <= 2; process++)
			assert_int_equal(gt_live_apply(&l, &born, process, NULL, NULL),
					 GT_CHANGE_BORN);
		for (uint16_t process = 1; process <= 2; process++)
			assert_int_equal(gt_live_apply(&l, &over, process, NULL, NULL),
					 GT_CHANGE_ENDED);
	}
	gt_live_fini(&l);
}

static void processes_that_come_and_go_reuse_memory(void **state)
{
	struct gt_live l = { 0 };

	(void)state;
	for (uint16_t process = 0; process < 1000; process++)
		for (int part = 0; part < 2; part++)
			for (uint64_t handle = 1; handle <= 10; handle++) {
				struct gt_event e = event_of(part ? GT_FN_clReleaseEvent :
								    GT_FN_clCreateUserEvent,
							     handle);

				gt_live_apply(&l, &e, process, NULL, NULL);
			}
	assert_int_equal(l.count, 0);
	assert_int_equal(l.chunk_count, 1);
	gt_live_fini(&l);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(random_lifetimes_agree_with_the_model),
		cmocka_unit_test(a_failed_ending_is_undone),
		cmocka_unit_test(a_failed_release_of_a_resource_ended_meanwhile_restores_nothing),
		cmocka_unit_test(borrowed_handles_need_no_creation),
		cmocka_unit_test(a_handle_without_a_recorded_end_is_replaced),
		cmocka_unit_test(only_kinds_of_one_family_share_handles),
		cmocka_unit_test(one_address_on_two_devices_is_two_blocks),
		cmocka_unit_test(one_memory_of_host_and_device_has_kinds),
		cmocka_unit_test(an_empty_ledger_is_empty_and_allocates_nothing),
		cmocka_unit_test(unfinished_calls_change_nothing),
		cmocka_unit_test(a_place_number_out_of_range_is_unknown),
		cmocka_unit_test(slots_are_small_distinct_and_reused),
		cmocka_unit_test(handles_that_belong_to_one_bucket_are_found_in_the_next_ones),
		cmocka_unit_test(a_search_ends_where_every_bucket_was_passed),
		cmocka_unit_test(the_same_handle_in_another_process_is_another_resource),
		cmocka_unit_test(processes_that_come_and_go_reuse_memory),
		cmocka_unit_test(a_walk_can_be_stopped_early),
		cmocka_unit_test(a_live_handle_costs_at_most_64_bytes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
