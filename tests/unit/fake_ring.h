/* SPDX-License-Identifier: MIT */
/* fake_ring.h - the kernel's side of a BPF ring buffer, in a file that is laid out like its map. */
#pragma once

#include <linux/bpf.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { FAKE_RING = 4096, FAKE_RECORD = 24 };

struct fake_ring {
	int fd;
	uint64_t *producer;
	uint8_t *data;
	size_t page;
};

static inline void fake_ring_open(struct fake_ring *k)
{
	k->page = (size_t)sysconf(_SC_PAGESIZE);
	k->fd = memfd_create("ring", MFD_CLOEXEC);
	assert_int_equal(ftruncate(k->fd, (off_t)(2 * k->page + FAKE_RING)), 0);
	k->producer = mmap(NULL, k->page + FAKE_RING, PROT_READ | PROT_WRITE, MAP_SHARED, k->fd,
			   (off_t)k->page);
	assert_ptr_not_equal(k->producer, MAP_FAILED);
	k->data = (uint8_t *)k->producer + k->page;
}

/* Reserves a record of FAKE_RECORD bytes and returns its place. */
static inline uint32_t *fake_ring_reserve(struct fake_ring *k, uint32_t flags)
{
	uint32_t *head = (uint32_t *)(k->data + (*k->producer & (FAKE_RING - 1)));

	*head = FAKE_RECORD | flags;
	__atomic_store_n(k->producer, *k->producer + FAKE_RECORD + BPF_RINGBUF_HDR_SZ,
			 __ATOMIC_RELEASE);
	return head;
}

static inline void fake_ring_close(struct fake_ring *k)
{
	munmap(k->producer, k->page + FAKE_RING);
	close(k->fd);
}
