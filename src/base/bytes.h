/* SPDX-License-Identifier: MIT */
/* bytes.h - encoding and decoding of bytes: variable-length integers, bounded reads, hashes. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* The longest variable-length integer: 64 bits in groups of seven. */
enum { GT_VARINT_MAX = 10 };

/* Seven bits per byte, low bits first; the top bit means that more follow: 300 -> AC 02. */
static inline uint8_t *gt_put_varint(uint8_t *at, uint64_t v)
{
	while (v >= 0x80) {
		*at++ = (uint8_t)(v | 0x80);
		v >>= 7;
	}
	*at++ = (uint8_t)v;
	return at;
}

/* Signed values near zero become small unsigned ones: 0, -1, 1, -2 -> 0, 1, 2, 3. */
static inline uint64_t gt_zigzag(int64_t v)
{
	return (uint64_t)v << 1 ^ (v < 0 ? UINT64_MAX : 0);
}

static inline int64_t gt_unzigzag(uint64_t v)
{
	return (int64_t)(v >> 1 ^ (0 - (v & 1)));
}

/* Wrap-around difference of two 64-bit words; gt_advance(from, gt_delta(from, to)) == to. */
static inline uint64_t gt_delta(uint64_t from, uint64_t to)
{
	return gt_zigzag((int64_t)(to - from));
}

static inline uint64_t gt_advance(uint64_t from, uint64_t delta)
{
	return from + (uint64_t)gt_unzigzag(delta);
}

/* Foreign bytes, read front to back; once `bad`, every read returns 0. */
struct gt_bytes {
	const uint8_t *at, *end;
	bool bad;
};

static inline size_t gt_bytes_left(const struct gt_bytes *b)
{
	return (size_t)(b->end - b->at);
}

static inline uint64_t gt_get_varint(struct gt_bytes *b)
{
	uint64_t v = 0;

	for (unsigned shift = 0; shift < 64 && b->at < b->end && !b->bad; shift += 7) {
		uint8_t byte = *b->at++;

		if (shift == 63 && byte > 1)
			break;
		v |= (uint64_t)(byte & 0x7f) << shift;
		if (byte < 0x80)
			return v;
	}
	b->bad = true;
	b->at = b->end;
	return 0;
}

/* As in DWARF: seven bits per byte, the sign in bit 6 of the last: 7F -> -1, 80 7F -> -128. */
static inline int64_t gt_get_signed(struct gt_bytes *b)
{
	uint64_t v = 0;

	for (unsigned shift = 0; shift < 64 && b->at < b->end && !b->bad; shift += 7) {
		uint8_t byte = *b->at++;

		v |= (uint64_t)(byte & 0x7f) << shift;
		if (byte >= 0x80)
			continue;
		if (byte & 0x40 && shift < 57)
			v |= UINT64_MAX << (shift + 7);
		return (int64_t)v;
	}
	b->bad = true;
	b->at = b->end;
	return 0;
}

/* `size` bytes, at most 8, the low one first. */
static inline uint64_t gt_get_fixed(struct gt_bytes *b, size_t size)
{
	uint64_t v = 0;

	if (b->bad || size > gt_bytes_left(b)) {
		b->bad = true;
		b->at = b->end;
		return 0;
	}
	for (size_t i = 0; i < size; i++)
		v |= (uint64_t)*b->at++ << 8 * i;
	return v;
}

/* A length and that many bytes, borrowed; NULL when some are missing. */
static inline const uint8_t *gt_get_blob(struct gt_bytes *b, size_t *size)
{
	uint64_t n = gt_get_varint(b);
	const uint8_t *from = b->at;

	*size = 0;
	if (b->bad || n > gt_bytes_left(b)) {
		b->bad = true;
		b->at = b->end;
		return NULL;
	}
	b->at += n;
	*size = (size_t)n;
	return from;
}

/* Mixes a 64-bit key, so that every bit affects all others (the finaliser of splitmix64). */
static inline uint64_t gt_mix64(uint64_t x)
{
	x ^= x >> 30;
	x *= 0xbf58476d1ce4e5b9u;
	x ^= x >> 27;
	x *= 0x94d049bb133111ebu;
	return x ^ x >> 31;
}

/* Hash of whole bytes, eight at a time: cheap enough for every block the recorder closes. */
static inline uint64_t gt_hash_bytes(const void *data, size_t size)
{
	const uint8_t *at = data;
	uint64_t h = gt_mix64(size + 1), word;

	for (; size >= 8; size -= 8, at += 8) {
		memcpy(&word, at, 8);
		h = (h ^ word) * 0x9e3779b97f4a7c15u;
		h ^= h >> 29;
	}
	if (size) {
		word = 0;
		memcpy(&word, at, size);
		h = (h ^ word) * 0x9e3779b97f4a7c15u;
	}
	return gt_mix64(h);
}
