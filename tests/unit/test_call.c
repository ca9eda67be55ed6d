/* SPDX-License-Identifier: MIT */
/* test_call.c - calls become the right events, and only those. */
#include <string.h>

#include "taken_events.h"

enum { STACK = 77, TID = 4711 };

static struct gt_call call_of(enum gt_function_id function, const uint64_t *argv, uint64_t ret)
{
	return (struct gt_call){ .function = function,
				 .argv = argv,
				 .ret = ret,
				 .begun_ns = BEGUN,
				 .ended_ns = ENDED,
				 .stack = STACK,
				 .tid = TID };
}

static struct taken events_of(enum gt_function_id function, const uint64_t *argv, uint64_t ret,
			      const struct gt_call_door *door)
{
	struct gt_call call = call_of(function, argv, ret);
	struct taken t = { .count = 0 };

	gt_call_events(&call, door, take, &t);
	for (size_t i = 0; i < t.count; i++) {
		assert_int_equal(t.events[i].stack, STACK);
		assert_int_equal(t.events[i].tid, TID);
		assert_false(t.events[i].unfinished);
	}
	return t;
}

static struct taken endings_of(enum gt_function_id function, const uint64_t *argv)
{
	struct gt_call call = call_of(function, argv, 0);
	struct taken t = { .count = 0 };

	gt_call_endings(&call, take, &t);
	return t;
}

/* Answers of a driver. */
static uint64_t driver_size(const struct gt_call *call, enum gt_function_id row, uint64_t handle)
{
	return handle + 5;
}

static uint32_t driver_count(const struct gt_call *call, enum gt_function_id row)
{
	return 2;
}

static uint16_t driver_place(const struct gt_call *call, enum gt_function_id row, uint64_t handle)
{
	return 3;
}

static const struct gt_call_door driver = { .size = driver_size,
					    .count = driver_count,
					    .place = driver_place };

static void a_handle_in_the_return_value_is_created(void **state)
{
	uint64_t argv[GT_ARGS_MAX] = {
		[clCreateBuffer__context] = 0xc0, [clCreateBuffer__size] = 4096
	};
	struct taken t = events_of(GT_FN_clCreateBuffer, argv, 0xb0, &driver);

	assert_int_equal(t.count, 1);
	assert_int_equal(t.events[0].function, GT_FN_clCreateBuffer);
	assert_int_equal(t.events[0].handle, 0xb0);
	assert_int_equal(t.events[0].size, 4096);
	assert_int_equal(t.events[0].owner, 0xc0);
	assert_int_equal(t.events[0].place, 3);
	assert_false(t.events[0].failed);
}

static void a_handle_passed_as_an_argument_is_retained_or_ended(void **state)
{
	uint64_t argv[GT_ARGS_MAX] = { [clRetainMemObject__memobj] = 0xb0 };
	struct taken t = events_of(GT_FN_clRetainMemObject, argv, 0, &driver);

	assert_int_equal(t.count, 1);
	assert_int_equal(t.events[0].handle, 0xb0);
	t = events_of(GT_FN_clReleaseMemObject, argv, 0, &driver);
	assert_int_equal(t.count, 1);
	assert_int_equal(t.events[0].handle, 0xb0);
	/* only creations have these */
	assert_int_equal(t.events[0].size, 0);
	assert_int_equal(t.events[0].owner, 0);
	assert_int_equal(t.events[0].place, 0);
}

static void a_handle_behind_a_pointer_is_read_after_the_call(void **state)
{
	uint64_t event = 0xe0;
	uint64_t argv[GT_ARGS_MAX] = {
		[clEnqueueMarker__command_queue] = 0x90, [clEnqueueMarker__event] = word(&event)
	};
	struct taken t = events_of(GT_FN_clEnqueueMarker, argv, 0, NULL);

	assert_int_equal(t.count, 1);
	assert_int_equal(t.events[0].handle, 0xe0);
	assert_int_equal(t.events[0].owner, 0x90);
	argv[clEnqueueMarker__event] = 0;
	assert_int_equal(events_of(GT_FN_clEnqueueMarker, argv, 0, NULL).count, 0);
}

static void an_out_handle_is_read_even_if_the_result_is_another_pointer(void **state)
{
	uint64_t event = 0xe0;
	uint64_t argv[GT_ARGS_MAX] = { [clEnqueueMapBuffer__event] = word(&event) };
	struct taken t = events_of(GT_FN_clEnqueueMapBuffer, argv, 0xadd0, NULL);

	assert_int_equal(t.count, 1);
	assert_int_equal(t.events[0].handle, 0xe0);
}

static void an_output_array_yields_as_many_handles_as_the_call_returned(void **state)
{
	uint64_t kernels[] = { 0x11, 0x12, 0x13, 0xbad };
	uint32_t count = 3;
	uint64_t argv[GT_ARGS_MAX] = { [clCreateKernelsInProgram__program] = 0xf0,
				       [clCreateKernelsInProgram__num_kernels] = 4,
				       [clCreateKernelsInProgram__kernels] = word(kernels),
				       [clCreateKernelsInProgram__num_kernels_ret] = word(&count) };
	struct taken t = events_of(GT_FN_clCreateKernelsInProgram, argv, 0, &driver);

	assert_int_equal(t.count, 3);
	for (size_t i = 0; i < 3; i++) {
		assert_int_equal(t.events[i].handle, kernels[i]);
		assert_int_equal(t.events[i].owner, 0xf0);
	}
}

static void an_output_array_without_a_count_asks_the_driver(void **state)
{
	uint64_t devices[] = { 0x21, 0x22, 0xbad };
	uint64_t argv[GT_ARGS_MAX] = { [clCreateSubDevices__in_device] = 0xd0,
				       [clCreateSubDevices__num_devices] = 3,
				       [clCreateSubDevices__out_devices] = word(devices) };
	struct taken t = events_of(GT_FN_clCreateSubDevices, argv, 0, &driver);

	assert_int_equal(t.count, 2);
	assert_int_equal(t.events[1].handle, 0x22);
	assert_int_equal(events_of(GT_FN_clCreateSubDevices, argv, 0, NULL).count, 0);
}

static void querying_only_the_count_creates_nothing(void **state)
{
	uint32_t count = 5;
	uint64_t argv[GT_ARGS_MAX] = { [clCreateSubDevices__num_devices_ret] = word(&count) };

	assert_int_equal(events_of(GT_FN_clCreateSubDevices, argv, 0, &driver).count, 0);
	assert_true(gt_call_is_idle(GT_FN_clCreateSubDevices, argv));
}

static void a_garbage_count_reads_nothing(void **state)
{
	uint64_t kernels[] = { 0x11 };
	uint32_t count = UINT32_MAX;
	uint64_t argv[GT_ARGS_MAX] = { [clCreateKernelsInProgram__kernels] = word(kernels),
				       [clCreateKernelsInProgram__num_kernels_ret] = word(&count) };

	assert_int_equal(events_of(GT_FN_clCreateKernelsInProgram, argv, 0, NULL).count, 0);
}

/* clEnqueueSVMFree of two pointers. */
struct svm_free {
	uint64_t pointers[2], event, argv[GT_ARGS_MAX];
};

static void fill_svm_free(struct svm_free *s)
{
	*s = (struct svm_free){ .pointers = { 0x51, 0x52 }, .event = 0xe0 };
	s->argv[clEnqueueSVMFree__command_queue] = 0x90;
	s->argv[clEnqueueSVMFree__num_svm_pointers] = 2;
	s->argv[clEnqueueSVMFree__svm_pointers] = word(s->pointers);
	s->argv[clEnqueueSVMFree__event] = word(&s->event);
}

static void freeing_two_pointers_ends_both_and_creates_an_event(void **state)
{
	struct svm_free s;
	struct taken t;

	fill_svm_free(&s);
	t = events_of(GT_FN_clEnqueueSVMFree, s.argv, 0, NULL);
	assert_int_equal(t.count, 3);
	for (size_t i = 0; i < 2; i++) {
		assert_int_equal(t.events[i].function, GT_FN_clEnqueueSVMFree);
		assert_int_equal(t.events[i].handle, s.pointers[i]);
		assert_int_equal(t.events[i].time_ns, BEGUN);
	}
	assert_int_equal(t.events[2].function, GT_FN_clEnqueueSVMFree__also);
	assert_int_equal(t.events[2].handle, 0xe0);
	assert_int_equal(t.events[2].owner, 0x90);
	assert_int_equal(t.events[2].time_ns, ENDED);
	t = endings_of(GT_FN_clEnqueueSVMFree, s.argv);
	assert_int_equal(t.count, 2);
	assert_int_equal(t.events[1].handle, 0x52);
}

static void with_a_callback_nothing_is_freed_but_the_event_is_created(void **state)
{
	struct svm_free s;
	struct taken t;

	fill_svm_free(&s);
	s.argv[clEnqueueSVMFree__pfn_free_func] = 0xf00;
	t = events_of(GT_FN_clEnqueueSVMFree, s.argv, 0, NULL);
	assert_int_equal(t.count, 1);
	assert_int_equal(t.events[0].function, GT_FN_clEnqueueSVMFree__also);
	assert_int_equal(endings_of(GT_FN_clEnqueueSVMFree, s.argv).count, 0);
	assert_false(gt_call_is_idle(GT_FN_clEnqueueSVMFree, s.argv));
	s.argv[clEnqueueSVMFree__event] = 0;
	assert_true(gt_call_is_idle(GT_FN_clEnqueueSVMFree, s.argv));
}

static void a_failed_free_of_two_pointers_names_both_and_creates_no_event(void **state)
{
	struct svm_free s;
	struct taken t;

	fill_svm_free(&s);
	t = events_of(GT_FN_clEnqueueSVMFree, s.argv, (uint64_t)-36, NULL);
	assert_int_equal(t.count, 2);
	for (size_t i = 0; i < 2; i++) {
		assert_int_equal(t.events[i].function, GT_FN_clEnqueueSVMFree);
		assert_int_equal(t.events[i].handle, s.pointers[i]);
		assert_true(t.events[i].failed);
		assert_int_equal(t.events[i].result, -36);
	}
}

static struct taken filled_events_of(enum gt_function_id function, const uint64_t *argv,
				     uint64_t ret, enum gt_filled filled)
{
	struct gt_call call = { .function = function, .argv = argv, .ret = ret, .filled = filled };
	struct taken t = { .count = 0 };

	gt_call_events(&call, NULL, take, &t);
	return t;
}

/* A second effect that failed calls have too: the log of a failed build. */
static void a_failed_build_fails_and_returns_its_log(void **state)
{
	enum { BUILD_FAILURE = 0x70000004, OTHER_FAILURE = 0x78000004 };
	uint64_t module = 0, log = 0x109;
	uint64_t argv[GT_ARGS_MAX] = { [zeModuleCreate__hContext] = 0xc0,
				       [zeModuleCreate__phModule] = word(&module),
				       [zeModuleCreate__phBuildLog] = word(&log) };
	struct taken t = events_of(GT_FN_zeModuleCreate, argv, BUILD_FAILURE, NULL);

	assert_int_equal(t.count, 2);
	assert_int_equal(t.events[0].function, GT_FN_zeModuleCreate);
	assert_true(t.events[0].failed);
	assert_int_equal(t.events[1].function, GT_FN_zeModuleCreate__also);
	assert_false(t.events[1].failed);
	assert_int_equal(t.events[1].handle, 0x109);
	assert_int_equal(t.events[1].result, 0);
	/* any other error has one story, unless the log is known to have been handed out */
	t = events_of(GT_FN_zeModuleCreate, argv, OTHER_FAILURE, NULL);
	assert_int_equal(t.count, 1);
	assert_true(t.events[0].failed);
	t = filled_events_of(GT_FN_zeModuleCreate, argv, OTHER_FAILURE, GT_FILLED_IN);
	assert_int_equal(t.count, 2);
	assert_int_equal(t.events[1].handle, 0x109);
	assert_int_equal(
		filled_events_of(GT_FN_zeModuleCreate, argv, BUILD_FAILURE, GT_FILLED_NOT).count,
		1);
	module = 0x30d;
	assert_int_equal(events_of(GT_FN_zeModuleCreate, argv, 0, NULL).count, 2);
	assert_int_equal(filled_events_of(GT_FN_zeModuleCreate, argv, 0, GT_FILLED_NOT).count, 1);
	argv[zeModuleCreate__phBuildLog] = 0;
	assert_int_equal(events_of(GT_FN_zeModuleCreate, argv, 0, NULL).count, 1);
}

static void a_failed_link_returns_its_log_too(void **state)
{
	enum { LINK_FAILURE = 0x70000005, OTHER_FAILURE = 0x78000004 };
	uint64_t modules[] = { 0x30d }, log = 0x109;
	uint64_t argv[GT_ARGS_MAX] = { [zeModuleDynamicLink__numModules] = 1,
				       [zeModuleDynamicLink__phModules] = word(modules),
				       [zeModuleDynamicLink__phLinkLog] = word(&log) };
	struct taken t = events_of(GT_FN_zeModuleDynamicLink, argv, LINK_FAILURE, NULL);

	assert_int_equal(t.count, 2);
	assert_true(t.events[0].failed);
	assert_false(t.events[1].failed);
	assert_int_equal(t.events[1].handle, 0x109);
	assert_int_equal(t.events[1].owner, 0x30d);
	assert_int_equal(events_of(GT_FN_zeModuleDynamicLink, argv, 0, NULL).count, 1);
	assert_int_equal(events_of(GT_FN_zeModuleDynamicLink, argv, OTHER_FAILURE, NULL).count, 1);
}

static void a_size_in_a_struct_is_read_at_its_offset(void **state)
{
	uint64_t handle = 0x9e, desc[4] = { 1, 2, 3, 65536 };
	uint64_t argv[GT_ARGS_MAX] = { [zePhysicalMemCreate__desc] = word(desc),
				       [zePhysicalMemCreate__phPhysicalMemory] = word(&handle) };

	assert_int_equal(events_of(GT_FN_zePhysicalMemCreate, argv, 0, NULL).events[0].size, 65536);
	argv[zePhysicalMemCreate__desc] = 0;
	assert_int_equal(events_of(GT_FN_zePhysicalMemCreate, argv, 0, NULL).events[0].size, 0);
}

static void null_handles_produce_no_event(void **state)
{
	uint64_t none = 0, pointers[] = { 0, 0x52, 0 };
	uint64_t argv[GT_ARGS_MAX] = { 0 };

	assert_int_equal(events_of(GT_FN_clReleaseMemObject, argv, 0, NULL).count, 0);
	assert_int_equal(events_of(GT_FN_clRetainMemObject, argv, 0, NULL).count, 0);
	assert_int_equal(events_of(GT_FN_clSVMFree, argv, 0, NULL).count, 0);
	assert_int_equal(endings_of(GT_FN_clSVMFree, argv).count, 0);
	argv[clEnqueueMarker__event] = word(&none);
	assert_int_equal(events_of(GT_FN_clEnqueueMarker, argv, 0, NULL).count, 0);
	memset(argv, 0, sizeof argv);
	argv[clEnqueueSVMFree__num_svm_pointers] = 3;
	argv[clEnqueueSVMFree__svm_pointers] = word(pointers);
	assert_int_equal(events_of(GT_FN_clEnqueueSVMFree, argv, 0, NULL).count, 1);
}

static void calls_that_cannot_produce_an_event_are_idle(void **state)
{
	uint64_t event, argv[GT_ARGS_MAX] = { 0 };

	assert_true(gt_call_is_idle(GT_FN_clReleaseMemObject, argv));
	assert_true(gt_call_is_idle(GT_FN_clSVMFree, argv));
	assert_true(gt_call_is_idle(GT_FN_clEnqueueNDRangeKernel, argv));
	argv[clEnqueueNDRangeKernel__event] = word(&event);
	assert_false(gt_call_is_idle(GT_FN_clEnqueueNDRangeKernel, argv));
	memset(argv, 0, sizeof argv);
	argv[clReleaseMemObject__memobj] = 1;
	assert_false(gt_call_is_idle(GT_FN_clReleaseMemObject, argv));
	/* what is in the result cannot be known before */
	memset(argv, 0, sizeof argv);
	assert_false(gt_call_is_idle(GT_FN_clCreateBuffer, argv));
}

static void a_call_with_a_second_effect_is_not_idle(void **state)
{
	struct svm_free s;

	fill_svm_free(&s);
	s.argv[clEnqueueSVMFree__event] = 0;
	assert_false(gt_call_is_idle(GT_FN_clEnqueueSVMFree, s.argv));
	s.argv[clEnqueueSVMFree__svm_pointers] = 0;
	assert_true(gt_call_is_idle(GT_FN_clEnqueueSVMFree, s.argv));
	s.argv[clEnqueueSVMFree__event] = word(&s.event);
	assert_false(gt_call_is_idle(GT_FN_clEnqueueSVMFree, s.argv));
}

static void success_is_decided_by_the_rule_of_the_function(void **state)
{
	uint64_t argv[GT_ARGS_MAX] = { 0 };
	struct gt_call status = call_of(GT_FN_clReleaseMemObject, argv, 0);
	struct gt_call handle = call_of(GT_FN_clCreateBuffer, argv, 0);
	struct gt_call nothing = call_of(GT_FN_clSVMFree, argv, 0);

	assert_true(gt_call_succeeded(&status));
	status.ret = (uint64_t)-38;
	assert_false(gt_call_succeeded(&status));
	/* a 32-bit result: what lies above it in the register means nothing */
	status.ret = 0xdeadbeef00000000;
	assert_true(gt_call_succeeded(&status));
	assert_false(gt_call_succeeded(&handle));
	handle.ret = 1;
	assert_true(gt_call_succeeded(&handle));
	assert_true(gt_call_succeeded(&nothing));
	nothing.ret = 0xdead;
	assert_true(gt_call_succeeded(&nothing));
}

static void a_failed_creation_records_what_was_requested(void **state)
{
	uint64_t event = 0xbad;
	uint64_t argv[GT_ARGS_MAX] = {
		[clCreateBuffer__context] = 0xc0, [clCreateBuffer__size] = 1 << 30
	};
	struct taken t = events_of(GT_FN_clCreateBuffer, argv, 0, &driver);

	assert_int_equal(t.count, 1);
	assert_true(t.events[0].failed);
	assert_int_equal(t.events[0].handle, 0);
	assert_int_equal(t.events[0].size, 1 << 30);
	assert_int_equal(t.events[0].owner, 0xc0);
	assert_int_equal(t.events[0].result, 0);
	memset(argv, 0, sizeof argv);
	argv[clEnqueueMarker__event] = word(&event);
	t = events_of(GT_FN_clEnqueueMarker, argv, (uint64_t)-5, NULL);
	assert_int_equal(t.count, 1);
	assert_true(t.events[0].failed);
	assert_int_equal(t.events[0].handle, 0);
	assert_int_equal(t.events[0].result, -5);
}

static void a_failed_creation_records_the_error_code_its_caller_got(void **state)
{
	int32_t codes[] = { -61, 0x7ead };
	uint64_t event = 0xbad;
	uint64_t argv[GT_ARGS_MAX] = { [clCreateBuffer__errcode_ret] = word(codes) };
	struct taken t = events_of(GT_FN_clCreateBuffer, argv, 0, &driver);

	assert_int_equal(t.events[0].result, -61);
	assert_true(gt_event_has_result(&t.events[0]));
	/* a code is told of failures alone */
	assert_int_equal(events_of(GT_FN_clCreateBuffer, argv, 0xb0, &driver).events[0].result, 0);
	/* where the result is another pointer, too */
	memset(argv, 0, sizeof argv);
	argv[clEnqueueMapBuffer__event] = word(&event);
	argv[clEnqueueMapBuffer__errcode_ret] = word(codes);
	assert_int_equal(events_of(GT_FN_clEnqueueMapBuffer, argv, 0, NULL).events[0].result, -61);
}

static void an_error_code_the_caller_did_not_request_is_unknown(void **state)
{
	uint64_t argv[GT_ARGS_MAX] = { 0 };
	struct taken t = events_of(GT_FN_clCreateBuffer, argv, 0, &driver);

	assert_true(t.events[0].failed);
	assert_false(gt_event_has_result(&t.events[0]));
	/* and a function that has none to give */
	t = events_of(GT_FN_clSVMAlloc, argv, 0, &driver);
	assert_true(t.events[0].failed);
	assert_false(gt_event_has_result(&t.events[0]));
	t = events_of(GT_FN_clSVMAlloc, argv, 0x5e, &driver);
	assert_true(gt_event_has_result(&t.events[0]));
	t.events[0].unfinished = 1;
	assert_false(gt_event_has_result(&t.events[0]));
}

static void a_failed_release_or_retain_names_its_handle(void **state)
{
	uint64_t argv[GT_ARGS_MAX] = { [clReleaseMemObject__memobj] = 0xb0 };
	struct taken t = events_of(GT_FN_clReleaseMemObject, argv, (uint64_t)-38, NULL);

	assert_int_equal(t.count, 1);
	assert_true(t.events[0].failed);
	assert_int_equal(t.events[0].handle, 0xb0);
	assert_int_equal(t.events[0].result, -38);
	t = events_of(GT_FN_clRetainMemObject, argv, (uint64_t)-38, NULL);
	assert_int_equal(t.count, 1);
	assert_true(t.events[0].failed);
	assert_int_equal(t.events[0].handle, 0xb0);
}

static void ends_use_the_start_time_and_other_calls_the_return_time(void **state)
{
	uint64_t argv[GT_ARGS_MAX] = { 0xb0, 0xb0 };

	assert_int_equal(events_of(GT_FN_clReleaseMemObject, argv, 0, NULL).events[0].time_ns,
			 BEGUN);
	assert_int_equal(events_of(GT_FN_clSVMFree, argv, 0, NULL).events[0].time_ns, BEGUN);
	assert_int_equal(events_of(GT_FN_clRetainMemObject, argv, 0, NULL).events[0].time_ns,
			 ENDED);
	assert_int_equal(events_of(GT_FN_clCreateBuffer, argv, 1, NULL).events[0].time_ns, ENDED);
	assert_int_equal(events_of(GT_FN_clReleaseMemObject, argv, 1, NULL).events[0].time_ns,
			 BEGUN);
}

/* Thread A destroys while thread B creates, and the driver reuses the handle at once. */
static void a_destroy_sorts_before_the_create_that_reuses_its_handle(void **state)
{
	uint64_t argv[GT_ARGS_MAX] = { 0xb0 };
	struct gt_call destroy = call_of(GT_FN_clReleaseMemObject, argv, 0);
	struct gt_call create = call_of(GT_FN_clCreateBuffer, argv, 0xb0);
	struct taken t = { .count = 0 };

	destroy.begun_ns = 100;
	create.begun_ns = 50;
	create.ended_ns = 200;
	destroy.ended_ns = 300;
	gt_call_events(&destroy, NULL, take, &t);
	gt_call_events(&create, NULL, take, &t);
	assert_true(t.events[0].time_ns < t.events[1].time_ns);
}

static void a_size_only_the_driver_knows_is_queried(void **state)
{
	uint64_t argv[GT_ARGS_MAX] = { 0xc0 };

	assert_int_equal(events_of(GT_FN_clCreateImage, argv, 0x1a, &driver).events[0].size,
			 0x1a + 5);
	assert_int_equal(events_of(GT_FN_clCreateImage, argv, 0x1a, NULL).events[0].size, 0);
	/* nobody asks about what does not exist */
	assert_int_equal(events_of(GT_FN_clCreateImage, argv, 0, &driver).events[0].size, 0);
}

/* Intel's driver without hardware fills all of them with zeros. */
static void an_ipc_handle_of_zeros_is_known_by_its_memory(void **state)
{
	const uint64_t zeros[8] = { 0 }, some[8] = { 0x55 };
	const uint64_t argv[] = { 0xc0, 0x10000, word(zeros) },
		       named[] = { 0xc0, 0x10000, word(some) };
	struct taken t = events_of(GT_FN_zeMemGetIpcHandle, argv, 0, NULL);

	(void)state;
	assert_int_equal(t.count, 1);
	assert_int_equal(t.events[0].owner, 0x10000);
	assert_int_equal(t.events[0].handle, UINT64_C(1) << 63 | 0x10000);
	assert_int_equal(events_of(GT_FN_zeMemGetIpcHandle, named, 0, NULL).events[0].handle, 0x55);
	/* any other handle of zeros is none */
	assert_int_equal(events_of(GT_FN_zeContextCreate, argv, 0, NULL).count, 0);
}

static void an_owner_may_be_the_first_element_of_an_array(void **state)
{
	uint64_t queues[] = { 0x91, 0x92 };
	uint64_t argv[GT_ARGS_MAX] = { [clCreateCommandBufferKHR__num_queues] = 2,
				       [clCreateCommandBufferKHR__queues] = word(queues) };

	assert_int_equal(events_of(GT_FN_clCreateCommandBufferKHR, argv, 1, NULL).events[0].owner,
			 0x91);
	argv[clCreateCommandBufferKHR__num_queues] = 0;
	assert_int_equal(events_of(GT_FN_clCreateCommandBufferKHR, argv, 1, NULL).events[0].owner,
			 0);
}

static void only_calls_that_end_resources_have_endings(void **state)
{
	uint64_t argv[GT_ARGS_MAX] = { 0xb0, 0xb1 };
	struct taken t = endings_of(GT_FN_clReleaseMemObject, argv);

	assert_int_equal(t.count, 1);
	assert_int_equal(t.events[0].handle, 0xb0);
	assert_int_equal(t.events[0].time_ns, BEGUN);
	assert_int_equal(endings_of(GT_FN_clRetainMemObject, argv).count, 0);
	assert_int_equal(endings_of(GT_FN_clCreateBuffer, argv).count, 0);
}

static void narrow_arguments_are_zero_extended(void **state)
{
	int32_t narrow = -1;
	uint8_t byte = 0xff;
	uint64_t wide = UINT64_MAX, wider[8] = { 1, 2, 3 };

	assert_true(gt_word_of(&narrow, sizeof narrow) == UINT32_MAX);
	assert_true(gt_word_of(&byte, sizeof byte) == 0xff);
	assert_true(gt_word_of(&wide, sizeof wide) == UINT64_MAX);
	/* of a struct handed over by value, its first word */
	assert_true(gt_word_of(wider, sizeof wider) == 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_handle_in_the_return_value_is_created),
		cmocka_unit_test(a_handle_passed_as_an_argument_is_retained_or_ended),
		cmocka_unit_test(a_handle_behind_a_pointer_is_read_after_the_call),
		cmocka_unit_test(an_out_handle_is_read_even_if_the_result_is_another_pointer),
		cmocka_unit_test(an_output_array_yields_as_many_handles_as_the_call_returned),
		cmocka_unit_test(an_output_array_without_a_count_asks_the_driver),
		cmocka_unit_test(querying_only_the_count_creates_nothing),
		cmocka_unit_test(a_garbage_count_reads_nothing),
		cmocka_unit_test(freeing_two_pointers_ends_both_and_creates_an_event),
		cmocka_unit_test(with_a_callback_nothing_is_freed_but_the_event_is_created),
		cmocka_unit_test(a_failed_free_of_two_pointers_names_both_and_creates_no_event),
		cmocka_unit_test(a_failed_build_fails_and_returns_its_log),
		cmocka_unit_test(a_failed_link_returns_its_log_too),
		cmocka_unit_test(a_size_in_a_struct_is_read_at_its_offset),
		cmocka_unit_test(null_handles_produce_no_event),
		cmocka_unit_test(calls_that_cannot_produce_an_event_are_idle),
		cmocka_unit_test(a_call_with_a_second_effect_is_not_idle),
		cmocka_unit_test(success_is_decided_by_the_rule_of_the_function),
		cmocka_unit_test(a_failed_creation_records_what_was_requested),
		cmocka_unit_test(a_failed_creation_records_the_error_code_its_caller_got),
		cmocka_unit_test(an_error_code_the_caller_did_not_request_is_unknown),
		cmocka_unit_test(a_failed_release_or_retain_names_its_handle),
		cmocka_unit_test(ends_use_the_start_time_and_other_calls_the_return_time),
		cmocka_unit_test(a_destroy_sorts_before_the_create_that_reuses_its_handle),
		cmocka_unit_test(a_size_only_the_driver_knows_is_queried),
		cmocka_unit_test(an_ipc_handle_of_zeros_is_known_by_its_memory),
		cmocka_unit_test(an_owner_may_be_the_first_element_of_an_array),
		cmocka_unit_test(only_calls_that_end_resources_have_endings),
		cmocka_unit_test(narrow_arguments_are_zero_extended),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
