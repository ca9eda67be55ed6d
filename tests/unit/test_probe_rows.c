/* SPDX-License-Identifier: MIT */
/* test_probe_rows.c - what BPF programs store of a call, and how it is interpreted. */
#include "capture/ebpf/probe_rows.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

static void every_row_fits(void **state)
{
	unsigned probed = 0;

	(void)state;
	for (unsigned i = 1; i < GT_FN_COUNT; i++) {
		struct gt_plan plan;
		unsigned effects = 1;

		if (!gt_plan_make(&plan, (enum gt_function_id)i)) {
			assert_true(gt_functions[i].also || gt_functions[i].effect == GT_APPEND ||
				    gt_functions[i].handle.stride);
			continue;
		}
		probed++;
		while (i + effects < GT_FN_COUNT && gt_functions[i + effects].also)
			effects++;
		assert_int_equal(plan.row.effects, effects);
		assert_true(plan.row.words <= GT_PROBE_WORDS);
		assert_true(plan.row.copies <= GT_PROBE_COPIES);
		for (unsigned j = 0; j < plan.row.words; j++)
			assert_true((plan.row.where[j] & ~GT_PROBE_BEHIND) < 64);
		/* what the interpreter reads must be there: none may have been left out */
		if (gt_functions[i].code < gt_functions[i].argc)
			assert_int_equal(plan.arguments[gt_functions[i].code].how, GT_PLAN_COPY);
		assert_int_equal(plan.layout_count, gt_layouts[i].count);
		for (unsigned j = i; j < i + effects; j++) {
			const struct gt_function *fn = &gt_functions[j];

			if (fn->handle.from != GT_RET && fn->handle.from != GT_NONE)
				assert_int_not_equal(plan.arguments[fn->handle.arg].how,
						     GT_PLAN_UNUSED);
			if (fn->effect == GT_CREATE &&
			    (fn->size.from == GT_IN || fn->size.from == GT_AT))
				assert_int_not_equal(plan.arguments[fn->size.arg].how,
						     GT_PLAN_UNUSED);
		}
	}
	assert_true(probed > 100);
}

/* What a function finds when it begins: the registers of arguments, the words on the stack. */
enum { STACK_WORDS = 24 };
uint64_t found_registers[8], found_stack[STACK_WORDS];
void find_arguments(void);
#if defined(__x86_64__)
__asm__(".text\n"
	".globl find_arguments\n"
	".hidden find_arguments\n"
	".type find_arguments, @function\n"
	"find_arguments:\n"
	"	lea found_registers(%rip), %r10\n"
	"	mov %rdi, (%r10)\n"
	"	mov %rsi, 8(%r10)\n"
	"	mov %rdx, 16(%r10)\n"
	"	mov %rcx, 24(%r10)\n"
	"	mov %r8, 32(%r10)\n"
	"	mov %r9, 40(%r10)\n"
	"	lea found_stack(%rip), %rdi\n"
	"	lea 8(%rsp), %rsi\n"
	"	mov $24, %ecx\n"
	"	rep movsq\n"
	"	ret\n"
	".size find_arguments, .-find_arguments\n");
#elif defined(__aarch64__)
__asm__(".text\n"
	".globl find_arguments\n"
	".hidden find_arguments\n"
	".type find_arguments, %function\n"
	"find_arguments:\n"
	"	adrp x9, found_registers\n"
	"	add x9, x9, #:lo12:found_registers\n"
	"	stp x0, x1, [x9]\n"
	"	stp x2, x3, [x9, #16]\n"
	"	stp x4, x5, [x9, #32]\n"
	"	stp x6, x7, [x9, #48]\n"
	"	adrp x9, found_stack\n"
	"	add x9, x9, #:lo12:found_stack\n"
	"	mov x10, #0\n"
	"1:	ldr x11, [sp, x10, lsl #3]\n"
	"	str x11, [x9, x10, lsl #3]\n"
	"	add x10, x10, #1\n"
	"	cmp x10, #24\n"
	"	b.ne 1b\n"
	"	ret\n"
	".size find_arguments, .-find_arguments\n");
#endif

#define LAUNCH GT_FN_zeCommandListAppendLaunchKernelWithArguments

/* As the BPF programs read it. */
static uint64_t word_of(enum gt_function_id function, unsigned argument)
{
	uint8_t place = gt_plan_where(function, argument);
	unsigned where = place & ~GT_PROBE_BEHIND;
	uint64_t word;

	assert_int_not_equal(place, GT_PROBE_NONE);
	if (where < GT_PROBE_ARGUMENTS)
		word = found_registers[where];
	else
		word = found_stack[where - GT_PROBE_ARGUMENTS];
	return place & GT_PROBE_BEHIND ? *(uint64_t *)(uintptr_t)word : word;
}

struct large {
	uint64_t words[8];
};
struct three {
	uint32_t x, y, z;
};

/* Calls like those of programs: what is passed is where the table says. */
static void arguments_lie_where_the_processor_passes_them(void **state)
{
	const struct large large = { { 777, 1, 2, 3, 4, 5, 6, 7 } };
	const struct three counts = { 30, 31, 32 }, sizes = { 40, 41, 42 };
	uint64_t first = 0, second = 0;
	void (*any)(uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t,
		    uint64_t);
	void (*put_handle)(uint64_t, struct large);
	void (*open_handle)(uint64_t, uint64_t, struct large, uint32_t, uint64_t);
	void (*launch)(uint64_t, uint64_t, struct three, struct three, uint64_t, uint64_t, uint64_t,
		       uint32_t, uint64_t);

	(void)state;
	*(void **)&any = *(void **)&put_handle = *(void **)&open_handle = *(void **)&launch =
		(void *)(uintptr_t)find_arguments;
	any(100, 101, 102, 103, 104, 105, 106, 107, 108);
	for (unsigned i = 0; i < 9; i++)
		assert_int_equal(word_of(GT_FN_clEnqueueReadBuffer, i), 100 + i);
	put_handle(200, large);
	assert_int_equal(word_of(GT_FN_zeMemPutIpcHandle, zeMemPutIpcHandle__hContext), 200);
	assert_int_equal(word_of(GT_FN_zeMemPutIpcHandle, zeMemPutIpcHandle__handle), 777);
	open_handle(300, 301, large, 302, 303);
	assert_int_equal(word_of(GT_FN_zeMemOpenIpcHandle, zeMemOpenIpcHandle__hDevice), 301);
	assert_int_equal(word_of(GT_FN_zeMemOpenIpcHandle, zeMemOpenIpcHandle__pptr), 303);
	launch(400, 401, counts, sizes, 402, 403, 404, 2, 405);
	first = word_of(LAUNCH, 2);
	second = word_of(LAUNCH, 3);
	assert_memory_equal(&first, &counts, sizeof first);
	assert_memory_equal(&second, &sizes, sizeof second);
	assert_int_equal(word_of(LAUNCH, 4), 402);
	assert_int_equal(word_of(LAUNCH, 6), 404);
	assert_int_equal((uint32_t)word_of(LAUNCH, 7), 2);
	assert_int_equal(word_of(LAUNCH, 8), 405);
}

/* By the table of each processor, on whatever one this runs. */
static void arguments_follow_the_calling_convention(void **state)
{
	static const struct {
		enum gt_function_id function;
		uint8_t argument, where[GT_CALLING_COUNT];
	} known[] = {
		{ GT_FN_clCreateBuffer, clCreateBuffer__size, { 2, 2 } },
		/* the ninth of nine: third on the stack, and first */
		{ GT_FN_clEnqueueReadBuffer, clEnqueueReadBuffer__event, { 8, 8 } },
		/* a struct of 64 bytes lies on the stack, and those after it move up in the
		 * registers; or its address is passed */
		{ GT_FN_zeMemPutIpcHandle, zeMemPutIpcHandle__handle, { 6, 1 | GT_PROBE_BEHIND } },
		{ GT_FN_zeMemOpenIpcHandle, zeMemOpenIpcHandle__hDevice, { 1, 1 } },
		{ GT_FN_zeMemOpenIpcHandle, zeMemOpenIpcHandle__pptr, { 3, 4 } },
		{ GT_FN_cuIpcOpenMemHandle_v2, cuIpcOpenMemHandle_v2__pdptr, { 0, 0 } },
	};

	(void)state;
	for (size_t i = 0; i < sizeof known / sizeof *known; i++)
		for (int k = 0; k < GT_CALLING_COUNT; k++)
			assert_int_equal(gt_plan_where_by(&gt_callings[k], known[i].function,
							  known[i].argument),
					 known[i].where[k]);
}

struct seen {
	struct gt_event events[8];
	unsigned count;
};

static void take(void *context, const struct gt_event *event)
{
	struct seen *seen = context;

	assert_true(seen->count < 8);
	seen->events[seen->count++] = *event;
}

/* The index of an argument among the stored words. */
static unsigned word(const struct gt_plan *plan, unsigned argument)
{
	return plan->arguments[argument].word;
}

static void an_out_parameter_and_a_struct_are_read_from_copies(void **state)
{
	struct gt_probe_call record = {
		.row = GT_FN_zePhysicalMemCreate, .begun_ns = 5, .ended_ns = 9, .tid = 3
	};
	struct gt_replica replica;
	struct gt_plan plan;
	struct seen seen = { .count = 0 };

	(void)state;
	assert_true(gt_plan_make(&plan, GT_FN_zePhysicalMemCreate));
	record.words[word(&plan, zePhysicalMemCreate__hContext)] = 0xc0;
	record.words[word(&plan, zePhysicalMemCreate__desc)] = 0x7f00;
	record.words[word(&plan, zePhysicalMemCreate__phPhysicalMemory)] = 0x7f08;
	record.copies[plan.arguments[zePhysicalMemCreate__desc].copy] = 65536;
	record.copies[plan.arguments[zePhysicalMemCreate__phPhysicalMemory].copy] = 0xabc;
	gt_replica_make(&replica, &plan, &record, NULL);
	gt_call_events(&replica.call, NULL, take, &seen);
	assert_int_equal(seen.count, 1);
	assert_int_equal(seen.events[0].handle, 0xabc);
	assert_int_equal(seen.events[0].size, 65536);
	assert_int_equal(seen.events[0].owner, 0xc0);
	assert_int_equal(seen.events[0].time_ns, 9);
	assert_int_equal(replica.lost, 0);
	/* what could not be read is lost, unless the call had failed anyway */
	record.unread = 1;
	gt_replica_make(&replica, &plan, &record, NULL);
	assert_int_equal(replica.lost, 1);
	record.ret = 1;
	gt_replica_make(&replica, &plan, &record, NULL);
	assert_int_equal(replica.lost, 0);
}

static void an_error_code_is_read_from_a_copy_and_not_counted_as_lost(void **state)
{
	struct gt_probe_call record = { .row = GT_FN_clCreateBuffer };
	struct gt_replica replica;
	struct gt_plan plan;
	struct seen seen = { .count = 0 };
	unsigned copy;

	(void)state;
	assert_true(gt_plan_make(&plan, GT_FN_clCreateBuffer));
	copy = plan.arguments[clCreateBuffer__errcode_ret].copy;
	assert_int_equal(plan.row.copy[copy].size, 4);
	record.words[word(&plan, clCreateBuffer__errcode_ret)] = 0x7f00;
	record.copies[copy] = (uint32_t)-61;
	gt_replica_make(&replica, &plan, &record, NULL);
	gt_call_events(&replica.call, NULL, take, &seen);
	assert_int_equal(seen.events[0].result, -61);
	record.words[word(&plan, clCreateBuffer__errcode_ret)] = 0;
	gt_replica_make(&replica, &plan, &record, NULL);
	gt_call_events(&replica.call, NULL, take, &seen);
	assert_false(gt_event_has_result(&seen.events[1]));
	/* a buffer is no less known for a code that could not be read */
	record.words[word(&plan, clCreateBuffer__errcode_ret)] = 0x7f00;
	record.ret = 0xb0;
	record.unread = (uint16_t)(1 << copy);
	gt_replica_make(&replica, &plan, &record, NULL);
	assert_int_equal(replica.lost, 0);
}

static void arrays_are_read_from_the_record_and_missing_elements_are_lost(void **state)
{
	const uint64_t handles[] = { 0x10, 0x20, 0x30 };
	struct gt_probe_call record = { .row = GT_FN_clEnqueueSVMFree,
					.begun_ns = 5,
					.ended_ns = 9,
					.array = 3,
					.array_count = 5 };
	struct gt_replica replica;
	struct gt_plan plan;
	struct seen seen = { .count = 0 };

	(void)state;
	assert_true(gt_plan_make(&plan, GT_FN_clEnqueueSVMFree));
	assert_int_equal(plan.row.effects, 2);
	record.words[word(&plan, clEnqueueSVMFree__svm_pointers)] = 0x7f00;
	record.words[word(&plan, clEnqueueSVMFree__num_svm_pointers)] = 5;
	gt_replica_make(&replica, &plan, &record, handles);
	gt_call_events(&replica.call, NULL, take, &seen);
	assert_int_equal(seen.count, 3);
	assert_int_equal(seen.events[2].handle, 0x30);
	assert_int_equal(seen.events[2].time_ns, 5);
	assert_int_equal(replica.lost, 2);
}

static void calls_that_change_the_current_context_are_probed(void **state)
{
	struct gt_plan plan;

	(void)state;
	assert_int_equal(gt_plan_unrecorded(GT_CUDA, "cuCtxSetCurrent") - GT_PROBE_CONTEXTS,
			 GT_CURRENT_SET);
	assert_int_equal(gt_plan_unrecorded(GT_CUDA, "cuCtxPopCurrent_v2") & 7, GT_CURRENT_POP);
	/* each has a cookie of its own: one function of a file is probed for each */
	assert_int_not_equal(gt_plan_unrecorded(GT_CUDA, "cuCtxPopCurrent"),
			     gt_plan_unrecorded(GT_CUDA, "cuCtxPopCurrent_v2"));
	assert_int_equal(gt_plan_unrecorded(GT_CUDA, "cuCtxGetCurrent"), 0);
	assert_true(gt_plan_make(&plan, GT_FN_cuCtxCreate_v3));
	assert_int_equal(plan.row.current, GT_CURRENT_PUSH);
	/* the BPF program takes the new context from the first copy, an old one from the first word
	 */
	assert_int_equal(plan.row.copy[0].word, plan.arguments[cuCtxCreate_v3__pctx].word);
	assert_true(gt_plan_make(&plan, GT_FN_cuCtxDestroy_v2));
	assert_int_equal(plan.row.current, GT_CURRENT_END);
	assert_int_equal(plan.arguments[cuCtxDestroy_v2__ctx].word, 0);
	assert_true(gt_plan_make(&plan, GT_FN_cuDevicePrimaryCtxRetain));
	assert_int_equal(plan.row.current, GT_CURRENT_SAME);
}

static void the_driver_of_an_object_is_read(void **state)
{
	struct gt_plan plan;

	(void)state;
	assert_true(gt_plan_make(&plan, GT_FN_clCreateBuffer));
	assert_int_equal(plan.row.driver, GT_PROBE_NONE); /* the result */
	/* memory is no object, and an event may not be wanted: their context, their queue */
	assert_true(gt_plan_make(&plan, GT_FN_clSVMAlloc));
	assert_int_equal(plan.row.driver, plan.arguments[clSVMAlloc__context].word + 1);
	assert_true(gt_plan_make(&plan, GT_FN_clEnqueueReadBuffer));
	assert_int_equal(plan.row.driver,
			 plan.arguments[clEnqueueReadBuffer__command_queue].word + 1);
	/* what it creates is its second effect */
	assert_true(gt_plan_make(&plan, GT_FN_clEnqueueSVMFree));
	assert_int_equal(plan.row.driver, plan.arguments[clEnqueueSVMFree__command_queue].word + 1);
	assert_true(gt_plan_make(&plan, GT_FN_cuMemAlloc_v2));
	assert_int_equal(plan.row.driver, 0);
	assert_true(gt_plan_make(&plan, GT_FN_clReleaseMemObject));
	assert_int_equal(plan.row.driver, 0);
}

static void device_0_is_a_valid_device(void **state)
{
	struct gt_probe_call record = { .row = GT_FN_cuDevicePrimaryCtxReset_v2 };
	struct gt_replica replica;
	struct gt_plan plan;
	struct seen seen = { .count = 0 };

	(void)state;
	assert_true(gt_plan_make(&plan, GT_FN_cuDevicePrimaryCtxReset_v2));
	assert_int_equal(plan.row.handle[0], GT_PROBE_NONE);
	gt_replica_make(&replica, &plan, &record, NULL);
	gt_call_events(&replica.call, NULL, take, &seen);
	assert_int_equal(seen.count, 1);
	assert_int_equal(seen.events[0].handle, GT_CONTEXTS_DEVICE);
}

static void releases_may_call_back_once_a_callback_was_registered(void **state)
{
	struct gt_plan plan;

	(void)state;
	assert_true(gt_plan_make(&plan, GT_FN_clReleaseMemObject) && plan.row.may_call_back);
	assert_true(gt_plan_make(&plan, GT_FN_clReleaseContext) && plan.row.may_call_back);
	/* their results are needed, or they know no callbacks */
	assert_true(gt_plan_make(&plan, GT_FN_clCreateBuffer) && !plan.row.may_call_back);
	assert_true(gt_plan_make(&plan, GT_FN_clRetainMemObject) && !plan.row.may_call_back);
	assert_true(gt_plan_make(&plan, GT_FN_cuMemFree_v2) && !plan.row.may_call_back);
	assert_true(gt_plan_unrecorded(GT_OPENCL, "clSetMemObjectDestructorCallback") >=
		    GT_PROBE_ROWS);
	assert_int_equal(gt_plan_unrecorded(GT_OPENCL, "clSetEventCallback"), 0);
	assert_int_equal(gt_plan_unrecorded(GT_CUDA, "clSetMemObjectDestructorCallback"), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_row_fits),
		cmocka_unit_test(arguments_follow_the_calling_convention),
		cmocka_unit_test(arguments_lie_where_the_processor_passes_them),
		cmocka_unit_test(an_out_parameter_and_a_struct_are_read_from_copies),
		cmocka_unit_test(an_error_code_is_read_from_a_copy_and_not_counted_as_lost),
		cmocka_unit_test(arrays_are_read_from_the_record_and_missing_elements_are_lost),
		cmocka_unit_test(calls_that_change_the_current_context_are_probed),
		cmocka_unit_test(the_driver_of_an_object_is_read),
		cmocka_unit_test(device_0_is_a_valid_device),
		cmocka_unit_test(releases_may_call_back_once_a_callback_was_registered),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
