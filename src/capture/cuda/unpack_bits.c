/* SPDX-License-Identifier: MIT */
/* unpack_bits.c - the entropy coding of Zstandard: tables for FSE and Huffman codes. */
#include "capture/cuda/unpack_bits.h"

enum { WEIGHTS_MAX = 255, WEIGHT_LOG_MAX = 6, DIRECT_WEIGHTS = 128 };

static unsigned high_bit(uint32_t v)
{
	return 31 - (unsigned)__builtin_clz(v);
}

/* Puts each symbol where it belongs; false: they do not fill the table exactly. */
static bool spread(struct gt_fse *fse, const int16_t *shares, unsigned count)
{
	uint32_t size = 1u << fse->log, step = (size >> 1) + (size >> 3) + 3, at = 0, high = size;
	uint32_t sum = 0;

	for (unsigned s = 0; s < count; s++)
		sum += (uint32_t)(shares[s] < 0 ? 1 : shares[s]);
	if (sum != size)
		return false;
	for (unsigned s = 0; s < count; s++)
		if (shares[s] < 0)
			fse->states[--high].symbol = (uint8_t)s;
	for (unsigned s = 0; s < count; s++)
		for (int i = 0; i < shares[s]; i++) {
			fse->states[at].symbol = (uint8_t)s;
			do
				at = (at + step) & (size - 1);
			while (at >= high);
		}
	return !at;
}

bool gt_fse_make(struct gt_fse *fse, const int16_t *shares, unsigned count, unsigned log)
{
	uint16_t next[GT_FSE_SYMBOLS_MAX];

	fse->log = log;
	fse->is_known = spread(fse, shares, count);
	if (!fse->is_known)
		return false;
	for (unsigned s = 0; s < count; s++)
		next[s] = (uint16_t)(shares[s] < 0 ? 1 : shares[s]);
	for (uint32_t i = 0; i < 1u << log; i++) {
		struct gt_fse_state *state = &fse->states[i];
		uint32_t to = next[state->symbol]++;

		state->bits = (uint8_t)(log - high_bit(to));
		state->next = (uint16_t)((to << state->bits) - (1u << log));
	}
	return true;
}

void gt_fse_make_single(struct gt_fse *fse, uint8_t symbol)
{
	fse->log = 0;
	fse->is_known = true;
	fse->states[0] = (struct gt_fse_state){ .symbol = symbol };
}

/* Bits that are read from the first to the last. */
static uint32_t forward(const struct gt_bytes *in, uint64_t at, unsigned count)
{
	uint32_t value = 0;

	for (unsigned i = 0; i < count; i++, at++)
		if (at / 8 < gt_bytes_left(in))
			value |= (uint32_t)(in->at[at / 8] >> (at % 8) & 1) << i;
	return value;
}

/* A share takes as few bits as what is left needs, and one less where that is unambiguous. */
static int read_share(const struct gt_bytes *in, uint64_t *at, uint32_t left)
{
	unsigned bits = high_bit(left + 1) + 1;
	uint32_t value = forward(in, *at, bits), low = value & ((1u << (bits - 1)) - 1);
	uint32_t threshold = (1u << bits) - 1 - (left + 1);

	*at += bits;
	if (low < threshold) {
		--*at;
		value = low;
	} else if (value >= 1u << (bits - 1)) {
		value -= threshold;
	}
	return (int)value - 1;
}

bool gt_fse_read(struct gt_fse *fse, struct gt_bytes *in, unsigned symbols_max, unsigned log_max)
{
	int16_t shares[GT_FSE_SYMBOLS_MAX];
	unsigned log = forward(in, 0, 4) + 5, count = 0, zeroes;
	uint32_t left = 1u << log;
	uint64_t at = 4;

	if (log > log_max)
		return false;
	while (left && count < symbols_max) {
		int share = read_share(in, &at, left);
		uint32_t taken = (uint32_t)(share < 0 ? 1 : share);

		if (taken > left)
			return false;
		left -= taken;
		shares[count++] = (int16_t)share;
		if (share)
			continue;
		do {
			zeroes = forward(in, at, 2);
			at += 2;
			for (unsigned i = 0; i < zeroes && count < symbols_max; i++)
				shares[count++] = 0;
		} while (zeroes == 3 && at / 8 < gt_bytes_left(in));
	}
	if (left || (at + 7) / 8 > gt_bytes_left(in))
		return false;
	in->at += (at + 7) / 8;
	return gt_fse_make(fse, shares, count, log);
}

/* Two states take turns; the stream ends where it has no bits for the next. */
static int read_packed_weights(uint8_t *weights, struct gt_bytes in, struct gt_fse *work)
{
	struct gt_bits bits;
	uint32_t states[2];
	int count = 0;

	if (!gt_fse_read(work, &in, WEIGHTS_MAX, WEIGHT_LOG_MAX) ||
	    !gt_bits_open(&bits, in.at, gt_bytes_left(&in)))
		return -1;
	states[0] = gt_bits_get(&bits, work->log);
	states[1] = gt_bits_get(&bits, work->log);
	if (bits.left < 0)
		return -1;
	for (int turn = 0; count < WEIGHTS_MAX - 1; turn ^= 1) {
		const struct gt_fse_state *state = &work->states[states[turn]];

		weights[count++] = state->symbol;
		states[turn] = state->next + gt_bits_get(&bits, state->bits);
		if (bits.left < 0) {
			weights[count++] = work->states[states[turn ^ 1]].symbol;
			return count;
		}
	}
	return -1;
}

static int read_weights(uint8_t *weights, struct gt_bytes *in, struct gt_fse *work)
{
	struct gt_bytes packed = { .at = in->at + 1 };
	int count;
	size_t size;

	if (in->at == in->end)
		return -1;
	count = *in->at - (DIRECT_WEIGHTS - 1);
	size = count > 0 ? (size_t)(count + 1) / 2 : *in->at;
	if (size > gt_bytes_left(in) - 1)
		return -1;
	packed.end = packed.at + size;
	in->at += 1 + size;
	if (count <= 0)
		return read_packed_weights(weights, packed, work);
	for (int i = 0; i < count; i++)
		weights[i] = i % 2 ? packed.at[i / 2] & 15 : packed.at[i / 2] >> 4;
	return count;
}

/* Codes in the order of their weights; a weight of w has 2^(w-1) of the table's entries. */
static void fill(struct gt_huffman *huffman, const uint8_t *weights, unsigned count)
{
	uint32_t at = 0;

	for (unsigned weight = 1; weight <= huffman->log; weight++)
		for (unsigned s = 0; s < count; s++)
			for (uint32_t i = 0; weights[s] == weight && i < 1u << (weight - 1); i++) {
				huffman->codes[at].symbol = (uint8_t)s;
				huffman->codes[at++].bits = (uint8_t)(huffman->log + 1 - weight);
			}
}

bool gt_huffman_read(struct gt_huffman *huffman, struct gt_bytes *in, struct gt_fse *work)
{
	uint8_t weights[WEIGHTS_MAX + 1];
	int count = read_weights(weights, in, work);
	uint32_t sum = 0, rest;

	huffman->log = 0;
	for (int i = 0; i < count; i++) {
		if (weights[i] > GT_HUFFMAN_LOG_MAX)
			return false;
		sum += weights[i] ? 1u << (weights[i] - 1) : 0;
	}
	if (count < 1 || !sum || high_bit(sum) + 1 > GT_HUFFMAN_LOG_MAX)
		return false;
	/* the weight of the last symbol is not written: it fills the table */
	rest = (2u << high_bit(sum)) - sum;
	if (rest & (rest - 1))
		return false;
	weights[count] = (uint8_t)(high_bit(rest) + 1);
	huffman->log = high_bit(sum) + 1;
	fill(huffman, weights, (unsigned)count + 1);
	return true;
}

bool gt_huffman_decode(const struct gt_huffman *huffman, uint8_t *to, size_t count,
		       const uint8_t *from, size_t size)
{
	struct gt_bits bits;

	if (!gt_bits_open(&bits, from, size))
		return false;
	for (size_t i = 0; i < count; i++) {
		uint32_t code = bits.left > 0 ? gt_bits_at(&bits, bits.left, huffman->log) : 0;

		to[i] = huffman->codes[code].symbol;
		bits.left -= huffman->codes[code].bits;
	}
	return !bits.left;
}
