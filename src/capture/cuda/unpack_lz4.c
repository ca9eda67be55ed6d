/* SPDX-License-Identifier: MIT */
/* unpack_lz4.c - decodes LZ4 blocks. */
#include <errno.h>

#include "base/bytes.h"
#include "capture/cuda/unpack.h"

enum { MATCH_MIN = 4, LENGTH_MORE = 15 };

/* A length of 15 goes on in the bytes that follow: each is added, up to one below 255. */
static size_t length(struct gt_bytes *in, size_t start)
{
	size_t sum = start;
	uint8_t more = 255;

	while (start == LENGTH_MORE && more == 255 && in->at < in->end)
		sum += more = *in->at++;
	return sum;
}

int64_t gt_lz4_unpack(void *to, size_t room, const void *from, size_t size)
{
	struct gt_bytes in = { .at = from, .end = (const uint8_t *)from + size };
	uint8_t *out = to;
	size_t done = 0;

	while (in.at < in.end) {
		uint8_t token = *in.at++;
		size_t count = length(&in, token >> 4), offset;

		if (count > gt_bytes_left(&in) || count > room - done)
			return -EINVAL;
		memcpy(out + done, in.at, count);
		in.at += count;
		done += count;
		/* the last sequence has no match */
		if (in.at == in.end)
			break;
		if (gt_bytes_left(&in) < 2)
			return -EINVAL;
		offset = in.at[0] | (size_t)in.at[1] << 8;
		in.at += 2;
		count = length(&in, token & 15) + MATCH_MIN;
		if (!offset || offset > done || count > room - done)
			return -EINVAL;
		/* byte by byte: the match may overlap what it makes */
		for (size_t i = 0; i < count; i++, done++)
			out[done] = out[done - offset];
	}
	return (int64_t)done;
}
