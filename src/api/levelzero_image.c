/* SPDX-License-Identifier: MIT */
/* levelzero_image.c - bytes of a Level Zero image, from its descriptor and the driver's pitches. */
#include "api/levelzero_image.h"

#include <stdbool.h>

/*
 * A pixel takes `bytes` in the first plane. `chroma` is what the other planes have, together, for
 * every `x` × `y` pixels. Packed layouts store pixels in groups of `x`.
 */
struct layout {
	uint8_t bytes, chroma, x, y;
};

#define PLAIN(bytes_)                                                                              \
	{                                                                                          \
		.bytes = bytes_, .x = 1, .y = 1                                                    \
	}
#define PAIRS(bytes_)                                                                              \
	{                                                                                          \
		.bytes = bytes_, .x = 2, .y = 1                                                    \
	}
#define PLANES(bytes_, c, x_, y_)                                                                  \
	{                                                                                          \
		.bytes = bytes_, .chroma = c, .x = x_, .y = y_                                     \
	}

/* By ze_image_format_layout_t. */
static const struct layout layouts[] = {
	/* 8, 16, 32, 8_8, 8_8_8_8, 16_16, 16_16_16_16, 32_32, 32_32_32_32 */
	PLAIN(1),
	PLAIN(2),
	PLAIN(4),
	PLAIN(2),
	PLAIN(4),
	PLAIN(4),
	PLAIN(8),
	PLAIN(8),
	PLAIN(16),
	/* 10_10_10_2, 11_11_10, 5_6_5, 5_5_5_1, 4_4_4_4 */
	PLAIN(4),
	PLAIN(4),
	PLAIN(2),
	PLAIN(2),
	PLAIN(2),
	/* Y8, NV12 */
	PLAIN(1),
	PLANES(1, 2, 2, 2),
	/* YUYV, VYUY, YVYU, UYVY, AYUV */
	PAIRS(2),
	PAIRS(2),
	PAIRS(2),
	PAIRS(2),
	PLAIN(4),
	/* P010, Y410, P012, Y16, P016 */
	PLANES(2, 4, 2, 2),
	PLAIN(4),
	PLANES(2, 4, 2, 2),
	PLAIN(2),
	PLANES(2, 4, 2, 2),
	/* Y216, P216, P8, YUY2, A8P8, IA44, AI44 */
	PAIRS(4),
	PLANES(2, 4, 2, 1),
	PLAIN(1),
	PAIRS(2),
	PLAIN(2),
	PLAIN(1),
	PLAIN(1),
	/* Y416, Y210, I420, YV12 */
	PLAIN(8),
	PAIRS(4),
	PLANES(1, 2, 2, 2),
	PLANES(1, 2, 2, 2),
	/* 400P, 422H, 422V, 444P, RGBP, BRGP */
	PLAIN(1),
	PLANES(1, 2, 2, 1),
	PLANES(1, 2, 1, 2),
	PLANES(1, 2, 1, 1),
	PLANES(1, 2, 1, 1),
	PLANES(1, 2, 1, 1),
	/* 8_8_8, 16_16_16, 32_32_32 */
	PLAIN(3),
	PLAIN(6),
	PLAIN(12),
};

static uint64_t at_least_one(uint64_t n)
{
	return n ? n : 1;
}

static uint64_t divide_up(uint64_t n, uint64_t by)
{
	return n / by + (n % by != 0);
}

/* Rows may be padded to a tile or to a power of two, but not to anything. */
static bool is_row_pitch(uint64_t pitch, uint64_t row)
{
	return pitch >= row && pitch / 2 <= row + 32768;
}

/* Slices may be padded to a tile and to a page, and planes to the pitch of the first. */
static bool is_slice_pitch(uint64_t pitch, uint64_t slice, uint64_t row_pitch, uint64_t rows)
{
	return pitch >= slice && pitch <= row_pitch * (2 * rows + 256) + 4096;
}

/* Bytes of a layer of an array, of a slice of a volume, or of all of another image. */
static uint64_t slice_bytes(const struct layout *l, uint64_t width, uint64_t height,
			    const struct gt_ze_image_memory *driver)
{
	bool is_packed = !l->chroma;
	uint64_t row = l->bytes * (is_packed ? divide_up(width, l->x) * l->x : width);
	uint64_t slice =
		row * height + l->chroma * divide_up(width, l->x) * divide_up(height, l->y);
	uint64_t rows;

	if (!driver || !row || !is_row_pitch(driver->row_pitch, row))
		return slice;
	/* those of all planes, as long as those of the first */
	rows = divide_up(slice, row);
	if (is_slice_pitch(driver->slice_pitch, slice, driver->row_pitch, rows))
		return driver->slice_pitch;
	return driver->row_pitch * rows;
}

uint64_t gt_ze_image_bytes(const struct gt_ze_image *image, const struct gt_ze_image_memory *driver)
{
	uint64_t height = 1, slices = 1, bytes = image->width;

	if (image->type >= GT_ZE_IMAGE_2D && image->type <= GT_ZE_IMAGE_3D)
		height = at_least_one(image->height);
	if (image->type == GT_ZE_IMAGE_1D_ARRAY || image->type == GT_ZE_IMAGE_2D_ARRAY)
		slices = at_least_one(image->array_levels);
	if (image->type == GT_ZE_IMAGE_3D)
		slices = at_least_one(image->depth);
	if (image->type != GT_ZE_IMAGE_BUFFER)
		bytes = image->layout < sizeof layouts / sizeof *layouts ?
				slices * slice_bytes(&layouts[image->layout], image->width, height,
						     driver) :
				0;
	return driver && driver->size > bytes ? driver->size : bytes;
}
