/* SPDX-License-Identifier: MIT */
/* bpf_ring.c - reads a BPF ring buffer. */
#include "capture/ebpf/bpf_ring.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <linux/bpf.h>

#include "base/mem.h"

int gt_ring_open(struct gt_ring *r, int map_fd, size_t size)
{
	void *at;

	*r = (struct gt_ring){ .fd = map_fd, .size = size, .page = (size_t)sysconf(_SC_PAGESIZE) };
	at = mmap(NULL, r->page, PROT_READ | PROT_WRITE, MAP_SHARED, map_fd, 0);
	if (at == MAP_FAILED)
		return -errno;
	r->consumer = at;
	at = mmap(NULL, r->page + size, PROT_READ, MAP_SHARED, map_fd, (off_t)r->page);
	if (at == MAP_FAILED) {
		int e = -errno;

		munmap(r->consumer, r->page);
		r->consumer = NULL;
		return e;
	}
	r->producer = at;
	r->data = (const uint8_t *)at + r->page;
	return 0;
}

void gt_ring_close(struct gt_ring *r)
{
	if (!r->consumer)
		return;
	munmap(r->consumer, r->page);
	munmap((void *)(uintptr_t)r->producer, r->page + r->size);
	free(r->pieces);
	*r = (struct gt_ring){ 0 };
}

/* The record's bytes in one piece. */
static const void *whole(struct gt_ring *r, size_t at, size_t size)
{
	size_t first = r->size - at;

	if (size <= first)
		return r->data + at;
	if (size > r->pieces_room) {
		r->pieces = gt_realloc(r->pieces, size);
		r->pieces_room = size;
	}
	memcpy(r->pieces, r->data + at, first);
	memcpy(r->pieces + first, r->data, size - first);
	return r->pieces;
}

enum gt_ring_next gt_ring_peek(struct gt_ring *r, uint64_t end, const void **record, size_t *size)
{
	while (*r->consumer < end) {
		size_t offset = *r->consumer & (r->size - 1);
		uint32_t head =
			__atomic_load_n((const uint32_t *)(r->data + offset), __ATOMIC_ACQUIRE);

		*size = head & ~(BPF_RINGBUF_BUSY_BIT | BPF_RINGBUF_DISCARD_BIT);
		if (head & BPF_RINGBUF_BUSY_BIT)
			return GT_RING_BUSY;
		if (!(head & BPF_RINGBUF_DISCARD_BIT)) {
			*record = whole(r, (offset + BPF_RINGBUF_HDR_SZ) & (r->size - 1), *size);
			return GT_RING_RECORD;
		}
		gt_ring_release(r, *size);
	}
	return GT_RING_EMPTY;
}

void gt_ring_release(struct gt_ring *r, size_t size)
{
	uint64_t next = *r->consumer + ((size + BPF_RINGBUF_HDR_SZ + 7) & ~(uint64_t)7);

	__atomic_store_n(r->consumer, next, __ATOMIC_RELEASE);
}

uint64_t gt_ring_end(const struct gt_ring *r)
{
	return __atomic_load_n(r->producer, __ATOMIC_ACQUIRE);
}

bool gt_ring_drain(struct gt_ring *r, gt_ring_fn *each, void *context)
{
	uint64_t end = gt_ring_end(r);
	enum gt_ring_next next;
	const void *record;
	size_t size;

	while ((next = gt_ring_peek(r, end, &record, &size)) == GT_RING_RECORD) {
		each(context, record, size);
		gt_ring_release(r, size);
	}
	return next == GT_RING_EMPTY;
}
