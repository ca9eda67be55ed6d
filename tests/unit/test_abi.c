/* SPDX-License-Identifier: MIT */
/* test_abi.c - our own declarations of OpenCL and Level Zero agree with their headers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "cli/driver_abi.h"

#ifdef HAVE_OPENCL
#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl.h>
#endif
#ifdef HAVE_LEVELZERO
#include <level_zero/ze_api.h>
#endif

static void opencl_abi_matches_its_headers(void **state)
{
	(void)state;
#ifdef HAVE_OPENCL
	assert_int_equal(GT_CL_PLATFORM_NAME, CL_PLATFORM_NAME);
	assert_int_equal(GT_CL_PLATFORM_VERSION, CL_PLATFORM_VERSION);
	assert_int_equal(GT_CL_PLATFORM_EXTENSIONS, CL_PLATFORM_EXTENSIONS);
	assert_int_equal(GT_CL_DEVICE_NAME, CL_DEVICE_NAME);
	assert_int_equal(GT_CL_DEVICE_GLOBAL_MEM_SIZE, CL_DEVICE_GLOBAL_MEM_SIZE);
	assert_int_equal(GT_CL_DRIVER_VERSION, CL_DRIVER_VERSION);
	assert_int_equal(GT_CL_MEM_READ_WRITE, CL_MEM_READ_WRITE);
	assert_int_equal(GT_CL_DEVICE_TYPE_ALL, CL_DEVICE_TYPE_ALL);
	assert_int_equal(sizeof(int32_t), sizeof(cl_int));
#else
	skip();
#endif
}

static void levelzero_abi_matches_its_headers(void **state)
{
	(void)state;
#ifdef HAVE_LEVELZERO
	assert_int_equal(GT_ZE_DEVICE_PROPERTIES, ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES);
	assert_int_equal(GT_ZE_DEVICE_MEMORY_PROPERTIES,
			 ZE_STRUCTURE_TYPE_DEVICE_MEMORY_PROPERTIES);
	assert_int_equal(GT_ZE_CONTEXT_DESC, ZE_STRUCTURE_TYPE_CONTEXT_DESC);
	assert_int_equal(GT_ZE_DEVICE_MEM_ALLOC_DESC, ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC);
	assert_int_equal(sizeof(struct gt_ze_device_properties), sizeof(ze_device_properties_t));
	assert_int_equal(offsetof(struct gt_ze_device_properties, name),
			 offsetof(ze_device_properties_t, name));
	assert_int_equal(offsetof(struct gt_ze_device_properties, uuid),
			 offsetof(ze_device_properties_t, uuid));
	assert_int_equal(sizeof(struct gt_ze_memory_properties),
			 sizeof(ze_device_memory_properties_t));
	assert_int_equal(offsetof(struct gt_ze_memory_properties, total_size),
			 offsetof(ze_device_memory_properties_t, totalSize));
	assert_int_equal(sizeof(struct gt_ze_context_desc), sizeof(ze_context_desc_t));
	assert_int_equal(sizeof(struct gt_ze_device_mem_alloc_desc),
			 sizeof(ze_device_mem_alloc_desc_t));
	assert_int_equal(offsetof(struct gt_ze_device_mem_alloc_desc, ordinal),
			 offsetof(ze_device_mem_alloc_desc_t, ordinal));
#else
	skip();
#endif
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(opencl_abi_matches_its_headers),
		cmocka_unit_test(levelzero_abi_matches_its_headers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
