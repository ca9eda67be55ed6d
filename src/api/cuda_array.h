/* SPDX-License-Identifier: MIT */
/*
 * cuda_array.h - bytes of a CUDA array, from its descriptor.
 *
 * What the dimensions come to, without the driver's padding. CUDA's own header is not needed: those
 * who have it check the numbers here.
 */
#pragma once

#include <stdint.h>

enum gt_cuda_array_flag {
	GT_CUDA_ARRAY_LAYERED = 0x01,
	GT_CUDA_ARRAY_CUBEMAP = 0x04,
	GT_CUDA_ARRAY_SPARSE = 0x40,
	GT_CUDA_ARRAY_DEFERRED = 0x80,
};

/* CUarray_format, as far as bytes depend on it; of those in between each is like its neighbours. */
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

/* CUDA_ARRAY3D_DESCRIPTOR; dimensions that it does not have are 0. */
struct gt_cuda_array {
	uint64_t width, height, depth;
	uint32_t format, channels, flags;
};

/* With so many levels, each side half as long as in the one before; a plain array is one level. */
uint64_t gt_cuda_array_bytes(const struct gt_cuda_array *a, uint32_t levels);
