/* SPDX-License-Identifier: MIT */
/*
 * ring.h - reads a BPF ring buffer.
 *
 * libbpf maps the data twice in a row, so that no record is in two pieces, and the kernel counts
 * the pages twice. Here they are mapped once, and a record that goes round the end is put together.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct gt_ring {
	int fd;                   /* the map's, borrowed: readable when the kernel wakes us */
	uint64_t *consumer;       /* how far we are: a page of our own */
	const uint64_t *producer; /* how far the kernel is: a page, then the data */
	const uint8_t *data;
	size_t size, page;
	uint8_t *pieces; /* a record that goes round the end */
	size_t pieces_room;
};

/* `size` is the map's: a power of two, whole pages. 0 or -errno. */
int gt_ring_open(struct gt_ring *r, int map_fd, size_t size);
void gt_ring_close(struct gt_ring *r);

typedef void gt_ring_fn(void *context, const void *record, size_t size);

/* Hands over what is there now, and makes room; how many records that were. */
size_t gt_ring_drain(struct gt_ring *r, gt_ring_fn *each, void *context);
