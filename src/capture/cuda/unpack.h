/* SPDX-License-Identifier: MIT */
/*
 * unpack.h - decoders for the two ways in which nvcc compresses code: LZ4 (until CUDA 12) and
 * Zstandard.
 *
 * They run in the traced process, and allocate nothing: all memory is the caller's. Neither reads
 * outside `from`, nor writes outside `to`, whatever the bytes are.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* An LZ4 block without a frame around it. The number of bytes in `to`; -EINVAL: it is damaged. */
int64_t gt_lz4_unpack(void *to, size_t room, const void *from, size_t size);

/* Room for tables and the literals of a block; need not be initialised. */
struct gt_zstd;
extern const size_t gt_zstd_bytes;

/* A Zstandard frame (RFC 8878) without a dictionary; its checksum is not verified. As above. */
int64_t gt_zstd_unpack(struct gt_zstd *z, void *to, size_t room, const void *from, size_t size);
