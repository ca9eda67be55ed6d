/* SPDX-License-Identifier: MIT */
/* test_inferred.c - sizes, contexts and platforms, inferred from the calls of traced processes. */
#include "capture/ebpf/inferred.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "api/cuda_abi.h"
#include "capture/ebpf/places.h"
#include "capture/ebpf/probe_rows.h"

/* The size inferred from a call with these words in its layout. */
static uint64_t size_of(enum gt_function_id function, const uint64_t *words)
{
	const struct gt_layout *layout = &gt_layouts[function];
	struct gt_probe_call record = { .row = (uint16_t)function, .ret = 1 };
	struct gt_replica replica;
	struct gt_plan plan;

	assert_true(gt_plan_make(&plan, function));
	for (unsigned i = 0; i < layout->count; i++)
		if (layout->words[i].is_behind)
			memcpy(&record.copies[plan.layout[i]], &words[i], layout->words[i].bytes);
		else
			record.words[plan.layout[i]] = words[i];
	gt_replica_make(&replica, &plan, &record, NULL);
	return gt_inferred_size(function, replica.words);
}

#define SIZE(fn, ...) size_of(GT_FN_##fn, (const uint64_t[]){ __VA_ARGS__ })

static void sizes_are_computed_from_dimensions(void **state)
{
	enum { RGBA = 0x10b5, FLOAT = 0x10de, ARRAY_2D = 0x10f3, BUFFER_1D = 0x10f6 };
	const uint64_t format = (uint64_t)FLOAT << 32 | RGBA, anything = 0xdeadull << 32;

	(void)state;
	/* a 2D array of 10 x 4, 3 layers */
	assert_int_equal(SIZE(clCreateImage, format, ARRAY_2D, 10, 4, 0, 3, 0), 16 * 10 * 4 * 3);
	/* a view of a buffer's bytes */
	assert_int_equal(SIZE(clCreateImage, format, BUFFER_1D, 10, 0, 0, 0, 0xb0), 0);
	assert_int_equal(SIZE(clCreateImage2D, format, 10, 4), 16 * 10 * 4);
	assert_int_equal(SIZE(clCreateImage3D, format, 10, 4, 3), 16 * 10 * 4 * 3);
	assert_int_equal(SIZE(clCreateSubBuffer, 4096), 4096);
	/* what a register holds above an argument of 4 bytes is anything */
	assert_int_equal(SIZE(clCreatePipe, anything | 8, anything | 5), 40);
	/* a 2D array of layout 8_8_8_8, 10 x 4, 3 layers */
	assert_int_equal(SIZE(zeImageCreate, 3ull << 32 | 1, 4, 10, 1ull << 32 | 4, 3),
			 4 * 10 * 4 * 3);
	assert_int_equal(SIZE(cuArrayCreate_v2, 64, 0, 4ull << 32 | GT_CUDA_FLOAT), 64 * 16);
	assert_int_equal(SIZE(cuMipmappedArrayCreate, 16, 8, 4, 1ull << 32 | 1, 0, anything | 2),
			 16 * 8 * 4 + 8 * 4 * 2);
	assert_int_equal(
		SIZE(cuArray3DCreate_v2, 16, 8, 4, 1ull << 32 | 1, anything | GT_CUDA_ARRAY_SPARSE),
		0);
	assert_int_equal(SIZE(cuMemAllocPitch_v2, 512, 10), 5120);
	assert_int_equal(SIZE(zeMemOpenIpcHandle, 0), 0);
}

/* Unknown to attach: these calls do not state the size of the memory of another API. */
static const enum gt_function_id sizes_unknown[] = {
	GT_FN_clCreateFromGLBuffer,
	GT_FN_clCreateFromGLTexture,
	GT_FN_clCreateFromGLTexture2D,
	GT_FN_clCreateFromGLTexture3D,
	GT_FN_clCreateFromGLRenderbuffer,
	GT_FN_clCreateFromEGLImageKHR,
	GT_FN_clCreateFromVA_APIMediaSurfaceINTEL,
	GT_FN_zeMemOpenIpcHandle,
	GT_FN_zexMemOpenIpcHandles,
};

static void every_size_doors_query_can_be_inferred_with_listed_exceptions(void **state)
{
	(void)state;
	for (unsigned i = 1; i < GT_FN_COUNT; i++) {
		bool is_listed = false;

		for (size_t k = 0; k < sizeof sizes_unknown / sizeof *sizes_unknown; k++)
			is_listed |= sizes_unknown[k] == i;
		if ((gt_functions[i].size.from == GT_ASK && !gt_layouts[i].formula) != is_listed)
			fail_msg("%s: attach knows its size or it is listed above, not both",
				 gt_function_names[i]);
	}
}

static uint64_t array(uint32_t format, uint32_t channels, uint32_t flags, uint32_t levels)
{
	return gt_cuda_array_bytes(&(struct gt_cuda_array){ .width = 16,
							    .height = 8,
							    .depth = 6,
							    .format = format,
							    .channels = channels,
							    .flags = flags },
				   levels);
}

static void cuda_array_sizes_depend_on_their_format(void **state)
{
	(void)state;
	assert_int_equal(array(GT_CUDA_FLOAT, 4, 0, 1), 16 * 16 * 8 * 6);
	assert_int_equal(array(GT_CUDA_HALF, 2, 0, 1), 4 * 16 * 8 * 6);
	/* the format says how many channels */
	assert_int_equal(array(GT_CUDA_SNORM16X4, 1, 0, 1), 8 * 16 * 8 * 6);
	/* blocks of 4 x 4, of 8 and of 16 bytes */
	assert_int_equal(array(GT_CUDA_BC1, 4, 0, 1), 8 * 4 * 2 * 6);
	assert_int_equal(array(GT_CUDA_BC7_SRGB, 4, 0, 1), 16 * 4 * 2 * 6);
	assert_int_equal(array(GT_CUDA_BC1, 4, 0, 3), 8 * (4 * 2 * 6 + 2 * 1 * 3 + 1 * 1 * 1));
	/* each level has half of each side, and all the layers */
	assert_int_equal(array(GT_CUDA_UINT8, 1, 0, 2), 16 * 8 * 6 + 8 * 4 * 3);
	assert_int_equal(array(GT_CUDA_UINT8, 1, GT_CUDA_ARRAY_LAYERED, 2), 16 * 8 * 6 + 8 * 4 * 6);
	assert_int_equal(array(GT_CUDA_UINT8, 1, GT_CUDA_ARRAY_CUBEMAP, 2), 16 * 8 * 6 + 8 * 4 * 6);
	/* what gets its memory later has none */
	assert_int_equal(array(GT_CUDA_UINT8, 1, GT_CUDA_ARRAY_SPARSE, 1), 0);
	assert_int_equal(array(GT_CUDA_UINT8, 1, GT_CUDA_ARRAY_DEFERRED, 1), 0);
	/* no more levels than a number has bits */
	assert_int_equal(gt_cuda_array_bytes(&(struct gt_cuda_array){ .width = 1,
								      .format = GT_CUDA_UINT8,
								      .channels = 1 },
					     UINT32_MAX),
			 32);
}

static void a_primary_context_is_found_by_its_device(void **state)
{
	struct gt_event e = { .function = GT_FN_cuDevicePrimaryCtxRetain, .handle = 0xc0 };
	struct gt_contexts c = { .count = 0 };

	(void)state;
	assert_true(gt_contexts_apply(&c, &e, 1));
	assert_true(gt_contexts_apply(&c, &e, 1));
	assert_int_equal(gt_contexts_owner(&c, 0), 0xc0);
	e = (struct gt_event){ .function = GT_FN_cuDevicePrimaryCtxRelease_v2,
			       .handle = 7ull << 32 | 1 };
	assert_true(gt_contexts_apply(&c, &e, 0));
	assert_int_equal(e.handle, 0xc0);
	assert_int_equal(c.count, 1);
	e.handle = 1;
	assert_true(gt_contexts_apply(&c, &e, 0));
	assert_int_equal(c.count, 0);
	e.handle = 1;
	assert_false(gt_contexts_apply(&c, &e, 0));
	/* of two nobody knows which is current */
	gt_contexts_apply(&c, &(struct gt_event){ .function = GT_FN_cuCtxCreate_v2, .handle = 1 },
			  0);
	gt_contexts_apply(&c, &(struct gt_event){ .function = GT_FN_cuCtxCreate_v2, .handle = 2 },
			  0);
	assert_int_equal(gt_contexts_owner(&c, 0), 0);
}

static void made(struct gt_contexts *c, uint64_t handle)
{
	gt_contexts_apply(
		c, &(struct gt_event){ .function = GT_FN_cuCtxCreate_v2, .handle = handle }, 0);
}

static void an_unseen_context_is_not_mistaken_for_another(void **state)
{
	struct gt_contexts c = { .count = 0 };
	struct gt_event retain = { .function = GT_FN_cuDevicePrimaryCtxRetain, .handle = 0xc0 };

	(void)state;
	/* something is made in a context that was there before */
	assert_int_equal(gt_contexts_owner(&c, 0), 0);
	made(&c, 1);
	assert_int_equal(gt_contexts_owner(&c, 0), 0);
	gt_contexts_apply(&c, &(struct gt_event){ .function = GT_FN_cuCtxDestroy_v2, .handle = 1 },
			  0);
	/* nobody knows how often it was retained before: a release may not be its end */
	gt_contexts_apply(&c, &retain, 0);
	assert_int_equal(gt_contexts_owner(&c, 0), 0);
	/* and nothing was asked for before the first one was seen */
	c = (struct gt_contexts){ .count = 0 };
	made(&c, 1);
	assert_int_equal(gt_contexts_owner(&c, 0), 1);
	/* one too many to be remembered is one that was not seen */
	for (uint64_t i = 2; i <= GT_CONTEXTS_MAX + 1; i++)
		made(&c, i);
	for (uint64_t i = 2; i <= GT_CONTEXTS_MAX; i++)
		gt_contexts_apply(
			&c, &(struct gt_event){ .function = GT_FN_cuCtxDestroy_v2, .handle = i },
			0);
	assert_int_equal(c.count, 1);
	assert_int_equal(gt_contexts_owner(&c, 0), 0);
}

static void the_device_is_that_of_the_current_context(void **state)
{
	const uint64_t none[GT_LAYOUT_WORDS] = { 0 }, at_3[GT_LAYOUT_WORDS] = { 3 };
	/* device 5; and the host's memory */
	const uint64_t device[GT_LAYOUT_WORDS] = { UINT64_C(5) << 32 | 1 };
	const uint64_t host[GT_LAYOUT_WORDS] = { 2 };
	struct gt_event retain = { .function = GT_FN_cuDevicePrimaryCtxRetain, .handle = 0xc1 };
	const enum gt_function_id alloc = GT_FN_cuMemAlloc_v2;
	struct gt_contexts c = { .count = 0 };

	(void)state;
	assert_int_equal(gt_contexts_device(&c, alloc, 0, none), GT_CONTEXTS_ANY);
	gt_contexts_apply(&c, &retain, 1);
	/* the only one, whether it was seen to be made current or not */
	assert_int_equal(gt_contexts_device(&c, alloc, 0, none), 1);
	assert_int_equal(gt_contexts_device(&c, alloc, 0xc1, none), 1);
	assert_int_equal(gt_contexts_device(&c, alloc, 0xc2, none), GT_CONTEXTS_ANY);
	retain.handle = 0xc2;
	gt_contexts_apply(&c, &retain, 2);
	assert_int_equal(gt_contexts_device(&c, alloc, 0, none), GT_CONTEXTS_ANY);
	assert_int_equal(gt_contexts_device(&c, alloc, 0xc1, none), 1);
	assert_int_equal(gt_contexts_device(&c, alloc, 0xc2, none), 2);
	assert_int_equal(gt_contexts_owner(&c, 0xc2), 0xc2);
	/* these say it themselves */
	assert_int_equal(gt_contexts_device(&c, GT_FN_cuCtxCreate_v4, 0xc1, at_3), 3);
	assert_int_equal(gt_contexts_device(&c, GT_FN_cuGreenCtxCreate, 0xc1, at_3), 3);
	assert_int_equal(gt_contexts_device(&c, GT_FN_cuMemCreate, 0xc1, device), 5);
	assert_int_equal(gt_contexts_device(&c, GT_FN_cuMemPoolCreate, 0xc1, host), -1);
}

/* A question of a process and the answer. */
static struct gt_probe_call name_of(uint64_t driver, const char *name)
{
	struct gt_probe_call c = { .row = GT_PROBE_ASKED + GT_ASKED_PLATFORM_NAME,
				   .words = { 0x1000, 0x0902, 64, 0x2000 },
				   .current = driver };

	snprintf((char *)c.copies, sizeof c.copies, "%s", name);
	return c;
}

static struct gt_probe_call list_of(uint16_t count, bool with_count)
{
	return (struct gt_probe_call){ .row = GT_PROBE_ASKED + GT_ASKED_PLATFORMS,
				       .words = { count, 0x1000, with_count ? 0x2000 : 0 },
				       .array = count,
				       .array_count = count };
}

static void objects_are_of_the_platform_of_their_driver(void **state)
{
	const uint64_t drivers[] = { 0xa0, 0xb0, 0xb0 };
	struct gt_platforms f = { .count = 0 };
	struct gt_places p = { .count = 0 };
	struct gt_probe_call c = name_of(0xa0, "Portable Computing Language");

	(void)state;
	gt_platforms_take(&f, &p, &c, NULL);
	/* its driver may have other platforms */
	assert_int_equal(gt_platforms_place(&f, 0xa0), 0);
	c = list_of(1, false);
	gt_platforms_take(&f, &p, &c, drivers);
	assert_int_equal(gt_platforms_place(&f, 0xa0), 0);
	c = list_of(3, true);
	gt_platforms_take(&f, &p, &c, drivers);
	assert_string_equal(gt_places_get(&p, gt_platforms_place(&f, 0xa0))->name,
			    "Portable Computing Language");
	/* this one has */
	c = name_of(0xb0, "one of two");
	gt_platforms_take(&f, &p, &c, NULL);
	assert_int_equal(gt_platforms_place(&f, 0xb0), 0);
	assert_int_equal(gt_platforms_place(&f, 0xc0), 0);
	assert_int_equal(gt_platforms_place(&f, 0), 0);
	/* a question for something else, and one that failed */
	c = name_of(0xa0, "OpenCL 3.0");
	c.words[1] = 0x0901;
	gt_platforms_take(&f, &p, &c, NULL);
	c = name_of(0xa0, "nonsense");
	c.ret = (uint32_t)-30;
	gt_platforms_take(&f, &p, &c, NULL);
	assert_string_equal(gt_places_get(&p, gt_platforms_place(&f, 0xa0))->name,
			    "Portable Computing Language");
	/* a list that is not whole */
	c = list_of(2, true);
	c.array_count = 3;
	gt_platforms_take(&f, &p, &c, drivers);
	assert_int_equal(gt_platforms_place(&f, 0xa0), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sizes_are_computed_from_dimensions),
		cmocka_unit_test(every_size_doors_query_can_be_inferred_with_listed_exceptions),
		cmocka_unit_test(cuda_array_sizes_depend_on_their_format),
		cmocka_unit_test(a_primary_context_is_found_by_its_device),
		cmocka_unit_test(an_unseen_context_is_not_mistaken_for_another),
		cmocka_unit_test(the_device_is_that_of_the_current_context),
		cmocka_unit_test(objects_are_of_the_platform_of_their_driver),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
