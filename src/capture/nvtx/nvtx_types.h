/* SPDX-License-Identifier: MIT */
/*
 * nvtx_types.h - what NVTX and a library that it loads have in common, versions 2 and 3.
 *
 * NVTX lies in the headers of each program and library that uses it. At the first call, each of
 * these loads the library in NVTX_INJECTION64_PATH and calls its InitializeInjectionNvtx2 with a
 * function that gives tables of pointers to NVTX's own function pointers. Declared here, so that no
 * CUDA toolkit is needed; compared with NVTX's header where there is one (nvtx_check.c).
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* The tables of functions: of each, its index. */
enum gt_nvtx_module { GT_NVTX_CORE = 1, GT_NVTX_CORE2 = 5 };

enum gt_nvtx_core {
	GT_NVTX_RangeStartEx = 4,
	GT_NVTX_RangeStartA,
	GT_NVTX_RangeStartW,
	GT_NVTX_RangeEnd,
	GT_NVTX_RangePushEx,
	GT_NVTX_RangePushA,
	GT_NVTX_RangePushW,
	GT_NVTX_RangePop,
	GT_NVTX_NameCategoryA,
	GT_NVTX_NameCategoryW,
};

enum gt_nvtx_core2 {
	GT_NVTX_DomainRangeStartEx = 2,
	GT_NVTX_DomainRangeEnd,
	GT_NVTX_DomainRangePushEx,
	GT_NVTX_DomainRangePop,
	GT_NVTX_DomainNameCategoryA = 8,
	GT_NVTX_DomainNameCategoryW,
	GT_NVTX_DomainRegisterStringA,
	GT_NVTX_DomainRegisterStringW,
	GT_NVTX_DomainCreateA,
	GT_NVTX_DomainCreateW,
	GT_NVTX_CORE2_SIZE = 16,
};

typedef void gt_nvtx_fn(void);

/* What getExportTable(GT_NVTX_CALLBACKS) gives. */
enum { GT_NVTX_CALLBACKS = 1 };
struct gt_nvtx_callbacks {
	size_t struct_size;
	/* `table`: an array of pointers to function pointers; 0: there is none. */
	int (*get_table)(enum gt_nvtx_module module, gt_nvtx_fn ****table, unsigned *size);
};
typedef const void *gt_nvtx_export_fn(uint32_t id);
typedef int gt_nvtx_init_fn(gt_nvtx_export_fn *get_export_table);

/* Attributes of a range; newer versions may append. */
enum gt_nvtx_message { GT_NVTX_ASCII = 1, GT_NVTX_WIDE, GT_NVTX_REGISTERED };
enum gt_nvtx_payload {
	GT_NVTX_UINT64 = 1,
	GT_NVTX_INT64,
	GT_NVTX_DOUBLE,
	GT_NVTX_UINT32,
	GT_NVTX_INT32,
	GT_NVTX_FLOAT
};
union gt_nvtx_text_value {
	const char *ascii;
	const wchar_t *wide;
	const void *registered;
};
struct gt_nvtx_attributes {
	uint16_t version, size;
	uint32_t category;
	int32_t color_type;
	uint32_t color;
	int32_t payload_type, reserved;
	union {
		uint64_t u64;
		int64_t i64;
		double f64;
		uint32_t u32;
		int32_t i32;
		float f32;
	} payload;
	int32_t message_type;
	union gt_nvtx_text_value message;
};

/* An extension gives its functions' places to InitializeInjectionNvtxExtension. */
struct gt_nvtx_segment {
	size_t id, count;
	gt_nvtx_fn **slots; /* NULL: nobody has it yet */
};
struct gt_nvtx_extension {
	uint16_t version, size, id, compatible;
	size_t segment_count;
	struct gt_nvtx_segment *segments;
	const void *get_export, *info;
};

/* The one for memory: its functions, and what they are given. */
enum { GT_NVTX_MEMORY = 1 };
enum gt_nvtx_memory {
	GT_NVTX_MemHeapRegister,
	GT_NVTX_MemHeapUnregister,
	GT_NVTX_MemHeapReset,
	GT_NVTX_MemRegionsRegister,
	GT_NVTX_MemRegionsResize,
	GT_NVTX_MemRegionsUnregister,
};
enum { GT_NVTX_SUB_ALLOCATOR = 1, GT_NVTX_VIRTUAL_ADDRESS = 1 };

struct gt_nvtx_span {
	size_t bytes;
	const void *address;
};

struct gt_nvtx_heap {
	uint16_t compatible, size;
	uint32_t reserved, usage, type;
	size_t span_size;
	const struct gt_nvtx_span *span; /* of this type: a virtual address */
	uint32_t category, message_type;
	union gt_nvtx_text_value message;
};

struct gt_nvtx_regions {
	uint16_t compatible, size;
	uint32_t type;
	const void *heap;
	size_t count, element_size;
	const void *elements;
	const void **handles; /* to be filled in; NULL: the program needs none */
};

struct gt_nvtx_resize {
	uint16_t compatible, size;
	uint32_t type;
	size_t count, element_size;
	const void *elements;
};

/* By address or by handle: each is a word. */
struct gt_nvtx_refs {
	uint16_t compatible, size;
	uint32_t type;
	size_t count, element_size;
	const void *elements;
};
