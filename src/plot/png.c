/* SPDX-License-Identifier: MIT */
/*
 * png.c - writes an image as PNG.
 *
 * Cairo's own writer tries five filters on each row, which takes most of the time of a picture and
 * is made for photographs. Charts are areas of one colour, which need no filter.
 */
#include "plot/png.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "base/mem.h"

enum { FILTER_NONE = 0, CHANNELS = 3, BITS = 8, COLOR_RGB = 2 };
/* A third of the default's time, for a fifth more bytes. */
enum { LEVEL = 3 };
enum { PIECE = 1 << 15 };

static void put_word(uint8_t *out, uint32_t word)
{
	for (int i = 0; i < 4; i++)
		out[i] = (uint8_t)(word >> (24 - 8 * i));
}

/* A part of the file: its size, type, bytes, and their checksum. */
static void put_chunk(FILE *out, const char type[4], const uint8_t *bytes, size_t size)
{
	uint8_t word[4];
	uLong sum = crc32(0, (const Bytef *)type, 4);

	put_word(word, (uint32_t)size);
	fwrite(word, 1, sizeof word, out);
	fwrite(type, 1, 4, out);
	if (size) {
		fwrite(bytes, 1, size, out);
		sum = crc32(sum, bytes, (uInt)size);
	}
	put_word(word, (uint32_t)sum);
	fwrite(word, 1, sizeof word, out);
}

static void put_head(FILE *out, const struct gt_image *image)
{
	static const uint8_t signature[] = { 0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n' };
	uint8_t head[13] = { [8] = BITS, [9] = COLOR_RGB };

	put_word(head, image->width);
	put_word(head + 4, image->height);
	fwrite(signature, 1, sizeof signature, out);
	put_chunk(out, "IHDR", head, sizeof head);
}

static void fill_row(uint8_t *out, const struct gt_image *image, uint32_t y)
{
	const unsigned char *at = image->pixels + y * image->stride;

	*out++ = FILTER_NONE;
	for (uint32_t x = 0; x < image->width; x++, at += sizeof(uint32_t)) {
		uint32_t pixel;

		memcpy(&pixel, at, sizeof pixel);
		*out++ = (uint8_t)(pixel >> 16);
		*out++ = (uint8_t)(pixel >> 8);
		*out++ = (uint8_t)pixel;
	}
}

/* Compresses the input, and writes each piece that is full; the last one, too, if it is_last. */
static void put_rows(z_stream *z, uint8_t *piece, bool is_last, FILE *out)
{
	int result;

	do {
		result = deflate(z, is_last ? Z_FINISH : Z_NO_FLUSH);
		if (z->avail_out && result != Z_STREAM_END)
			break;
		put_chunk(out, "IDAT", piece, PIECE - z->avail_out);
		z->next_out = piece;
		z->avail_out = PIECE;
	} while (result != Z_STREAM_END);
}

int gt_png_write(const struct gt_image *image, FILE *out)
{
	size_t row_size = 1 + CHANNELS * (size_t)image->width;
	uint8_t *row = gt_alloc(row_size), *piece = gt_alloc(PIECE);
	z_stream z = { .next_out = piece, .avail_out = PIECE };

	if (deflateInit(&z, LEVEL))
		gt_memory_check(NULL);
	put_head(out, image);
	for (uint32_t y = 0; y < image->height; y++) {
		fill_row(row, image, y);
		z.next_in = row;
		z.avail_in = (uInt)row_size;
		put_rows(&z, piece, false, out);
	}
	put_rows(&z, piece, true, out);
	put_chunk(out, "IEND", NULL, 0);
	deflateEnd(&z);
	free(row);
	free(piece);
	return ferror(out) ? -EIO : 0;
}
