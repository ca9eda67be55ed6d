/* SPDX-License-Identifier: MIT */
/* test_functions.c - the table of functions is complete and consistent. */
#include "api/functions.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "api/arguments.h"

/* Functions that create in OpenCL 3.0, with shared memory of 2.0 and of Intel. */
static const char *const opencl_creates[] = {
	"clCreateContext",
	"clCreateContextFromType",
	"clCreateSubDevices",
	"clCreateCommandQueue",
	"clCreateCommandQueueWithProperties",
	"clCreateBuffer",
	"clCreateBufferWithProperties",
	"clCreateSubBuffer",
	"clCreateImage",
	"clCreateImageWithProperties",
	"clCreateImage2D",
	"clCreateImage3D",
	"clCreatePipe",
	"clCreateSampler",
	"clCreateSamplerWithProperties",
	"clCreateProgramWithSource",
	"clCreateProgramWithBinary",
	"clCreateProgramWithBuiltInKernels",
	"clCreateProgramWithIL",
	"clLinkProgram",
	"clCreateKernel",
	"clCreateKernelsInProgram",
	"clCloneKernel",
	"clCreateUserEvent",
	"clSVMAlloc",
	"clHostMemAllocINTEL",
	"clDeviceMemAllocINTEL",
	"clSharedMemAllocINTEL",
};

static const char *const opencl_enqueues[] = {
	"ReadBuffer",
	"ReadBufferRect",
	"WriteBuffer",
	"WriteBufferRect",
	"FillBuffer",
	"CopyBuffer",
	"CopyBufferRect",
	"ReadImage",
	"WriteImage",
	"FillImage",
	"CopyImage",
	"CopyImageToBuffer",
	"CopyBufferToImage",
	"MapBuffer",
	"MapImage",
	"UnmapMemObject",
	"MigrateMemObjects",
	"NDRangeKernel",
	"Task",
	"NativeKernel",
	"Marker",
	"MarkerWithWaitList",
	"BarrierWithWaitList",
	"SVMFree",
	"SVMMemcpy",
	"SVMMemFill",
	"SVMMap",
	"SVMUnmap",
	"SVMMigrateMem",
};

static const char *const opencl_counted[] = {
	"Device", "Context", "CommandQueue", "MemObject", "Sampler", "Program", "Kernel", "Event",
};

/* clang-format off */
static const char *const opencl_frees[] = {
	"clSVMFree", "clEnqueueSVMFree", "clMemFreeINTEL", "clMemBlockingFreeINTEL",
};
/* clang-format on */

/* The row of a function with this effect, possibly its second; NULL if there is none. */
static const struct gt_function *find(enum gt_api api, const char *prefix, const char *name,
				      enum gt_effect effect)
{
	size_t size = strlen(prefix);

	for (int row = 1; row < GT_FN_COUNT; row++)
		if (gt_functions[row].api == api && gt_functions[row].effect == effect &&
		    !strncmp(gt_function_names[row], prefix, size) &&
		    !strcmp(gt_function_names[row] + size, name))
			return &gt_functions[row];
	return NULL;
}

#define assert_each(names, prefix, effect_)                                                        \
	for (size_t i_ = 0; i_ < sizeof(names) / sizeof *(names); i_++)                            \
		if (!find(GT_OPENCL, prefix, (names)[i_], effect_))                                \
	fail_msg("%s%s is not in the table", prefix, (names)[i_])

static void every_opencl_function_that_creates_is_listed(void **state)
{
	assert_each(opencl_creates, "", GT_CREATE);
}

static void every_opencl_command_that_returns_an_event_is_listed(void **state)
{
	assert_each(opencl_enqueues, "clEnqueue", GT_CREATE);
	for (size_t i = 0; i < sizeof opencl_enqueues / sizeof *opencl_enqueues; i++) {
		const struct gt_function *fn =
			find(GT_OPENCL, "clEnqueue", opencl_enqueues[i], GT_CREATE);

		assert_int_equal(fn->kind, GT_EVENT);
		assert_int_equal(fn->handle.from, GT_OUT);
		assert_int_equal(fn->owner.from, GT_IN);
	}
}

static void every_opencl_object_can_be_retained_and_released(void **state)
{
	assert_each(opencl_counted, "clRetain", GT_RETAIN);
	assert_each(opencl_counted, "clRelease", GT_RELEASE);
	for (size_t i = 0; i < sizeof opencl_counted / sizeof *opencl_counted; i++)
		assert_int_equal(find(GT_OPENCL, "clRetain", opencl_counted[i], GT_RETAIN)->kind,
				 find(GT_OPENCL, "clRelease", opencl_counted[i], GT_RELEASE)->kind);
}

static void every_opencl_function_that_frees_memory_is_listed(void **state)
{
	assert_each(opencl_frees, "", GT_DESTROY);
}

static bool can_end(const struct gt_function *created)
{
	for (int row = 1; row < GT_FN_COUNT; row++)
		if (gt_functions[row].api == created->api && gt_function_ends(&gt_functions[row]) &&
		    gt_kinds[gt_functions[row].kind].family == gt_kinds[created->kind].family)
			return true;
	return false;
}

static void every_created_kind_can_end(void **state)
{
	for (int row = 1; row < GT_FN_COUNT; row++)
		if (gt_functions[row].effect == GT_CREATE && !can_end(&gt_functions[row]) &&
		    /* ends with its owner alone */
		    !(gt_kinds[gt_functions[row].kind].habits & GT_OWNED))
			fail_msg("what %s creates can never end", gt_function_names[row]);
}

static void every_kind_that_ends_can_be_created(void **state)
{
	for (int row = 1; row < GT_FN_COUNT; row++) {
		bool created = gt_functions[row].effect == GT_CREATE ||
			       gt_functions[row].effect == GT_APPEND;

		for (int other = 1; other < GT_FN_COUNT && !created; other++)
			created = gt_functions[other].api == gt_functions[row].api &&
				  gt_functions[other].effect == GT_CREATE &&
				  gt_kinds[gt_functions[other].kind].family ==
					  gt_kinds[gt_functions[row].kind].family;
		if (!created)
			fail_msg("nothing creates what %s takes", gt_function_names[row]);
	}
}

static void every_created_kind_has_a_type_name_in_its_api(void **state)
{
	for (int row = 1; row < GT_FN_COUNT; row++)
		if (gt_functions[row].effect == GT_CREATE &&
		    !gt_kinds[gt_functions[row].kind].type[gt_functions[row].api])
			fail_msg("%s has no type in %s", gt_kinds[gt_functions[row].kind].name,
				 gt_api_names[gt_functions[row].api]);
}

static void every_kind_is_created_by_a_row(void **state)
{
	bool created[GT_KIND_COUNT] = { false };

	for (int row = 1; row < GT_FN_COUNT; row++)
		if (gt_functions[row].effect == GT_CREATE)
			created[gt_functions[row].kind] = true;
	for (int kind = 0; kind < GT_KIND_COUNT; kind++)
		if (!created[kind])
			fail_msg("no row creates a %s", gt_kinds[kind].name);
}

static void every_family_is_named_by_a_kind_of_that_family(void **state)
{
	for (int kind = 0; kind < GT_KIND_COUNT; kind++) {
		assert_in_range(gt_kinds[kind].family, 0, GT_KIND_COUNT - 1);
		assert_int_equal(gt_kinds[gt_kinds[kind].family].family, gt_kinds[kind].family);
	}
}

static bool share_an_api(int kind, int other)
{
	for (int api = 0; api < GT_API_COUNT; api++)
		if (gt_kinds[kind].type[api] && gt_kinds[other].type[api])
			return true;
	return false;
}

static void every_kind_has_a_unique_name_in_its_apis(void **state)
{
	for (int kind = 0; kind < GT_KIND_COUNT; kind++) {
		assert_non_null(gt_kinds[kind].name);
		assert_non_null(gt_kinds[kind].plural);
		for (int other = 0; other < kind; other++)
			if (share_an_api(kind, other))
				assert_string_not_equal(gt_kinds[kind].name, gt_kinds[other].name);
	}
}

static void names_are_unique_except_for_further_effects(void **state)
{
	assert_string_equal(gt_function_names[GT_FN_NONE], "(unknown)");
	for (int row = 1; row < GT_FN_COUNT; row++) {
		assert_non_null(gt_function_names[row]);
		if (gt_functions[row].also) {
			assert_string_equal(gt_function_names[row], gt_function_names[row - 1]);
			assert_int_equal(gt_functions[row].api, gt_functions[row - 1].api);
			assert_int_equal(gt_functions[row].argc, gt_functions[row - 1].argc);
			continue;
		}
		for (int other = 0; other < row; other++)
			if (!strcmp(gt_function_names[row], gt_function_names[other]))
				fail_msg("%s is there twice", gt_function_names[row]);
	}
}

static bool names_an_argument(const struct gt_ref *ref)
{
	return ref->from != GT_NONE && ref->from != GT_RET && ref->from != GT_ASK;
}

static void check_ref(const struct gt_function *fn, const struct gt_ref *ref)
{
	if (names_an_argument(ref))
		assert_true(ref->arg < fn->argc);
	if (ref->from == GT_INS || ref->from == GT_OUTS)
		assert_true(ref->count < fn->argc && ref->count != ref->arg);
	assert_true(ref->unless <= fn->argc);
}

static void every_column_names_arguments_that_exist(void **state)
{
	for (int row = 1; row < GT_FN_COUNT; row++) {
		const struct gt_function *fn = &gt_functions[row];

		assert_in_range(fn->argc, 1, GT_ARGS_MAX);
		assert_in_range(fn->kind, 0, GT_KIND_COUNT - 1);
		assert_in_range(fn->effect, 0, GT_EFFECT_COUNT - 1);
		assert_in_range(fn->api, 0, GT_API_COUNT - 1);
		check_ref(fn, &fn->handle);
		check_ref(fn, &fn->size);
		check_ref(fn, &fn->owner);
	}
}

/* The arguments of each function, as written in its row. */
static const char *const arguments[GT_FN_COUNT] = {
#define FN(fn, ret, args, ...) [GT_FN_##fn] = #args,
#define ALSO(...)
#include "api/apis.def"
#undef FN
#undef ALSO
};

/* True if the last argument receives an error code. */
static bool has_code(int row)
{
	const char *last = arguments[row] ? strrchr(arguments[row], ',') : NULL;

	return last && !strcmp(last, ", errcode_ret))");
}

static void error_codes_returned_through_a_pointer_are_read(void **state)
{
	unsigned count = 0;

	for (int i = 0; i < GT_FN_COUNT; i++) {
		const struct gt_function *fn = &gt_functions[i];

		if (fn->also)
			continue;
		assert_int_equal(fn->code, has_code(i) ? fn->argc - 1 : fn->argc);
		count += has_code(i);
	}
	assert_true(count > 40);
}

static void functions_that_change_a_resource_name_its_handle(void **state)
{
	for (int row = 1; row < GT_FN_COUNT; row++) {
		const struct gt_function *fn = &gt_functions[row];

		if (fn->effect == GT_APPEND)
			continue;
		if (fn->handle.from == GT_NONE)
			fail_msg("%s has no handle", gt_function_names[row]);
		/* what is given to the call cannot be new, what it gives back cannot have ended */
		if (fn->effect == GT_CREATE && fn->api == GT_OPENCL)
			assert_true(fn->handle.from == GT_RET || fn->handle.from == GT_OUT ||
				    fn->handle.from == GT_OUTS);
		if (fn->effect != GT_CREATE)
			assert_true(fn->handle.from == GT_IN || fn->handle.from == GT_INS ||
				    fn->handle.from == GT_OUT);
		if (fn->handle.from == GT_RET)
			assert_int_equal(fn->result, GT_RESULT_HANDLE);
	}
}

static void only_creations_and_range_ends_have_a_size(void **state)
{
	for (int row = 1; row < GT_FN_COUNT; row++) {
		const struct gt_function *fn = &gt_functions[row];

		if (fn->effect != GT_CREATE)
			assert_int_equal(fn->size.from,
					 gt_function_ends(fn) &&
							 gt_kinds[fn->kind].habits & GT_RANGED ?
						 GT_IN :
						 GT_NONE);
	}
}

/* At best an experimental extension knows their size. */
static bool is_level_zero_image(const struct gt_function *fn)
{
	return fn->api == GT_LEVELZERO && fn->kind == GT_IMAGE;
}

static void functions_that_allocate_memory_have_a_size(void **state)
{
	for (int row = 1; row < GT_FN_COUNT; row++)
		if (gt_functions[row].effect == GT_CREATE &&
		    gt_kind_has_bytes((enum gt_kind)gt_functions[row].kind) &&
		    gt_functions[row].size.from == GT_NONE &&
		    !is_level_zero_image(&gt_functions[row]))
			fail_msg("%s has no size", gt_function_names[row]);
}

static void apis_and_effects_have_unique_names(void **state)
{
	for (int api = 0; api < GT_API_COUNT; api++) {
		assert_true(*gt_api_keys[api] && *gt_api_names[api]);
		for (int other = 0; other < api; other++)
			assert_string_not_equal(gt_api_keys[api], gt_api_keys[other]);
	}
	for (int effect = 0; effect < GT_EFFECT_COUNT; effect++)
		assert_true(*gt_effect_names[effect]);
}

static void host_memory_and_views_are_not_on_the_device(void **state)
{
	assert_true(gt_kind_has_bytes(GT_BUFFER) && gt_kind_on_device(GT_BUFFER));
	assert_true(gt_kind_has_bytes(GT_SVM) && gt_kind_on_device(GT_SVM));
	assert_true(gt_kind_has_bytes(GT_HOST_MEMORY) && !gt_kind_on_device(GT_HOST_MEMORY));
	assert_false(gt_kind_has_bytes(GT_SUBBUFFER) || gt_kind_on_device(GT_SUBBUFFER));
	assert_false(gt_kind_has_bytes(GT_EVENT) || gt_kind_on_device(GT_EVENT));
}

static void assert_argument(uint16_t function, size_t number, const char *name, bool is_number)
{
	struct gt_argument a = gt_argument_of(function, number);

	assert_int_equal(a.name_size, strlen(name));
	assert_memory_equal(a.name, name, a.name_size);
	assert_int_equal(a.is_number, is_number);
}

static void every_argument_has_a_name(void **state)
{
	(void)state;
	for (uint16_t f = 1; f < GT_FN_COUNT; f++) {
		size_t count = 0;

		while (gt_argument_of(f, count).name_size)
			count++;
		assert_int_equal(count, gt_functions[f].also ? 0 : gt_functions[f].argc);
	}
	assert_argument(GT_FN_clCreateBuffer, 0, "context", false);
	assert_argument(GT_FN_clCreateBuffer, 2, "size", true);
	assert_argument(GT_FN_clCreateBuffer, 4, "errcode_ret", false);
	assert_argument(GT_FN_clCreateBuffer, 5, "", false);
	assert_argument(GT_FN_COUNT, 0, "", false);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_opencl_function_that_creates_is_listed),
		cmocka_unit_test(every_opencl_command_that_returns_an_event_is_listed),
		cmocka_unit_test(every_opencl_object_can_be_retained_and_released),
		cmocka_unit_test(every_opencl_function_that_frees_memory_is_listed),
		cmocka_unit_test(every_created_kind_can_end),
		cmocka_unit_test(every_kind_that_ends_can_be_created),
		cmocka_unit_test(every_created_kind_has_a_type_name_in_its_api),
		cmocka_unit_test(every_kind_is_created_by_a_row),
		cmocka_unit_test(every_family_is_named_by_a_kind_of_that_family),
		cmocka_unit_test(every_kind_has_a_unique_name_in_its_apis),
		cmocka_unit_test(names_are_unique_except_for_further_effects),
		cmocka_unit_test(every_argument_has_a_name),
		cmocka_unit_test(every_column_names_arguments_that_exist),
		cmocka_unit_test(error_codes_returned_through_a_pointer_are_read),
		cmocka_unit_test(functions_that_change_a_resource_name_its_handle),
		cmocka_unit_test(only_creations_and_range_ends_have_a_size),
		cmocka_unit_test(functions_that_allocate_memory_have_a_size),
		cmocka_unit_test(apis_and_effects_have_unique_names),
		cmocka_unit_test(host_memory_and_views_are_not_on_the_device),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
