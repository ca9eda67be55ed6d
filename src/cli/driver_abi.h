/* SPDX-License-Identifier: MIT */
/*
 * driver_abi.h - the little of OpenCL and Level Zero that the tool itself calls, so that it builds
 * the same without their headers. tests/unit/test_abi.c compares it with them.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define GT_ZE_LIBRARY "libze_loader.so.1"

enum {
	GT_ZE_DEVICE_PROPERTIES = 0x3,
	GT_ZE_DEVICE_MEMORY_PROPERTIES = 0x7,
	GT_ZE_CONTEXT_DESC = 0xd,
	GT_ZE_DEVICE_MEM_ALLOC_DESC = 0x15,
};

struct gt_ze_device_properties {
	uint32_t stype;
	void *next;
	uint32_t type, vendor, device, flags, subdevice, clock;
	uint64_t max_alloc;
	uint32_t max_contexts, max_priority, threads_per_eu, simd_width, eus_per_subslice;
	uint32_t subslices_per_slice, slices;
	uint64_t timer_resolution;
	uint32_t timestamp_bits, kernel_timestamp_bits;
	uint8_t uuid[16];
	char name[256];
};

struct gt_ze_memory_properties {
	uint32_t stype;
	void *next;
	uint32_t flags, max_clock, max_bus_width;
	uint64_t total_size;
	char name[256];
};

struct gt_ze_context_desc {
	uint32_t stype;
	const void *next;
	uint32_t flags;
};

struct gt_ze_device_mem_alloc_desc {
	uint32_t stype;
	const void *next;
	uint32_t flags, ordinal;
};

typedef uint32_t gt_ze_init_fn(uint32_t flags);
typedef uint32_t gt_ze_get_drivers_fn(uint32_t *count, void **drivers);
typedef uint32_t gt_ze_get_devices_fn(void *driver, uint32_t *count, void **devices);
typedef uint32_t gt_ze_get_properties_fn(void *device, struct gt_ze_device_properties *out);
typedef uint32_t gt_ze_get_memory_fn(void *device, uint32_t *count,
				     struct gt_ze_memory_properties *out);
typedef uint32_t gt_ze_create_context_fn(void *driver, const struct gt_ze_context_desc *desc,
					 void **context);
typedef uint32_t gt_ze_alloc_fn(void *context, const struct gt_ze_device_mem_alloc_desc *desc,
				size_t size, size_t alignment, void *device, void **block);
typedef uint32_t gt_ze_free_fn(void *context, void *block);
typedef uint32_t gt_ze_destroy_context_fn(void *context);

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
