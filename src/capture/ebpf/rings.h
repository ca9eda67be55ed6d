/* SPDX-License-Identifier: MIT */
/*
 * rings.h - reads several BPF ring buffers as one: in the order of their records' times.
 *
 * Writers that share a ring wait for each other at its lock, so processors have rings of their own.
 * A thread that changes processors has records in several, and a handle that one thread releases
 * may be the next that another gets. So this holds, as it does in one ring: if a record was
 * complete before the time of another was taken, it comes first. It takes three rules:
 *
 * - Each ring is read in its order, in which times may go back a little: programs take the time,
 *   then unwind the stack, then reserve room. So a record counts from the latest time up to it in
 *   its ring, which is before its own room was reserved. The earliest of the rings' next records
 *   is passed on.
 * - A pass begins at a moment, and only then looks where each ring ends. Records that count from
 *   later than that wait for the next pass: what came before them may be behind the end of a ring
 *   that was looked at first.
 * - Behind a record that is still being written, others wait that are not known. They were reserved
 *   after whatever was read before them, in this ring and in earlier passes; what counts from later
 *   than that waits too.
 */
#pragma once

#include "capture/ebpf/bpf_ring.h"
#include "capture/ebpf/calls.h"

/* When a record was made, in ns of CLOCK_MONOTONIC: a time before its room was reserved. */
typedef uint64_t gt_ring_time_fn(const void *record, size_t size);

/* One of them. */
struct gt_rings_part {
	struct gt_ring ring;
	uint64_t end;           /* of the records of this pass */
	uint64_t newest_ns;     /* of the next record and all before it */
	enum gt_ring_next next; /* GT_RING_RECORD: this one, which stays until it is released */
	const void *record;
	size_t size;
};

struct gt_rings {
	struct gt_rings_part parts[GT_PROBE_RINGS];
	unsigned count;
	gt_ring_time_fn *time_of;
	uint64_t pass_ns;            /* when the pass began */
	uint64_t through_ns;         /* all that was complete then has been passed on */
	struct gt_rings_part *first; /* whose record is next; NULL: look at all */
	uint64_t first_until_ns;     /* its records are the next up to this time */
};

/*
 * How many rings suit a machine: one for each processor, as far as that leaves them some size, and
 * a power of two. One for two processors.
 */
unsigned gt_rings_count(size_t bytes, unsigned processors);

/* Maps one more, `size` as in gt_ring_open; its descriptor is the rings' from here on. */
int gt_rings_add(struct gt_rings *r, int map_fd, size_t size);
void gt_rings_close(struct gt_rings *r);

/* Bytes of all together. */
size_t gt_rings_size(const struct gt_rings *r);

/* Begins a pass over all that has been sent so far; `now_ns` is a time before the call. */
void gt_rings_begin(struct gt_rings *r, uint64_t now_ns);
/*
 * The next record of the pass: *record, or none, or one that keeps the others back as it is still
 * being written. At the end of a pass through_ns is the time at which it began.
 */
enum gt_ring_next gt_rings_peek(struct gt_rings *r, const void **record, size_t *size);
/* Frees the space of that record. */
void gt_rings_release(struct gt_rings *r);

/* As gt_ring_drain: a whole pass. */
bool gt_rings_drain(struct gt_rings *r, gt_ring_fn *each, void *context);
