/* SPDX-License-Identifier: MIT */
/*
 * cuda_abi.h - constants of CUDA, for code that is built without its header.
 *
 * The CUDA door is built with the header, and compares them at compile time.
 */
#pragma once

#include <stdint.h>

/*
 * The first 32-bit word of the wrapper around code that nvcc embeds in a program. Code that the
 * program loads itself has no wrapper.
 */
enum { GT_CUDA_CODE_WRAPPER = 0x466243b1 };

enum gt_cuda_array_flag {
	GT_CUDA_ARRAY_LAYERED = 0x01,
	GT_CUDA_ARRAY_CUBEMAP = 0x04,
	GT_CUDA_ARRAY_SPARSE = 0x40,
	GT_CUDA_ARRAY_DEFERRED = 0x80,
};

/* CUarray_format, the values on which sizes depend; a range is given by its first and last. */
/* clang-format off */
enum gt_cuda_format {
	GT_CUDA_UINT8 = 0x01, GT_CUDA_UINT16, GT_CUDA_UINT32,
	GT_CUDA_INT8 = 0x08, GT_CUDA_INT16, GT_CUDA_INT32,
	GT_CUDA_HALF = 0x10,
	GT_CUDA_FLOAT = 0x20,
	GT_CUDA_BC1 = 0x91, GT_CUDA_BC1_SRGB, GT_CUDA_BC4 = 0x97, GT_CUDA_BC4_SNORM,
	GT_CUDA_BC7_SRGB = 0x9e,
	GT_CUDA_UNORM8X1 = 0xc0, GT_CUDA_UNORM8X2, GT_CUDA_UNORM8X4,
	GT_CUDA_UNORM16X1, GT_CUDA_UNORM16X2, GT_CUDA_UNORM16X4,
	GT_CUDA_SNORM8X1, GT_CUDA_SNORM8X2, GT_CUDA_SNORM8X4,
	GT_CUDA_SNORM16X1, GT_CUDA_SNORM16X2, GT_CUDA_SNORM16X4,
};
/* clang-format on */

/* CUDA_ARRAY3D_DESCRIPTOR; missing dimensions are 0. */
struct gt_cuda_array {
	uint64_t width, height, depth;
	uint32_t format, channels, flags;
};

/*
 * Bytes of all levels, without the driver's padding; each level halves each side of the one before.
 * A plain array has one level.
 */
uint64_t gt_cuda_array_bytes(const struct gt_cuda_array *a, uint32_t levels);
