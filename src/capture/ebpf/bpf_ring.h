/* SPDX-License-Identifier: MIT */
/*
 * bpf_ring.h - reads a BPF ring buffer.
 *
 * libbpf maps the data twice in a row, so that no record is split, but the kernel then counts the
 * pages twice. Here they are mapped once, and a record that wraps around is copied together.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct gt_ring {
	int fd;                   /* the map's, borrowed: readable when the kernel wakes us */
	uint64_t *consumer;       /* our position, in a page of its own */
	const uint64_t *producer; /* the kernel's position, in the page before the data */
	const uint8_t *data;
	size_t size, page;
	uint8_t *pieces; /* a record that wraps around */
	size_t pieces_room;
};

/* `size` is the map's: a power of two, whole pages. 0 or -errno. */
int gt_ring_open(struct gt_ring *r, int map_fd, size_t size);
void gt_ring_close(struct gt_ring *r);

/* The kernel's position. */
uint64_t gt_ring_end(const struct gt_ring *r);

enum gt_ring_next { GT_RING_EMPTY, GT_RING_BUSY, GT_RING_RECORD };

/* The next record before position `end`: none, one that is still being written, or *record. */
enum gt_ring_next gt_ring_peek(struct gt_ring *r, uint64_t end, const void **record, size_t *size);
/* Frees the space of that record. */
void gt_ring_release(struct gt_ring *r, size_t size);

typedef void gt_ring_fn(void *context, const void *record, size_t size);

/*
 * Passes on the records up to the first one that is still being written, and frees their space.
 * Returns true if there was no such record.
 */
bool gt_ring_drain(struct gt_ring *r, gt_ring_fn *each, void *context);
