/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * unwind_rows.h - the tables by which the BPF programs unwind a stack: plain integers only.
 *
 * The code of an image is cut into shards of 64 KiB. A shard's rows lie side by side in a chunk, by
 * address; each names one of the rules, which all images share. A process has a space: the list of
 * its code, by address.
 */
#pragma once

#ifdef __BPF__
typedef __s16 int16_t;
typedef __s32 int32_t;
typedef __s64 int64_t;
#else
#include "capture/ebpf/calls.h"
#endif

enum {
	GT_SHARD_BYTES = 1 << 16, /* of code: an offset in it is 16 bits */
	GT_SHARDS_MAX = 1 << 17,  /* of all images: 8 GiB of code */
	GT_CHUNK_ROWS = 1 << 16,
	GT_CHUNKS_MAX = 256, /* 64 MiB of rows */
	GT_RULES_MAX = 1 << 15,
	GT_SPACE_AREAS = 128, /* of one part of a space */
	GT_SPACE_PARTS = 32,
	GT_SPACES_MAX = 1 << 14,
};

/* Holds from the offset on. */
struct gt_row {
	uint16_t at, rule;
};

/*
 * How the caller of a frame is found. The return address lies below the CFA where a call pushes it;
 * elsewhere (arm64) behind the saved frame pointer, at CFA + fp + 8.
 */
enum gt_rule_how {
	GT_RULE_NONE,   /* there is no information: the frame pointer may lead on */
	GT_RULE_COPY,   /* too much for a BPF program: the tool unwinds a copy of the stack */
	GT_RULE_END,    /* there is no caller */
	GT_RULE_SP,     /* the CFA is the stack pointer + offset */
	GT_RULE_FP,     /* … the frame pointer + offset */
	GT_RULE_AT_SP,  /* … what lies at the stack pointer + offset, + add */
	GT_RULE_AT_FP,  /* … what lies at the frame pointer + offset, + add */
	GT_RULE_PLT,    /* … the stack pointer + offset, and 8 more from byte `add` of 16 on */
	GT_RULE_SIGNAL, /* the registers are where the kernel saved them */
};

/* Where the caller's frame pointer is. GT_FP_LEAF: in its register, and so is the return address.
 */
enum gt_rule_fp { GT_FP_SAME, GT_FP_AT_CFA, GT_FP_AT_FP, GT_FP_UNKNOWN, GT_FP_LEAF };

struct gt_rule {
	uint8_t how, fp_how; /* enum gt_rule_how, enum gt_rule_fp */
	int16_t add;
	int32_t offset, fp; /* fp: relative to the CFA or to the frame pointer */
};

/*
 * A shard in one word, so that it is seen whole or not at all: from its low end on, 16 bits each,
 * its chunk (0: there are no rows of it, yet), its first row, their number, and the highest power
 * of two below that.
 */
#define GT_SHARD(chunk, first, count, half)                                                        \
	((uint64_t)(chunk) | (uint64_t)(first) << 16 | (uint64_t)(count) << 32 |                   \
	 (uint64_t)(half) << 48)
#define GT_SHARD_CHUNK(shard) ((shard)&0xffff)
#define GT_SHARD_FIRST(shard) ((shard) >> 16 & 0xffff)
#define GT_SHARD_COUNT(shard) ((shard) >> 32 & 0xffff)
#define GT_SHARD_HALF(shard)  ((shard) >> 48)

/* Code at an address. */
enum { GT_AREA_BARE = 0xffffffff }; /* in place of a shard: no rows, ever */
struct gt_space_area {
	uint64_t start;
	uint32_t pages, shard; /* of 4096 bytes; its first shard */
};

/* An address beyond all code, of which differences are still signed. */
#define GT_SPACE_END ((uint64_t)1 << 62)

/* The first part has the areas of a small process; otherwise `firsts` leads to those with areas. */
struct gt_space_part {
	uint64_t id;
	uint32_t parts; /* further ones; 0: the areas are here */
	uint32_t unused;
	uint64_t firsts[GT_SPACE_PARTS];            /* their first addresses */
	struct gt_space_area areas[GT_SPACE_AREAS]; /* beyond the last: start is GT_SPACE_END */
};

struct gt_space_key {
	uint32_t space, part;
};

/* The space of a process. */
struct gt_space_of {
	uint64_t start; /* 0: not known; otherwise of the process, as in its records */
	uint32_t exec, space;
};
