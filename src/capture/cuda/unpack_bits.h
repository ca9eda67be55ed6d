/* SPDX-License-Identifier: MIT */
/*
 * unpack_bits.h - the entropy coding of Zstandard: streams of bits, and tables for FSE and Huffman
 * codes (RFC 8878, 4.1 and 4.2).
 */
#pragma once

#include <stdbool.h>
#include <string.h>

#include "base/bytes.h"

enum {
	GT_FSE_LOG_MAX = 9,
	GT_FSE_SYMBOLS_MAX = 256,
	GT_HUFFMAN_LOG_MAX = 11,
};

/* Bits that are read from the last to the first. Beyond the first there are zeroes. */
struct gt_bits {
	const uint8_t *bytes;
	int64_t size; /* of the bytes */
	int64_t left; /* bits not yet read; below 0: more was read than there is */
};

/* False if there is no end: the highest bit of the last byte marks it. */
static inline bool gt_bits_open(struct gt_bits *b, const uint8_t *bytes, size_t size)
{
	if (!size || !bytes[size - 1])
		return false;
	b->bytes = bytes;
	b->size = (int64_t)size;
	b->left = (int64_t)size * 8 - 8 + (31 - __builtin_clz(bytes[size - 1]));
	return true;
}

/* The `count` bits that end `from` bits into the stream; up to 32. */
static inline uint32_t gt_bits_at(const struct gt_bits *b, int64_t from, unsigned count)
{
	uint64_t word = 0;
	int64_t start = from - count;
	unsigned cut = 0;

	if (start < 0) {
		cut = (unsigned)-start;
		start = 0;
	}
	if (cut >= count)
		return 0;
	if (start / 8 + (int64_t)sizeof word <= b->size)
		memcpy(&word, b->bytes + start / 8, sizeof word);
	else
		memcpy(&word, b->bytes + start / 8, (size_t)(b->size - start / 8));
	word = word >> (start % 8) & ((UINT64_C(1) << (count - cut)) - 1);
	return (uint32_t)(word << cut);
}

static inline uint32_t gt_bits_get(struct gt_bits *b, unsigned count)
{
	uint32_t value = count && b->left > 0 ? gt_bits_at(b, b->left, count) : 0;

	b->left -= count;
	return value;
}

/* A state of an FSE table: its symbol, and the next state but for the bits that are read. */
struct gt_fse_state {
	uint8_t symbol, bits;
	uint16_t next;
};

struct gt_fse {
	unsigned log;
	bool is_known; /* later blocks may use it again */
	struct gt_fse_state states[1 << GT_FSE_LOG_MAX];
};

/* `shares` of each symbol in 2^log states; -1: a symbol that is rarer than one state. */
bool gt_fse_make(struct gt_fse *fse, const int16_t *shares, unsigned count, unsigned log);
/* A table that has one symbol, and reads no bits. */
void gt_fse_make_single(struct gt_fse *fse, uint8_t symbol);
/* A table as it is described in the bytes; false: it is no such table. */
bool gt_fse_read(struct gt_fse *fse, struct gt_bytes *in, unsigned symbols_max, unsigned log_max);

struct gt_huffman {
	unsigned log; /* 0: there is none */
	struct {
		uint8_t symbol, bits;
	} codes[1 << GT_HUFFMAN_LOG_MAX];
};

/* The code that the bytes describe. `work` is used meanwhile. */
bool gt_huffman_read(struct gt_huffman *huffman, struct gt_bytes *in, struct gt_fse *work);
/* Decodes exactly `count` symbols from the whole of a stream. */
bool gt_huffman_decode(const struct gt_huffman *huffman, uint8_t *to, size_t count,
		       const uint8_t *from, size_t size);
