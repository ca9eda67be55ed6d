/* SPDX-License-Identifier: MIT */
/* test_levelzero_image.c - the bytes of every type and layout, and what a driver may say of them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "api/levelzero_image.h"

enum { NV12 = 15, RGBA8 = 4, R8 = 0, RGBP = 41, LAYOUTS = 46 };

/*
 * By hand: bits of all planes for each pixel, and bytes of 5 × 3 pixels, where pairs of pixels and
 * subsampled planes are rounded up.
 */
static const struct {
	unsigned layout, bits, odd;
	const char *name;
} by_hand[LAYOUTS] = {
	{ 0, 8, 15, "8" },
	{ 1, 16, 30, "16" },
	{ 2, 32, 60, "32" },
	{ 3, 16, 30, "8_8" },
	{ 4, 32, 60, "8_8_8_8" },
	{ 5, 32, 60, "16_16" },
	{ 6, 64, 120, "16_16_16_16" },
	{ 7, 64, 120, "32_32" },
	{ 8, 128, 240, "32_32_32_32" },
	{ 9, 32, 60, "10_10_10_2" },
	{ 10, 32, 60, "11_11_10" },
	{ 11, 16, 30, "5_6_5" },
	{ 12, 16, 30, "5_5_5_1" },
	{ 13, 16, 30, "4_4_4_4" },
	{ 14, 8, 15, "Y8" },
	{ 15, 12, 27, "NV12" }, /* 15, and 3 × 2 pairs of bytes */
	{ 16, 16, 36, "YUYV" }, /* 3 groups of 4 bytes in each of 3 rows */
	{ 17, 16, 36, "VYUY" },
	{ 18, 16, 36, "YVYU" },
	{ 19, 16, 36, "UYVY" },
	{ 20, 32, 60, "AYUV" },
	{ 21, 24, 54, "P010" }, /* NV12 of 16-bit words */
	{ 22, 32, 60, "Y410" },
	{ 23, 24, 54, "P012" },
	{ 24, 16, 30, "Y16" },
	{ 25, 24, 54, "P016" },
	{ 26, 32, 72, "Y216" }, /* YUYV of 16-bit words */
	{ 27, 32, 66, "P216" }, /* 30, and 3 × 3 pairs of words */
	{ 28, 8, 15, "P8" },
	{ 29, 16, 36, "YUY2" },
	{ 30, 16, 30, "A8P8" },
	{ 31, 8, 15, "IA44" },
	{ 32, 8, 15, "AI44" },
	{ 33, 64, 120, "Y416" },
	{ 34, 32, 72, "Y210" },
	{ 35, 12, 27, "I420" }, /* 15, and 3 × 2 bytes twice */
	{ 36, 12, 27, "YV12" },
	{ 37, 8, 15, "400P" },
	{ 38, 16, 33, "422H" }, /* 15, and 3 × 3 bytes twice */
	{ 39, 16, 35, "422V" }, /* 15, and 5 × 2 bytes twice */
	{ 40, 24, 45, "444P" },
	{ 41, 24, 45, "RGBP" },
	{ 42, 24, 45, "BRGP" },
	{ 43, 24, 45, "8_8_8" },
	{ 44, 48, 90, "16_16_16" },
	{ 45, 96, 180, "32_32_32" },
};

static struct gt_ze_image image(unsigned type, unsigned layout, uint64_t width, uint32_t height)
{
	return (struct gt_ze_image){ .type = type,
				     .layout = layout,
				     .width = width,
				     .height = height,
				     .depth = 5,
				     .array_levels = 3 };
}

static uint64_t bytes(unsigned type, unsigned layout, uint64_t width, uint32_t height)
{
	const struct gt_ze_image i = image(type, layout, width, height);

	return gt_ze_image_bytes(&i, NULL);
}

/* Heights that the descriptor ignores for a type are wrong on purpose. */
static void every_type_and_layout_has_the_bytes_of_its_pixels(void **state)
{
	(void)state;
	for (unsigned l = 0; l < LAYOUTS; l++) {
		uint64_t one = 64 * 64 * by_hand[l].bits / 8;
		uint64_t odd = by_hand[l].odd;

		assert_int_equal(by_hand[l].layout, l);
		if (bytes(GT_ZE_IMAGE_2D, l, 64, 64) != one ||
		    bytes(GT_ZE_IMAGE_2D, l, 5, 3) != odd)
			fail_msg("%s: %lu and %lu", by_hand[l].name,
				 (unsigned long)bytes(GT_ZE_IMAGE_2D, l, 64, 64),
				 (unsigned long)bytes(GT_ZE_IMAGE_2D, l, 5, 3));
		assert_int_equal(bytes(GT_ZE_IMAGE_2D_ARRAY, l, 64, 64), 3 * one);
		assert_int_equal(bytes(GT_ZE_IMAGE_2D_ARRAY, l, 5, 3), 3 * odd);
		assert_int_equal(bytes(GT_ZE_IMAGE_3D, l, 64, 64), 5 * one);
		assert_int_equal(bytes(GT_ZE_IMAGE_1D, l, 64, 9), bytes(GT_ZE_IMAGE_2D, l, 64, 1));
		assert_int_equal(bytes(GT_ZE_IMAGE_1D_ARRAY, l, 64, 9),
				 3 * bytes(GT_ZE_IMAGE_2D, l, 64, 1));
		/* the width of a buffer is in bytes */
		assert_int_equal(bytes(GT_ZE_IMAGE_BUFFER, l, 4096, 9), 4096);
	}
	assert_int_equal(bytes(GT_ZE_IMAGE_1D, RGBA8, 64, 0), 256);
	assert_int_equal(bytes(GT_ZE_IMAGE_1D, NV12, 64, 0), 64 + 64);
}

static void unknown_layouts_and_missing_dimensions_are_no_trap(void **state)
{
	struct gt_ze_image flat = { .type = GT_ZE_IMAGE_3D, .layout = RGBA8, .width = 4 };

	(void)state;
	assert_int_equal(bytes(GT_ZE_IMAGE_2D, LAYOUTS, 64, 64), 0);
	assert_int_equal(bytes(GT_ZE_IMAGE_2D, 0x7fffffff, 64, 64), 0);
	assert_int_equal(bytes(GT_ZE_IMAGE_2D, RGBA8, 0, 64), 0);
	assert_int_equal(gt_ze_image_bytes(&flat, NULL), 16);
	/* a driver that knows them better */
	assert_int_equal(gt_ze_image_bytes(&(struct gt_ze_image){ .type = GT_ZE_IMAGE_2D,
								  .layout = LAYOUTS,
								  .width = 64,
								  .height = 64 },
					   &(struct gt_ze_image_memory){ .size = 20480 }),
			 20480);
}

static uint64_t asked(unsigned type, unsigned layout, uint64_t width, uint32_t height,
		      uint64_t size, uint64_t row, uint64_t slice)
{
	const struct gt_ze_image i = image(type, layout, width, height);

	return gt_ze_image_bytes(&i, &(struct gt_ze_image_memory){ .size = size,
								   .row_pitch = row,
								   .slice_pitch = slice });
}

/* What Intel's driver 22.43 says of images; its size is that of an element. */
static void the_drivers_pitches_count_where_they_can_be_true(void **state)
{
	(void)state;
	assert_int_equal(asked(GT_ZE_IMAGE_2D, RGBA8, 64, 64, 4, 256, 16384), 16384);
	assert_int_equal(asked(GT_ZE_IMAGE_2D, R8, 64, 64, 1, 128, 8192), 8192);
	assert_int_equal(asked(GT_ZE_IMAGE_1D, R8, 64, 0, 1, 64, 4096), 4096);
	assert_int_equal(asked(GT_ZE_IMAGE_1D_ARRAY, R8, 64, 0, 1, 64, 64), 3 * 64);
	assert_int_equal(asked(GT_ZE_IMAGE_2D_ARRAY, NV12, 64, 64, 1, 128, 12288), 3 * 12288);
	assert_int_equal(asked(GT_ZE_IMAGE_2D, R8, 1, 4000, 1, 128, 512000), 512000);
	assert_int_equal(asked(GT_ZE_IMAGE_2D, RGBP, 1, 4000, 3, 128, 1536000), 1536000);
	/* no slice pitch: the rows of all planes */
	assert_int_equal(asked(GT_ZE_IMAGE_3D, NV12, 64, 64, 1, 128, 0), 5 * 128 * (64 + 32));
	assert_int_equal(asked(GT_ZE_IMAGE_3D, RGBP, 64, 64, 3, 128, 0), 5 * 128 * 3 * 64);
	/* too small for the image, or far too large */
	assert_int_equal(asked(GT_ZE_IMAGE_2D, RGBA8, 64, 64, 4, 255, 16384), 16384);
	assert_int_equal(asked(GT_ZE_IMAGE_2D, RGBA8, 64, 64, 4, 256, 16383), 16384);
	assert_int_equal(asked(GT_ZE_IMAGE_2D, RGBA8, 64, 64, 4, 1 << 20, 1 << 30), 16384);
	assert_int_equal(asked(GT_ZE_IMAGE_2D, RGBA8, 64, 64, 4, 256, 1 << 30), 16384);
	assert_int_equal(asked(GT_ZE_IMAGE_2D, RGBA8, 64, 64, 4, UINT64_MAX, UINT64_MAX), 16384);
	/* the figures of a driver that fills in none */
	assert_int_equal(asked(GT_ZE_IMAGE_2D, RGBA8, 64, 64, 0, 0, 0), 16384);
}

static void the_drivers_size_counts_where_it_is_no_less(void **state)
{
	(void)state;
	assert_int_equal(asked(GT_ZE_IMAGE_2D, RGBA8, 64, 64, 65536, 256, 16384), 65536);
	assert_int_equal(asked(GT_ZE_IMAGE_2D, RGBA8, 64, 64, 16383, 0, 0), 16384);
	assert_int_equal(asked(GT_ZE_IMAGE_BUFFER, RGBA8, 4096, 0, 4, 0, 0), 4096);
	assert_int_equal(asked(GT_ZE_IMAGE_BUFFER, RGBA8, 4096, 0, 8192, 0, 0), 8192);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_type_and_layout_has_the_bytes_of_its_pixels),
		cmocka_unit_test(unknown_layouts_and_missing_dimensions_are_no_trap),
		cmocka_unit_test(the_drivers_pitches_count_where_they_can_be_true),
		cmocka_unit_test(the_drivers_size_counts_where_it_is_no_less),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
