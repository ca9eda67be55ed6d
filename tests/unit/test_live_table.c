/* SPDX-License-Identifier: MIT */
/* test_live_table.c - the live ledger in the traced process: its counts and its memory. */
#include "base/table_memory.h"
#include "guest/guest.h"

#include <dlfcn.h>
#include <malloc.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "guest/loaded_modules.h"
#include "guest/recorder.h"
#include "tracker/meter.h"

#include "test_scratch.h"

enum { ROUNDS = 50000, GROWN = 20000, HANDLE = 0x7000, OWNER = 0x9000 };

static char csv[64];

static uint64_t clock_ns;

/* A creation with this handle, a nanosecond after the previous one. */
static struct gt_event created(enum gt_function_id function, uint64_t handle, uint64_t owner)
{
	return (struct gt_event){ .function = (uint16_t)function,
				  .handle = handle,
				  .owner = owner,
				  .time_ns = ++clock_ns,
				  .tid = 1 };
}

static enum gt_change apply(struct gt_event event)
{
	struct gt_ending replaced;

	return gt_live_table_apply(&event, &replaced);
}

static struct gt_ending end(enum gt_function_id function, uint64_t handle)
{
	struct gt_event event = created(function, handle, 0);
	struct gt_ending ending;

	gt_live_table_end(&event, &ending);
	return ending;
}

static void handles_that_come_and_go_reuse_memory(void **state)
{
	size_t before;

	(void)state;
	apply(created(GT_FN_zeMemGetIpcHandle, HANDLE, OWNER));
	end(GT_FN_zeMemPutIpcHandle, HANDLE);
	before = mallinfo2().uordblks + mallinfo2().hblkhd;
	for (int i = 0; i < ROUNDS; i++) {
		assert_int_equal(apply(created(GT_FN_zeMemGetIpcHandle, HANDLE, OWNER)),
				 GT_CHANGE_BORN);
		assert_int_equal(end(GT_FN_zeMemPutIpcHandle, HANDLE).change, GT_CHANGE_ENDED);
	}
	assert_in_range(mallinfo2().uordblks + mallinfo2().hblkhd, 0, before + (64 << 10));
}

static void only_a_table_that_grows_makes_the_tracker_read_again(void **state)
{
	struct gt_meter size;

	(void)state;
	apply(created(GT_FN_zeContextCreate, HANDLE, 0));
	end(GT_FN_zeContextDestroy, HANDLE);
	gt_meter_read(&size);
	for (int i = 0; i < 3; i++) {
		apply(created(GT_FN_zeContextCreate, HANDLE, 0));
		end(GT_FN_zeContextDestroy, HANDLE);
		assert_true(gt_meter_reuse(&size));
	}
	for (uint64_t i = 0; i < GROWN; i++)
		apply(created(GT_FN_zeContextCreate, HANDLE + i, 0));
	assert_false(gt_meter_reuse(&size));
	for (uint64_t i = 0; i < GROWN; i++)
		end(GT_FN_zeContextDestroy, HANDLE + i);
}

static void ending_an_owner_also_ends_resources_whose_end_failed(void **state)
{
	struct gt_ending ending;

	(void)state;
	apply(created(GT_FN_zeMemGetIpcHandle, HANDLE, OWNER));
	apply(created(GT_FN_zeMemGetIpcHandle, HANDLE + 1, OWNER));
	apply(created(GT_FN_zeMemGetIpcHandle, HANDLE + 2, OWNER));
	ending = end(GT_FN_zeMemPutIpcHandle, HANDLE);
	gt_live_table_restore(&ending);
	end(GT_FN_zeMemPutIpcHandle, HANDLE + 1);
	assert_int_equal(gt_live_table_end_owned(OWNER), 2);
	assert_int_equal(gt_live_table_end_owned(OWNER), 0);
	assert_int_equal(end(GT_FN_zeMemPutIpcHandle, HANDLE).change, GT_CHANGE_NONE);
}

static void a_replaced_resource_is_reported(void **state)
{
	struct gt_event first = created(GT_FN_zeMemAllocDevice, HANDLE, OWNER), second;
	struct gt_ending replaced;

	(void)state;
	first.size = 100;
	assert_int_equal(gt_live_table_apply(&first, &replaced), GT_CHANGE_BORN);
	assert_int_equal(replaced.change, GT_CHANGE_NONE);
	second = created(GT_FN_zeMemAllocDevice, HANDLE, OWNER);
	assert_int_equal(gt_live_table_apply(&second, &replaced), GT_CHANGE_REPLACED);
	assert_int_equal(replaced.change, GT_CHANGE_ENDED);
	assert_int_equal(replaced.gone.size, 100);
	end(GT_FN_zeMemFree, HANDLE);
}

static void a_retain_of_an_unknown_handle_makes_it_alive(void **state)
{
	struct gt_ending ending;

	(void)state;
	apply(created(GT_FN_clCreateContext, HANDLE, 0));
	assert_int_equal(end(GT_FN_clReleaseContext, HANDLE).change, GT_CHANGE_ENDED);
	/* a queue keeps it */
	assert_int_equal(apply(created(GT_FN_clRetainContext, HANDLE, 0)), GT_CHANGE_BORN);
	assert_int_equal(apply(created(GT_FN_clRetainContext, HANDLE, 0)), GT_CHANGE_RETAINED);
	assert_int_equal(end(GT_FN_clReleaseContext, HANDLE).change, GT_CHANGE_RELEASED);
	ending = end(GT_FN_clReleaseContext, HANDLE);
	assert_int_equal(ending.change, GT_CHANGE_ENDED);
	assert_int_equal(gt_entry_kind(&ending.gone), GT_CONTEXT);
	assert_int_equal(end(GT_FN_clReleaseContext, HANDLE).change, GT_CHANGE_UNKNOWN);
	/* the driver returns devices that nobody created */
	assert_int_equal(apply(created(GT_FN_clRetainDevice, HANDLE, 0)), GT_CHANGE_NONE);
}

/* A child may still use its parent's handles, of which the table there knows nothing. */
static void after_a_fork_an_unknown_handle_stays_unknown(void **state)
{
	(void)state;
	gt_live_table_restart(true);
	assert_int_equal(apply(created(GT_FN_clRetainContext, HANDLE, 0)), GT_CHANGE_UNKNOWN);
	gt_live_table_start(true);
	assert_int_equal(apply(created(GT_FN_clRetainContext, HANDLE, 0)), GT_CHANGE_BORN);
	end(GT_FN_clReleaseContext, HANDLE);
}

static void a_free_by_an_address_inside_a_block_ends_it(void **state)
{
	struct gt_event block = created(GT_FN_zeMemAllocShared, HANDLE, OWNER);
	struct gt_ending ending;

	(void)state;
	block.size = 4096;
	apply(block);
	assert_int_equal(end(GT_FN_zeMemFree, HANDLE + 4096).change, GT_CHANGE_UNKNOWN);
	assert_int_equal(end(GT_FN_zeMemFree, HANDLE - 1).change, GT_CHANGE_UNKNOWN);
	ending = end(GT_FN_zeMemFree, HANDLE + 4095);
	assert_int_equal(ending.change, GT_CHANGE_ENDED);
	assert_int_equal(ending.gone.handle, HANDLE);
	/* the driver refused it after all */
	gt_live_table_restore(&ending);
	assert_int_equal(end(GT_FN_zeMemFree, HANDLE).change, GT_CHANGE_ENDED);
	/* CUDA's driver refuses such an address */
	block = created(GT_FN_cuMemAlloc_v2, HANDLE, OWNER);
	block.size = 4096;
	apply(block);
	assert_int_equal(end(GT_FN_cuMemFree_v2, HANDLE + 64).change, GT_CHANGE_UNKNOWN);
	assert_int_equal(end(GT_FN_cuMemFree_v2, HANDLE).change, GT_CHANGE_ENDED);
}

/* The memory and call columns of the last row. */
static void last_row(long *call, long *bytes)
{
	char path[128], line[1024], *last;
	FILE *file;

	snprintf(path, sizeof path, "%s/a_pid%d.csv", scratch, (int)getpid());
	file = fopen(path, "r");
	while (fgets(line, sizeof line, file))
		;
	fclose(file);
	last = strrchr(line, ',');
	*call = strtol(line, NULL, 10);
	*bytes = strtol(last + 1, NULL, 10);
}

static void allocate(uint64_t address, uint64_t size)
{
	uint64_t out = address, argv[GT_ARGS_MAX] = { 0 };
	struct gt_guest_call g;

	argv[zeMemAllocDevice__size] = size;
	argv[zeMemAllocDevice__pptr] = (uint64_t)(uintptr_t)&out;
	gt_guest_begin(&g, GT_FN_zeMemAllocDevice, argv, __builtin_return_address(0));
	gt_guest_end(&g, 0, NULL);
}

/* The first one's end was not seen: only the bytes of the second are counted. */
static void memory_under_a_known_address_is_counted_once(void **state)
{
	long calls, before, bytes;

	(void)state;
	allocate(0x1000, 0);
	last_row(&calls, &before);
	allocate(HANDLE, 1000);
	last_row(&calls, &bytes);
	assert_int_equal(bytes - before, 1000);
	allocate(HANDLE, 64);
	last_row(&calls, &bytes);
	assert_int_equal(calls, 3);
	assert_int_equal(bytes - before, 64);
}

static bool is_log(void *context, const struct gt_entry *entry)
{
	(void)context;
	return gt_entry_kind(entry) == GT_BUILD_LOG;
}

static size_t count_logs(void)
{
	size_t count;

	gt_table_free(gt_live_table_snapshot(&count, is_log, NULL));
	return count;
}

/* A build that fails with an unrelated code; `filled` is what the driver writes. */
static void fail_to_build(uint64_t *log, const uint64_t *filled)
{
	uint64_t module = 0, argv[GT_ARGS_MAX] = { 0 };
	struct gt_guest_call g;

	argv[zeModuleCreate__phModule] = (uint64_t)(uintptr_t)&module;
	argv[zeModuleCreate__phBuildLog] = (uint64_t)(uintptr_t)log;
	gt_guest_begin(&g, GT_FN_zeModuleCreate, argv, __builtin_return_address(0));
	if (filled)
		*log = *filled;
	gt_guest_end(&g, 0x70000001, NULL);
}

static void a_build_log_is_recorded_only_if_the_driver_returned_one(void **state)
{
	const uint64_t handle = HANDLE, none = 0;
	uint64_t log = 0x5a5a;

	(void)state;
	fail_to_build(&log, NULL);
	assert_int_equal(log, 0x5a5a);
	assert_int_equal(count_logs(), 0);
	fail_to_build(&log, &none);
	assert_int_equal(log, 0);
	assert_int_equal(count_logs(), 0);
	/* the one that was there before, again: it was destroyed meanwhile */
	log = HANDLE;
	fail_to_build(&log, &handle);
	assert_int_equal(log, HANDLE);
	assert_int_equal(count_logs(), 1);
	end(GT_FN_zeModuleBuildLogDestroy, HANDLE);
	assert_int_equal(count_logs(), 0);
}

/* Stacks are cached even without a recording, and must not refer to unloaded code. */
static void unloaded_code_is_detected_without_a_recording(void **state)
{
	void *library;

	(void)state;
	gt_modules_unloaded();
	assert_false(gt_modules_unloaded());
	library = dlopen("libresolv.so.2", RTLD_NOW);
	if (!library)
		skip();
	dlclose(library);
	gt_recorder_tick(UINT64_MAX / 2);
	assert_false(gt_modules_unloaded());
	/* nor is that because nothing was unloaded */
	dlclose(dlopen("libresolv.so.2", RTLD_NOW));
	assert_true(gt_modules_unloaded());
}

static int start(void **state)
{
	if (make_scratch(state))
		return -1;
	snprintf(csv, sizeof csv, "%s/a.csv", scratch);
	setenv("GPUTRACK_CSV", csv, 1);
	gt_guest_start();
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(handles_that_come_and_go_reuse_memory),
		cmocka_unit_test(only_a_table_that_grows_makes_the_tracker_read_again),
		cmocka_unit_test(ending_an_owner_also_ends_resources_whose_end_failed),
		cmocka_unit_test(a_replaced_resource_is_reported),
		cmocka_unit_test(a_retain_of_an_unknown_handle_makes_it_alive),
		cmocka_unit_test(a_free_by_an_address_inside_a_block_ends_it),
		cmocka_unit_test(after_a_fork_an_unknown_handle_stays_unknown),
		cmocka_unit_test(memory_under_a_known_address_is_counted_once),
		cmocka_unit_test(unloaded_code_is_detected_without_a_recording),
		cmocka_unit_test(a_build_log_is_recorded_only_if_the_driver_returned_one),
	};

	return cmocka_run_group_tests(tests, start, remove_scratch);
}
