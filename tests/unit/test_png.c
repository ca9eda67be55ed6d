/* SPDX-License-Identifier: MIT */
/* test_png.c - images as PNG: a reader gets every pixel back. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include <cmocka.h>

#include "plot/png.h"

enum { WIDTH = 317, HEIGHT = 211, STRIDE = 4 * WIDTH + 12 };

static uint32_t word_at(const uint8_t *at)
{
	return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

/* The chunks of a file, each checked; gives what is in those of image data, and their number. */
static uint8_t *image_data(const uint8_t *file, size_t size, size_t *data_size, unsigned *count)
{
	uint8_t *data = malloc(size);
	const char *last = "";

	*data_size = *count = 0;
	assert_memory_equal(file, "\x89PNG\r\n\x1a\n", 8);
	for (size_t at = 8; at < size; at += 12 + word_at(file + at)) {
		uint32_t length = word_at(file + at);

		last = (const char *)file + at + 4;
		assert_true(length <= size - at - 12);
		assert_int_equal(crc32(0, file + at + 4, length + 4),
				 word_at(file + at + 8 + length));
		if (memcmp(last, "IDAT", 4))
			continue;
		memcpy(data + *data_size, file + at + 8, length);
		*data_size += length;
		++*count;
	}
	assert_memory_equal(last, "IEND", 4);
	return data;
}

static void assert_pixels(const uint8_t *pixels, unsigned *pieces)
{
	struct gt_image image = { pixels, WIDTH, HEIGHT, STRIDE };
	uLong row_bytes = HEIGHT * (1 + 3 * WIDTH), used;
	uint8_t *data, *rows = malloc(row_bytes);
	char *file = NULL;
	size_t size, data_size;
	FILE *out = open_memstream(&file, &size);

	assert_int_equal(gt_png_write(&image, out), 0);
	fclose(out);
	assert_memory_equal(file + 8, "\0\0\0\x0dIHDR", 8);
	assert_int_equal(word_at((uint8_t *)file + 16), WIDTH);
	assert_int_equal(word_at((uint8_t *)file + 20), HEIGHT);
	assert_memory_equal(file + 24, "\x08\x02\0\0\0", 5);
	data = image_data((uint8_t *)file, size, &data_size, pieces);
	used = data_size;
	assert_int_equal(uncompress2(rows, &row_bytes, data, &used), Z_OK);
	assert_int_equal(used, data_size);
	assert_int_equal(row_bytes, HEIGHT * (1 + 3 * WIDTH));
	for (size_t y = 0; y < HEIGHT; y++) {
		const uint8_t *row = rows + y * (1 + 3 * WIDTH);

		assert_int_equal(*row++, 0);
		for (size_t x = 0; x < WIDTH; x++, row += 3) {
			uint32_t pixel;

			memcpy(&pixel, pixels + y * STRIDE + 4 * x, sizeof pixel);
			assert_int_equal((uint32_t)row[0] << 16 | row[1] << 8 | row[2],
					 pixel & 0xffffff);
		}
	}
	free(data);
	free(rows);
	free(file);
}

static void an_image_of_few_bytes_has_every_pixel(void **state)
{
	uint8_t *pixels = calloc(HEIGHT, STRIDE);
	unsigned pieces;

	(void)state;
	for (size_t i = 100; i < 5000; i++)
		pixels[i] = 0xc0;
	assert_pixels(pixels, &pieces);
	assert_int_equal(pieces, 1);
	free(pixels);
}

static void an_image_of_many_bytes_is_written_in_pieces(void **state)
{
	uint8_t *pixels = calloc(HEIGHT, STRIDE);
	uint32_t random = 1;
	unsigned pieces;

	(void)state;
	for (size_t i = 0; i < HEIGHT * STRIDE; i++) {
		random = random * 1664525 + 1013904223;
		pixels[i] = (uint8_t)(random >> 24);
	}
	assert_pixels(pixels, &pieces);
	assert_true(pieces > 2);
	free(pixels);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_image_of_few_bytes_has_every_pixel),
		cmocka_unit_test(an_image_of_many_bytes_is_written_in_pieces),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
