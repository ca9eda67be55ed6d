/* SPDX-License-Identifier: MIT */
/*
 * opencl_abi.h - the little of OpenCL that the tool itself calls, so that it is built the same
 * where its headers are not. tests/unit/test_abi compares it with them.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define GT_CL_LIBRARY "libOpenCL.so.1"

/* clang-format off */
enum {
	GT_CL_PLATFORM_NAME = 0x0902, GT_CL_PLATFORM_VERSION = 0x0901,
	GT_CL_PLATFORM_EXTENSIONS = 0x0904,
	GT_CL_DEVICE_NAME = 0x102b, GT_CL_DEVICE_GLOBAL_MEM_SIZE = 0x101f,
	GT_CL_DRIVER_VERSION = 0x102d, GT_CL_MEM_READ_WRITE = 1,
};
/* clang-format on */
#define GT_CL_DEVICE_TYPE_ALL 0xffffffffu

typedef int32_t gt_cl_get_platforms_fn(uint32_t room, void **platforms, uint32_t *count);
typedef int32_t gt_cl_get_devices_fn(void *platform, uint64_t type, uint32_t room, void **devices,
				     uint32_t *count);
typedef int32_t gt_cl_get_info_fn(void *object, uint32_t what, size_t room, void *value,
				  size_t *size);
typedef void *gt_cl_create_context_fn(const intptr_t *properties, uint32_t count,
				      void *const *devices, void *callback, void *context,
				      int32_t *result);
typedef void *gt_cl_create_buffer_fn(void *context, uint64_t flags, size_t size, void *host,
				     int32_t *result);
typedef int32_t gt_cl_release_fn(void *object);
