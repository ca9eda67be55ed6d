/* SPDX-License-Identifier: MIT */
/* unpack_zstd.c - decodes Zstandard frames (RFC 8878); "4.2" and the like are its sections. */
#include <errno.h>

#include "capture/cuda/unpack.h"
#include "capture/cuda/unpack_bits.h"

enum {
	MAGIC = 0xfd2fb528u,
	BLOCK_MAX = 128 << 10,
	STREAMS = 4,
	OFFSET_CODES_MAX = 32,
};

enum block_type { BLOCK_RAW, BLOCK_RUN, BLOCK_COMPRESSED };
enum literals_type { LITERALS_RAW, LITERALS_RUN, LITERALS_COMPRESSED, LITERALS_SAME_CODE };
enum table_mode { TABLE_DEFAULT, TABLE_SINGLE, TABLE_DESCRIBED, TABLE_REPEATED };
enum field { LITERAL_LENGTHS, OFFSETS, MATCH_LENGTHS, FIELDS };

struct gt_zstd {
	struct gt_huffman huffman;
	struct gt_fse fields[FIELDS], weights;
	uint32_t recent[3]; /* offsets of the last matches */
	size_t literal_count;
	const uint8_t *literals; /* in the input, or here */
	uint8_t buffer[BLOCK_MAX];
};

const size_t gt_zstd_bytes = sizeof(struct gt_zstd);

struct output {
	uint8_t *bytes;
	size_t size, room;
};

/* The first `count` bytes as a number; moves on. */
static uint64_t take_number(struct gt_bytes *in, size_t count)
{
	uint64_t v = 0;

	if (gt_bytes_left(in) < count) {
		in->bad = true;
		in->at = in->end;
		return 0;
	}
	memcpy(&v, in->at, count);
	in->at += count;
	return v;
}

/* A part of the input by itself; moves on. */
static struct gt_bytes take_part(struct gt_bytes *in, size_t size)
{
	struct gt_bytes part = { .at = in->at, .end = in->at };

	if (size > gt_bytes_left(in)) {
		part.bad = in->bad = true;
		return part;
	}
	in->at = part.end = part.at + size;
	return part;
}

static bool decode_streams(struct gt_zstd *z, struct gt_bytes in, bool is_one)
{
	size_t each = (z->literal_count + STREAMS - 1) / STREAMS, done = 0, sizes[STREAMS];

	if (is_one)
		return gt_huffman_decode(&z->huffman, z->buffer, z->literal_count, in.at,
					 gt_bytes_left(&in));
	for (int i = 0; i < STREAMS - 1; i++)
		sizes[i] = (size_t)take_number(&in, 2);
	if (in.bad || sizes[0] + sizes[1] + sizes[2] > gt_bytes_left(&in))
		return false;
	sizes[STREAMS - 1] = gt_bytes_left(&in) - sizes[0] - sizes[1] - sizes[2];
	for (int i = 0; i < STREAMS; i++) {
		size_t count = i < STREAMS - 1 ? each : z->literal_count - done;

		if (done + count > z->literal_count ||
		    !gt_huffman_decode(&z->huffman, z->buffer + done, count, in.at, sizes[i]))
			return false;
		done += count;
		in.at += sizes[i];
	}
	return true;
}

/* Literals with a code: both sizes have 10, 14 or 18 bits (3.1.1.3.1.1). */
static bool read_compressed_literals(struct gt_zstd *z, struct gt_bytes *in, bool has_code)
{
	unsigned format = *in->at >> 2 & 3;
	unsigned bits = format < 2 ? 10 : format == 2 ? 14 : 18;
	uint64_t head = take_number(in, (4 + 2 * bits + 7) / 8);
	uint64_t mask = (UINT64_C(1) << bits) - 1;
	struct gt_bytes part = take_part(in, (size_t)(head >> (4 + bits) & mask));

	z->literals = z->buffer;
	z->literal_count = (size_t)(head >> 4 & mask);
	if (in->bad || z->literal_count > BLOCK_MAX)
		return false;
	if (has_code && !gt_huffman_read(&z->huffman, &part, &z->weights))
		return false;
	return z->huffman.log && decode_streams(z, part, !format);
}

static bool read_literals(struct gt_zstd *z, struct gt_bytes *in)
{
	unsigned type, format, bytes;
	struct gt_bytes part;

	if (in->at == in->end)
		return false;
	type = *in->at & 3;
	format = *in->at >> 2 & 3;
	if (type == LITERALS_COMPRESSED || type == LITERALS_SAME_CODE)
		return read_compressed_literals(z, in, type == LITERALS_COMPRESSED);
	bytes = format == 3 ? 3 : format == 1 ? 2 : 1;
	z->literal_count = (size_t)(take_number(in, bytes) >> (bytes == 1 ? 3 : 4));
	part = take_part(in, type == LITERALS_RUN ? 1 : z->literal_count);
	if (in->bad || z->literal_count > BLOCK_MAX)
		return false;
	z->literals = part.at;
	if (type == LITERALS_RUN) {
		z->literals = z->buffer;
		memset(z->buffer, *part.at, z->literal_count);
	}
	return true;
}

/* The numbers that codes stand for: a base, and bits to add to it (3.1.1.3.2.1.1). */
struct code {
	uint32_t base;
	uint8_t bits;
};

static const struct code literal_codes[] = {
	{ 0, 0 },     { 1, 0 },     { 2, 0 },     { 3, 0 },      { 4, 0 },      { 5, 0 },
	{ 6, 0 },     { 7, 0 },     { 8, 0 },     { 9, 0 },      { 10, 0 },     { 11, 0 },
	{ 12, 0 },    { 13, 0 },    { 14, 0 },    { 15, 0 },     { 16, 1 },     { 18, 1 },
	{ 20, 1 },    { 22, 1 },    { 24, 2 },    { 28, 2 },     { 32, 3 },     { 40, 3 },
	{ 48, 4 },    { 64, 6 },    { 128, 7 },   { 256, 8 },    { 512, 9 },    { 1024, 10 },
	{ 2048, 11 }, { 4096, 12 }, { 8192, 13 }, { 16384, 14 }, { 32768, 15 }, { 65536, 16 },
};

static const struct code match_codes[] = {
	{ 3, 0 },     { 4, 0 },     { 5, 0 },      { 6, 0 },      { 7, 0 },      { 8, 0 },
	{ 9, 0 },     { 10, 0 },    { 11, 0 },     { 12, 0 },     { 13, 0 },     { 14, 0 },
	{ 15, 0 },    { 16, 0 },    { 17, 0 },     { 18, 0 },     { 19, 0 },     { 20, 0 },
	{ 21, 0 },    { 22, 0 },    { 23, 0 },     { 24, 0 },     { 25, 0 },     { 26, 0 },
	{ 27, 0 },    { 28, 0 },    { 29, 0 },     { 30, 0 },     { 31, 0 },     { 32, 0 },
	{ 33, 0 },    { 34, 0 },    { 35, 1 },     { 37, 1 },     { 39, 1 },     { 41, 1 },
	{ 43, 2 },    { 47, 2 },    { 51, 3 },     { 59, 3 },     { 67, 4 },     { 83, 4 },
	{ 99, 5 },    { 131, 7 },   { 259, 8 },    { 515, 9 },    { 1027, 10 },  { 2051, 11 },
	{ 4099, 12 }, { 8195, 13 }, { 16387, 14 }, { 32771, 15 }, { 65539, 16 },
};

/* The shares of codes where a block describes no table of its own (3.1.1.3.2.2). */
static const int16_t literal_shares[] = {
	4, 3, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 1, 1,  1,  2,  2,
	2, 2, 2, 2, 2, 2, 2, 3, 2, 1, 1, 1, 1, 1, -1, -1, -1, -1
};
static const int16_t match_shares[] = { 1, 4, 3, 2, 2, 2, 2, 2, 2, 1, 1,  1,  1,  1,  1,  1,  1, 1,
					1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,  1,  1,  1,  1,  1,  1, 1,
					1, 1, 1, 1, 1, 1, 1, 1, 1, 1, -1, -1, -1, -1, -1, -1, -1 };
static const int16_t offset_shares[] = { 1, 1, 1, 1, 1, 1, 2, 2, 2, 1,  1,  1,  1,  1, 1,
					 1, 1, 1, 1, 1, 1, 1, 1, 1, -1, -1, -1, -1, -1 };

#define COUNT(a) (sizeof(a) / sizeof *(a))

static const struct {
	const int16_t *shares;
	unsigned share_count, log, codes, log_max;
} fields[FIELDS] = {
	[LITERAL_LENGTHS] = { literal_shares, COUNT(literal_shares), 6, COUNT(literal_codes), 9 },
	[OFFSETS] = { offset_shares, COUNT(offset_shares), 5, OFFSET_CODES_MAX, 8 },
	[MATCH_LENGTHS] = { match_shares, COUNT(match_shares), 6, COUNT(match_codes), 9 },
};

static bool read_table(struct gt_fse *fse, enum field field, enum table_mode mode,
		       struct gt_bytes *in)
{
	uint8_t symbol;

	switch (mode) {
	case TABLE_DEFAULT:
		return gt_fse_make(fse, fields[field].shares, fields[field].share_count,
				   fields[field].log);
	case TABLE_SINGLE:
		symbol = (uint8_t)take_number(in, 1);
		gt_fse_make_single(fse, symbol);
		return !in->bad && symbol < fields[field].codes;
	case TABLE_DESCRIBED:
		return gt_fse_read(fse, in, fields[field].codes, fields[field].log_max);
	case TABLE_REPEATED: return fse->is_known;
	}
	return false;
}

/* The offset that a value stands for: one of the last three, or its own (3.1.1.5). */
static uint32_t offset_of(uint32_t *recent, uint32_t value, bool has_literals)
{
	uint32_t which = value - 1 + !has_literals, offset;

	if (value > 3)
		offset = value - 3;
	else
		offset = which == 3 ? recent[0] - 1 : recent[which];
	if (value > 3 || which > 1)
		recent[2] = recent[1];
	if (value > 3 || which > 0)
		recent[1] = recent[0];
	recent[0] = offset;
	return offset;
}

static bool put(struct output *out, const uint8_t *from, size_t count)
{
	if (count > out->room - out->size)
		return false;
	memcpy(out->bytes + out->size, from, count);
	out->size += count;
	return true;
}

static bool put_match(struct output *out, uint32_t offset, size_t count)
{
	uint8_t *to = out->bytes + out->size;

	if (!offset || offset > out->size || count > out->room - out->size)
		return false;
	out->size += count;
	if (offset >= count) {
		memcpy(to, to - offset, count);
		return true;
	}
	/* byte by byte: the match overlaps what it makes */
	for (size_t i = 0; i < count; i++)
		to[i] = to[i - offset];
	return true;
}

static void advance(const struct gt_fse *fse, uint32_t *state, struct gt_bits *bits)
{
	*state = fse->states[*state].next + gt_bits_get(bits, fse->states[*state].bits);
}

/* Literals, then a match, as often as there are sequences; then the literals that are left. */
static bool run_sequences(struct gt_zstd *z, uint32_t count, struct gt_bits *bits,
			  struct output *out)
{
	const struct gt_fse *fse = z->fields;
	uint32_t states[FIELDS];
	size_t used = 0;

	for (int i = 0; i < FIELDS; i++)
		states[i] = gt_bits_get(bits, fse[i].log);
	for (uint32_t i = 0; i < count; i++) {
		unsigned offset_bits = fse[OFFSETS].states[states[OFFSETS]].symbol;
		const struct code *match =
			&match_codes[fse[MATCH_LENGTHS].states[states[MATCH_LENGTHS]].symbol];
		const struct code *literal =
			&literal_codes[fse[LITERAL_LENGTHS].states[states[LITERAL_LENGTHS]].symbol];
		/* in this order, here and below */
		uint32_t value = (1u << offset_bits) + gt_bits_get(bits, offset_bits);
		size_t match_size = match->base + gt_bits_get(bits, match->bits);
		size_t literal_size = literal->base + gt_bits_get(bits, literal->bits);

		if (bits->left < 0 || literal_size > z->literal_count - used ||
		    !put(out, z->literals + used, literal_size) ||
		    !put_match(out, offset_of(z->recent, value, literal_size), match_size))
			return false;
		used += literal_size;
		if (i + 1 == count)
			break;
		advance(&fse[LITERAL_LENGTHS], &states[LITERAL_LENGTHS], bits);
		advance(&fse[MATCH_LENGTHS], &states[MATCH_LENGTHS], bits);
		advance(&fse[OFFSETS], &states[OFFSETS], bits);
	}
	return !bits->left && put(out, z->literals + used, z->literal_count - used);
}

static bool run_compressed(struct gt_zstd *z, struct gt_bytes in, struct output *out)
{
	struct gt_bits bits;
	uint32_t count;
	uint8_t modes;

	if (!read_literals(z, &in))
		return false;
	count = (uint32_t)take_number(&in, 1);
	if (count == 255)
		count = (uint32_t)take_number(&in, 2) + 0x7f00;
	else if (count >= 128)
		count = (count - 128) << 8 | (uint32_t)take_number(&in, 1);
	if (in.bad)
		return false;
	if (!count)
		return in.at == in.end && put(out, z->literals, z->literal_count);
	modes = (uint8_t)take_number(&in, 1);
	for (int i = 0; i < FIELDS; i++)
		if (in.bad || !read_table(&z->fields[i], i, modes >> (6 - 2 * i) & 3, &in))
			return false;
	return gt_bits_open(&bits, in.at, gt_bytes_left(&in)) &&
	       run_sequences(z, count, &bits, out);
}

static bool run_block(struct gt_zstd *z, struct gt_bytes *in, struct output *out, bool *is_last)
{
	uint32_t head = (uint32_t)take_number(in, 3), size = head >> 3;
	enum block_type type = head >> 1 & 3;
	struct gt_bytes part = take_part(in, type == BLOCK_RUN ? 1 : size);

	*is_last = head & 1;
	if (in->bad)
		return false;
	switch (type) {
	case BLOCK_RAW: return put(out, part.at, size);
	case BLOCK_RUN:
		if (size > out->room - out->size)
			return false;
		memset(out->bytes + out->size, *part.at, size);
		out->size += size;
		return true;
	case BLOCK_COMPRESSED: return run_compressed(z, part, out);
	}
	return false;
}

/* Past the frame's header; false: it is none, or needs a dictionary (3.1.1.1). */
static bool skip_header(struct gt_bytes *in)
{
	static const uint8_t size_bytes[] = { 0, 2, 4, 8 };
	uint8_t is_frame = take_number(in, 4) == MAGIC, flags = (uint8_t)take_number(in, 1);
	bool is_single = flags & 0x20;

	take_part(in, !is_single);
	take_part(in, flags >> 6 ? size_bytes[flags >> 6] : is_single);
	return is_frame && !in->bad && !(flags & 0x0b);
}

int64_t gt_zstd_unpack(struct gt_zstd *z, void *to, size_t room, const void *from, size_t size)
{
	struct gt_bytes in = { .at = from, .end = (const uint8_t *)from + size };
	struct output out = { .bytes = to, .room = room };
	bool is_last = false;

	z->huffman.log = 0;
	for (int i = 0; i < FIELDS; i++) {
		z->fields[i].is_known = false;
		z->recent[i] = (uint32_t[]){ 1, 4, 8 }[i];
	}
	if (!skip_header(&in))
		return -EINVAL;
	while (!is_last)
		if (!run_block(z, &in, &out, &is_last))
			return -EINVAL;
	return (int64_t)out.size;
}
