/* SPDX-License-Identifier: MIT */
/* cuda_abi.c - bytes of a CUDA array, from its descriptor. */
#include "api/cuda_abi.h"

#include <stdbool.h>

enum { LEVELS_MAX = 32 };

static const uint8_t channel_bytes[] = {
	[GT_CUDA_UINT8] = 1, [GT_CUDA_UINT16] = 2, [GT_CUDA_UINT32] = 4, [GT_CUDA_INT8] = 1,
	[GT_CUDA_INT16] = 2, [GT_CUDA_INT32] = 4,  [GT_CUDA_HALF] = 2,   [GT_CUDA_FLOAT] = 4,
};

/* All channels together, whatever number of channels the descriptor gives. */
static const uint8_t whole_bytes[] = { 1, 2, 4, 2, 4, 8, 1, 2, 4, 2, 4, 8 };

/* In blocks of 4 × 4. */
static bool is_compressed(uint32_t format)
{
	return format >= GT_CUDA_BC1 && format <= GT_CUDA_BC7_SRGB;
}

/* Bytes of an element, or of a block. */
static uint64_t element_bytes(const struct gt_cuda_array *a)
{
	uint32_t format = a->format;

	if (format < sizeof channel_bytes && channel_bytes[format])
		return (uint64_t)channel_bytes[format] * a->channels;
	if (format >= GT_CUDA_UNORM8X1 && format <= GT_CUDA_SNORM16X4)
		return whole_bytes[format - GT_CUDA_UNORM8X1];
	if (is_compressed(format))
		return format == GT_CUDA_BC1 || format == GT_CUDA_BC1_SRGB ||
				       format == GT_CUDA_BC4 || format == GT_CUDA_BC4_SNORM ?
			       8 :
			       16;
	/* video formats, and future ones: at least this many */
	return a->channels;
}

static uint64_t at_least_one(uint64_t n)
{
	return n ? n : 1;
}

static uint64_t level_bytes(const struct gt_cuda_array *a, unsigned level)
{
	bool has_layers = a->flags & (GT_CUDA_ARRAY_LAYERED | GT_CUDA_ARRAY_CUBEMAP);
	uint64_t width = at_least_one(a->width >> level), height = at_least_one(a->height >> level);
	/* every level has all layers */
	uint64_t depth = at_least_one(has_layers ? a->depth : a->depth >> level);

	if (is_compressed(a->format)) {
		width = (width + 3) / 4;
		height = (height + 3) / 4;
	}
	return element_bytes(a) * width * height * depth;
}

uint64_t gt_cuda_array_bytes(const struct gt_cuda_array *a, uint32_t levels)
{
	uint64_t bytes = 0;

	/* these get their memory later, from cuMemMapArrayAsync */
	if (a->flags & (GT_CUDA_ARRAY_SPARSE | GT_CUDA_ARRAY_DEFERRED))
		return 0;
	for (uint32_t i = 0; i < levels && i < LEVELS_MAX; i++)
		bytes += level_bytes(a, i);
	return bytes;
}
