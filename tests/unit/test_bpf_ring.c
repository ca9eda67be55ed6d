/* SPDX-License-Identifier: MIT */
/* test_bpf_ring.c - reading a ring buffer that somebody else fills. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* memfd_create */
#endif
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sched.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>
#include <linux/bpf.h>

#include "capture/ebpf/backlog.h"
#include "capture/ebpf/bpf_ring.h"

enum { SIZE = 4096, RECORD = 24 };

/* The kernel's side of a ring, in a file that is laid out like a BPF map. */
struct kernel {
	int fd;
	uint64_t *producer;
	uint8_t *data;
	size_t page;
};

static void kernel_open(struct kernel *k)
{
	k->page = (size_t)sysconf(_SC_PAGESIZE);
	k->fd = memfd_create("ring", MFD_CLOEXEC);
	assert_int_equal(ftruncate(k->fd, (off_t)(2 * k->page + SIZE)), 0);
	k->producer = mmap(NULL, k->page + SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, k->fd,
			   (off_t)k->page);
	assert_ptr_not_equal(k->producer, MAP_FAILED);
	k->data = (uint8_t *)k->producer + k->page;
}

/* Reserves a record of RECORD bytes and returns its place. */
static uint32_t *reserve(struct kernel *k, uint32_t flags)
{
	uint32_t *head = (uint32_t *)(k->data + (*k->producer & (SIZE - 1)));

	*head = RECORD | flags;
	__atomic_store_n(k->producer, *k->producer + RECORD + BPF_RINGBUF_HDR_SZ, __ATOMIC_RELEASE);
	return head;
}

static void kernel_close(struct kernel *k)
{
	munmap(k->producer, k->page + SIZE);
	close(k->fd);
}

static void count(void *context, const void *record, size_t size)
{
	(void)record;
	assert_int_equal(size, RECORD);
	++*(int *)context;
}

static void a_record_that_is_still_being_written_keeps_later_ones_back(void **state)
{
	struct gt_ring ring;
	struct kernel k;
	uint32_t *busy;
	int seen = 0;

	(void)state;
	kernel_open(&k);
	assert_int_equal(gt_ring_open(&ring, k.fd, SIZE), 0);
	assert_true(gt_ring_drain(&ring, count, &seen));
	reserve(&k, 0);
	busy = reserve(&k, BPF_RINGBUF_BUSY_BIT);
	reserve(&k, 0);
	assert_false(gt_ring_drain(&ring, count, &seen));
	assert_int_equal(seen, 1);
	assert_false(gt_ring_drain(&ring, count, &seen));
	*busy &= ~BPF_RINGBUF_BUSY_BIT;
	assert_true(gt_ring_drain(&ring, count, &seen));
	assert_int_equal(seen, 3);
	gt_ring_close(&ring);
	kernel_close(&k);
}

static void records_that_wrap_around_arrive_and_discarded_ones_do_not(void **state)
{
	struct gt_ring ring;
	struct kernel k;
	int seen = 0;

	(void)state;
	kernel_open(&k);
	assert_int_equal(gt_ring_open(&ring, k.fd, SIZE), 0);
	for (int i = 0; i < 1000; i++) {
		reserve(&k, i % 3 ? 0 : BPF_RINGBUF_DISCARD_BIT);
		assert_true(gt_ring_drain(&ring, count, &seen));
	}
	assert_int_equal(seen, 666);
	gt_ring_close(&ring);
	kernel_close(&k);
}

/* The thread that makes room has taken what is in the ring. */
static void wait_for_room(const struct gt_ring *ring, uint64_t position)
{
	while (__atomic_load_n(ring->consumer, __ATOMIC_ACQUIRE) != position)
		sched_yield();
}

static void wake(const struct gt_ring *ring)
{
	const uint64_t one = 1;

	assert_int_equal(write(ring->fd, &one, sizeof one), sizeof one);
}

static void records_wait_in_our_memory_while_their_reader_is_busy(void **state)
{
	enum { BYTES = RECORD + BPF_RINGBUF_HDR_SZ, LIMIT = 100 * BYTES };
	struct gt_backlog *backlog;
	uint64_t waiting = 0;
	struct gt_ring ring;
	struct kernel k;
	uint32_t *busy;
	int seen = 0;

	(void)state;
	kernel_open(&k);
	assert_int_equal(gt_ring_open(&ring, k.fd, SIZE), 0);
	ring.fd = eventfd(0, EFD_CLOEXEC);
	assert_int_equal(gt_backlog_start(&backlog, &ring, LIMIT, &waiting), 0);
	/* without it the ring, which has room for 128, would overflow */
	for (int i = 0; i < 5; i++) {
		for (int j = 0; j < 20; j++)
			reserve(&k, 0);
		wake(&ring);
		wait_for_room(&ring, *k.producer);
	}
	while (__atomic_load_n(&waiting, __ATOMIC_RELAXED) != LIMIT)
		sched_yield();
	/* beyond the limit they stay in the ring */
	reserve(&k, 0);
	busy = reserve(&k, BPF_RINGBUF_BUSY_BIT);
	reserve(&k, 0);
	assert_false(gt_backlog_drain(backlog, count, &seen));
	assert_int_equal(seen, 101);
	*busy &= ~BPF_RINGBUF_BUSY_BIT;
	assert_true(gt_backlog_drain(backlog, count, &seen));
	assert_int_equal(seen, 103);
	assert_int_equal(*ring.consumer, *k.producer);
	assert_int_equal(waiting, 0);
	gt_backlog_stop(backlog);
	close(ring.fd);
	gt_ring_close(&ring);
	kernel_close(&k);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_record_that_is_still_being_written_keeps_later_ones_back),
		cmocka_unit_test(records_that_wrap_around_arrive_and_discarded_ones_do_not),
		cmocka_unit_test(records_wait_in_our_memory_while_their_reader_is_busy),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
