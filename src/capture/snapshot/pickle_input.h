/* SPDX-License-Identifier: MIT */
/* pickle_input.h - the bytes of a pickle, plain or gzipped, through a buffer of fixed size. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/mem.h"

enum { GT_PICKLE_BUFFER = 256 << 10 };

struct gt_pickle_input {
	const char *path;
	void *file;        /* zlib's */
	uint8_t *buffer;   /* GT_PICKLE_BUFFER bytes */
	size_t at, end;    /* in the buffer: what is read next, what has been filled */
	uint64_t consumed; /* bytes before the buffer's first */
};

/* Refuses what is no pickle by its first bytes. */
int gt_pickle_input_open(struct gt_pickle_input *in, const char *path, struct gt_error *error);
void gt_pickle_input_close(struct gt_pickle_input *in);
/*
 * Reads until the buffer holds `size` bytes, which are at most a quarter of it. 1, 0 if the file
 * ends before, or -errno and the error.
 */
int gt_pickle_input_fill(struct gt_pickle_input *in, size_t size, struct gt_error *error);

static inline uint64_t gt_pickle_offset(const struct gt_pickle_input *in)
{
	return in->consumed + in->at;
}
