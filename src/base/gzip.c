/* SPDX-License-Identifier: MIT */
/* gzip.c - bytes as a gzip file, stored and not compressed. */
#include "base/gzip.h"

#include <stdint.h>

/* The most that one stored block holds. */
enum { BLOCK_MAX = 65535 };

/* A bit at a time would do, but profiles may be big: a byte at a time by its table. */
static uint32_t crc_of(const uint8_t *data, size_t size)
{
	uint32_t table[256], crc = UINT32_MAX;

	for (uint32_t i = 0; i < 256; i++) {
		table[i] = i;
		for (int bit = 0; bit < 8; bit++)
			table[i] = table[i] & 1 ? table[i] >> 1 ^ 0xedb88320u : table[i] >> 1;
	}
	while (size--)
		crc = crc >> 8 ^ table[(crc ^ *data++) & 0xff];
	return ~crc;
}

static void put_le(FILE *out, uint32_t value, int bytes)
{
	for (int i = 0; i < bytes; i++)
		putc((int)(value >> 8 * i & 0xff), out);
}

void gt_gzip_put(FILE *out, const void *data, size_t size)
{
	static const uint8_t head[] = { 0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff };
	const uint8_t *at = data;
	size_t left = size;

	fwrite(head, 1, sizeof head, out);
	do {
		uint32_t block = left > BLOCK_MAX ? BLOCK_MAX : (uint32_t)left;

		left -= block;
		putc(left ? 0 : 1, out);
		put_le(out, block, 2);
		put_le(out, ~block, 2);
		fwrite(at, 1, block, out);
		at += block;
	} while (left);
	put_le(out, crc_of(data, size), 4);
	put_le(out, (uint32_t)size, 4);
}
