/* SPDX-License-Identifier: MIT */
/*
 * levelzero_image.h - bytes of a Level Zero image, for the door and for attach.
 *
 * The door is built with the API's header, and compares the enumerators at compile time.
 */
#pragma once

#include <stdint.h>

/* ze_image_type_t */
enum gt_ze_image_type {
	GT_ZE_IMAGE_1D,
	GT_ZE_IMAGE_1D_ARRAY,
	GT_ZE_IMAGE_2D,
	GT_ZE_IMAGE_2D_ARRAY,
	GT_ZE_IMAGE_3D,
	GT_ZE_IMAGE_BUFFER,
};

/* ze_image_desc_t; its mip levels must be 0. */
struct gt_ze_image {
	uint32_t type, layout;
	uint64_t width; /* of a buffer: bytes */
	uint32_t height, depth, array_levels;
};

/* What a driver says of an image, each 0 where it says nothing. */
struct gt_ze_image_memory {
	uint64_t size, row_pitch, slice_pitch;
};

/*
 * Bytes of an image. Without the driver's padding if `driver` is NULL, as for attach. Pitches that
 * the image cannot have are ignored, and so is a size that is smaller than the image: from 2021 to
 * October 2025, Intel's drivers gave the size of one element. 0 for layouts that are not known.
 */
uint64_t gt_ze_image_bytes(const struct gt_ze_image *image,
			   const struct gt_ze_image_memory *driver);
