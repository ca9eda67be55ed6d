/* SPDX-License-Identifier: MIT */
/* arg_layout.c - what doors ask the driver for, worked out from what the call itself tells. */
#include "capture/ebpf/arg_layout.h"

#include "api/cuda_array.h"
#include "api/cuda_code.h"

#define VALUE(fn, arg)                                                                             \
	{                                                                                          \
		fn##__##arg, GT_PIECE_VALUE                                                        \
	}
#define BEHIND(fn, arg, at)                                                                        \
	{                                                                                          \
		fn##__##arg, at                                                                    \
	}

/* cl_image_format; cl_image_desc: type, width, height, depth, array size, whose bytes it shows. */
#define CL_IMAGE(fn)                                                                               \
	BEHIND(fn, image_format, 0), BEHIND(fn, image_desc, 0), BEHIND(fn, image_desc, 8),         \
		BEHIND(fn, image_desc, 16), BEHIND(fn, image_desc, 24),                            \
		BEHIND(fn, image_desc, 32), BEHIND(fn, image_desc, 64)

/* CUDA_ARRAY3D_DESCRIPTOR: width, height, depth, format and channels, flags. */
#define CUDA_ARRAY(fn, arg)                                                                        \
	BEHIND(fn, arg, 0), BEHIND(fn, arg, 8), BEHIND(fn, arg, 16), BEHIND(fn, arg, 24),          \
		BEHIND(fn, arg, 32)

/* clang-format off */
static const struct {
	enum gt_function_id function;
	struct gt_piece pieces[GT_TOLD_PIECES];
	size_t count;
} table[] = {
#define TOLD(fn, n, ...) { .function = GT_FN_##fn, .pieces = { __VA_ARGS__ }, .count = n }
	TOLD(clCreateSubBuffer, 1, BEHIND(clCreateSubBuffer, buffer_create_info, 8)),
	TOLD(clCreateImage, 7, CL_IMAGE(clCreateImage)),
	TOLD(clCreateImageWithProperties, 7, CL_IMAGE(clCreateImageWithProperties)),
	TOLD(clCreateImage2D, 3, BEHIND(clCreateImage2D, image_format, 0),
	     VALUE(clCreateImage2D, image_width), VALUE(clCreateImage2D, image_height)),
	TOLD(clCreateImage3D, 4, BEHIND(clCreateImage3D, image_format, 0),
	     VALUE(clCreateImage3D, image_width), VALUE(clCreateImage3D, image_height),
	     VALUE(clCreateImage3D, image_depth)),
	TOLD(clCreatePipe, 2, VALUE(clCreatePipe, pipe_packet_size),
	     VALUE(clCreatePipe, pipe_max_packets)),
	/* where an array is filled in and nobody wants to know how far: its room */
	TOLD(clCreateKernelsInProgram, 1, VALUE(clCreateKernelsInProgram, num_kernels)),
	TOLD(clCreateSubDevices, 1, VALUE(clCreateSubDevices, num_devices)),
	/* ze_image_desc_t: flags and type, layout, width, height and depth, array levels */
	TOLD(zeImageCreate, 5, BEHIND(zeImageCreate, desc, 16), BEHIND(zeImageCreate, desc, 24),
	     BEHIND(zeImageCreate, desc, 48), BEHIND(zeImageCreate, desc, 56),
	     BEHIND(zeImageCreate, desc, 64)),
	TOLD(cuMemAllocPitch_v2, 2, BEHIND(cuMemAllocPitch_v2, pPitch, 0),
	     VALUE(cuMemAllocPitch_v2, Height)),
	/* CUDA_ARRAY_DESCRIPTOR: width, height, format and channels */
	TOLD(cuArrayCreate_v2, 3, BEHIND(cuArrayCreate_v2, pAllocateArray, 0),
	     BEHIND(cuArrayCreate_v2, pAllocateArray, 8),
	     BEHIND(cuArrayCreate_v2, pAllocateArray, 16)),
	TOLD(cuArray3DCreate_v2, 5, CUDA_ARRAY(cuArray3DCreate_v2, pAllocateArray)),
	TOLD(cuMipmappedArrayCreate, 6, CUDA_ARRAY(cuMipmappedArrayCreate, pMipmappedArrayDesc),
	     VALUE(cuMipmappedArrayCreate, numMipmapLevels)),
	/* what the code begins with */
	TOLD(cuLibraryLoadData, 1, BEHIND(cuLibraryLoadData, code, 0)),
	/* a primary context is released by its device */
	TOLD(cuDevicePrimaryCtxRetain, 1, VALUE(cuDevicePrimaryCtxRetain, dev)),
#undef TOLD
};
/* clang-format on */

size_t gt_told_pieces(enum gt_function_id function, struct gt_piece out[GT_TOLD_PIECES])
{
	for (size_t i = 0; i < sizeof table / sizeof *table; i++)
		if (table[i].function == function) {
			memcpy(out, table[i].pieces, sizeof table[i].pieces);
			return table[i].count;
		}
	return 0;
}

static uint32_t low(uint64_t word)
{
	return (uint32_t)word;
}

static uint32_t high(uint64_t word)
{
	return (uint32_t)(word >> 32);
}

/* Bytes of a cl_image_format: channel order and type. */
static uint64_t cl_element(uint64_t format)
{
	static const uint8_t channels[] = { 1, 1, 2, 2, 3, 4, 4, 4, 1, 1,
					    2, 3, 4, 1, 1, 3, 4, 4, 4, 4 }; /* CL_R … CL_ABGR */
	static const uint8_t bytes[] = { 1, 2, 1, 2, 0, 0, 0, 1, 2, 4, 1, 2, 4, 2, 4, 4, 0 };
	uint32_t order = low(format) - 0x10b0, type = high(format) - 0x10d0;

	if (order >= sizeof channels || type >= sizeof bytes)
		return 0;
	if (bytes[type])
		return (uint64_t)channels[order] * bytes[type];
	/* all channels in one word: 565, 555, 101010, 101010_2 */
	return type < 6 ? 2 : 4;
}

static uint64_t cl_image(const uint64_t *p)
{
	enum { BUFFER, IMAGE2D, IMAGE3D, ARRAY2D, IMAGE1D, ARRAY1D, BUFFER1D };
	uint32_t type = low(p[1]) - 0x10f0;
	uint64_t size = cl_element(p[0]) * p[2];

	/* another object's bytes are counted there */
	if (p[6])
		return 0;
	if (type == IMAGE2D || type == IMAGE3D || type == ARRAY2D)
		size *= p[3];
	if (type == IMAGE3D)
		size *= p[4];
	return type == ARRAY1D || type == ARRAY2D ? size * p[5] : size;
}

static uint64_t ze_image(const uint64_t *p)
{
	enum { IMAGE1D, ARRAY1D, IMAGE2D, ARRAY2D, IMAGE3D, BUFFER };
	static const uint8_t bytes[] = { 1, 2, 4, 2, 4, 4, 8, 8, 16, 4, 4, 2, 2, 2 };
	uint32_t type = high(p[0]), layout = low(p[1]);
	uint64_t size = p[2];

	if (type == BUFFER)
		return size;
	size *= layout < sizeof bytes ? bytes[layout] : 0;
	if (type >= IMAGE2D)
		size *= low(p[3]);
	if (type == IMAGE3D)
		size *= high(p[3]);
	return type == ARRAY1D || type == ARRAY2D ? size * low(p[4]) : size;
}

static uint64_t cu_array(const uint64_t *p, uint32_t levels)
{
	return gt_cuda_array_bytes(&(struct gt_cuda_array){ .width = p[0],
							    .height = p[1],
							    .depth = p[2],
							    .format = low(p[3]),
							    .channels = high(p[3]),
							    .flags = low(p[4]) },
				   levels);
}

uint64_t gt_told_size(enum gt_function_id function, const uint64_t p[GT_TOLD_PIECES])
{
	switch (function) {
	case GT_FN_clCreateSubBuffer: return p[0];
	case GT_FN_clCreateImage:
	case GT_FN_clCreateImageWithProperties: return cl_image(p);
	case GT_FN_clCreateImage2D: return cl_element(p[0]) * p[1] * p[2];
	case GT_FN_clCreateImage3D: return cl_element(p[0]) * p[1] * p[2] * p[3];
	case GT_FN_clCreatePipe: return (uint64_t)low(p[0]) * low(p[1]);
	case GT_FN_zeImageCreate: return ze_image(p);
	case GT_FN_cuMemAllocPitch_v2: return p[0] * p[1];
	case GT_FN_cuArrayCreate_v2: return cu_array((uint64_t[]){ p[0], p[1], 0, p[2], 0 }, 1);
	case GT_FN_cuArray3DCreate_v2: return cu_array(p, 1);
	case GT_FN_cuMipmappedArrayCreate: return cu_array(p, low(p[5]));
	default: return 0;
	}
}

enum gt_function_id gt_told_row(enum gt_function_id function, const uint64_t p[GT_TOLD_PIECES])
{
	return function == GT_FN_cuLibraryLoadData && low(p[0]) == GT_CUDA_CODE_WRAPPER ?
		       GT_FN_cudaOwnCode :
		       function;
}
