/* SPDX-License-Identifier: MIT */
/*
 * levelzero_abi.h - the little of Level Zero that the tool itself calls, so that it is built the
 * same where its headers are not. tests/unit/test_abi compares it with them.
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
