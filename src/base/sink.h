/* SPDX-License-Identifier: MIT */
/*
 * sink.h - bytes on their way to a stream: collected in a buffer, written in large pieces.
 *
 * For what is written millions of times. A number or a field costs no call of the C library; the
 * stream sees everything once the sink is flushed, so nobody else may write to it before that.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/format.h"

enum {
	/*
	 * Each write is of so many bytes, and begins at a multiple of them: file systems then fill
	 * large pages, which costs a fraction of what 4 KiB at a time do.
	 */
	GT_SINK_BYTES = 1 << 16,
	/* There is always room for so many more: small pieces are checked once they are there. */
	GT_SINK_SMALL = 64,
};

struct gt_sink {
	FILE *out;
	char *bytes; /* of GT_SINK_BYTES + GT_SINK_SMALL */
	size_t used; /* fewer than GT_SINK_BYTES */
};

void gt_sink_init(struct gt_sink *s, FILE *out);
/* Writes what is left, and frees the buffer. */
void gt_sink_fini(struct gt_sink *s);

/* Writes the GT_SINK_BYTES that are there; what is beyond them stays. */
void gt_sink_write(struct gt_sink *s);
/* More bytes than there is room for: gt_sink_put. */
void gt_sink_put_large(struct gt_sink *s, const void *bytes, size_t size);

/* Where the caller may write up to GT_SINK_SMALL bytes; _took says how many they were. */
static inline char *gt_sink_at(const struct gt_sink *s)
{
	return s->bytes + s->used;
}

static inline void gt_sink_took(struct gt_sink *s, size_t size)
{
	s->used += size;
	if (s->used >= GT_SINK_BYTES)
		gt_sink_write(s);
}

static inline void gt_sink_put(struct gt_sink *s, const void *bytes, size_t size)
{
	if (size > GT_SINK_BYTES - s->used) {
		gt_sink_put_large(s, bytes, size);
		return;
	}
	memcpy(gt_sink_at(s), bytes, size);
	gt_sink_took(s, size);
}

static inline void gt_sink_text(struct gt_sink *s, const char *text)
{
	gt_sink_put(s, text, strlen(text));
}

static inline void gt_sink_char(struct gt_sink *s, char c)
{
	*gt_sink_at(s) = c;
	gt_sink_took(s, 1);
}

static inline void gt_sink_uint(struct gt_sink *s, uint64_t value)
{
	gt_sink_took(s, gt_digits_decimal(gt_sink_at(s), value));
}

static inline void gt_sink_int(struct gt_sink *s, int64_t value)
{
	if (value < 0)
		gt_sink_char(s, '-');
	gt_sink_uint(s, value < 0 ? 0 - (uint64_t)value : (uint64_t)value);
}

/* "0x1f" */
static inline void gt_sink_hex(struct gt_sink *s, uint64_t value)
{
	memcpy(gt_sink_at(s), "0x", 2);
	gt_sink_took(s, 2 + gt_digits_hex(gt_sink_at(s) + 2, value));
}
