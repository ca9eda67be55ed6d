/* SPDX-License-Identifier: MIT */
/*
 * touch.h - GPU work and the memory that it names, as a trace holds them: for writer and reader.
 *
 * Most addresses come again soon. One of the latest takes a byte: its slot, which its own bits
 * choose. Any other is a difference from the address before it. Each block starts afresh, so that
 * it can be read by itself.
 */
#pragma once

#include "base/bytes.h"

enum gt_work_kind {
	GT_WORK_LAUNCH,
	GT_WORK_COPY,
	GT_WORK_SET,
	GT_WORK_GRAPH,
	GT_WORK_SHARE, /* no work: memory is handed to others, who touch it unseen from now on */
	GT_WORK_KIND_COUNT
};

/* A function of the driver that hands work to the GPU; for launches, with one kernel. */
struct gt_work {
	enum gt_work_kind kind;
	bool is_blind;               /* it may touch memory that is not told */
	const char *function, *name; /* name: of the kernel, "" or NULL if unknown or none */
};

/* Bits of what is done to memory; both if it may be either. */
enum gt_access { GT_READS = 1, GT_WRITES = 2 };

/* A range of memory that work names; size 0: unknown, as in all launches. */
struct gt_touched {
	uint64_t address, size;
	uint8_t access;
};

/* The ranges that work names, at most GT_TOUCHED_MAX at a time. */
struct gt_naming {
	const struct gt_touched *ranges;
	size_t count;
	bool is_more; /* of the work before */
};

enum { GT_TOUCH_SLOTS = 31, GT_TOUCH_BYTES_MAX = 3 * GT_VARINT_MAX, GT_TOUCHED_MAX = 16 };

/* The latest addresses of a lane. Zeroed when a block begins. */
struct gt_touch_memory {
	uint64_t last, recent[GT_TOUCH_SLOTS + 1]; /* slot 0 is never used */
};

static inline unsigned gt_touch_slot(uint64_t address)
{
	return 1 + (unsigned)((address * UINT64_C(0x9e3779b97f4a7c15) >> 32) % GT_TOUCH_SLOTS);
}

static inline bool gt_work_has_sizes(enum gt_work_kind kind)
{
	return kind == GT_WORK_COPY || kind == GT_WORK_SET;
}

/* At most GT_TOUCH_BYTES_MAX bytes. */
static inline uint8_t *gt_touch_put(struct gt_touch_memory *m, uint8_t *at,
				    const struct gt_touched *t, bool has_size)
{
	unsigned slot = gt_touch_slot(t->address);

	if (m->recent[slot] == t->address) {
		*at++ = (uint8_t)(slot << 2 | t->access);
	} else {
		*at++ = t->access;
		at = gt_put_varint(at, gt_delta(m->last, t->address));
		m->recent[slot] = t->address;
	}
	m->last = t->address;
	return has_size ? gt_put_varint(at, t->size) : at;
}

/* False when it is damaged. */
static inline bool gt_touch_get(struct gt_touch_memory *m, struct gt_bytes *b, struct gt_touched *t,
				bool has_size)
{
	uint64_t head = gt_get_varint(b), slot = head >> 2;

	if (slot > GT_TOUCH_SLOTS)
		return false;
	t->access = head & 3;
	if (slot) {
		t->address = m->recent[slot];
	} else {
		t->address = gt_advance(m->last, gt_get_varint(b));
		m->recent[gt_touch_slot(t->address)] = t->address;
	}
	m->last = t->address;
	t->size = has_size ? gt_get_varint(b) : 0;
	return !b->bad;
}
