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

#include "capture/ebpf/backlog.h"
#include "capture/ebpf/bpf_ring.h"
#include "fake_ring.h"

static void count(void *context, const void *record, size_t size)
{
	(void)record;
	assert_int_equal(size, FAKE_RECORD);
	++*(int *)context;
}

static void a_record_that_is_still_being_written_keeps_later_ones_back(void **state)
{
	struct gt_ring ring;
	struct fake_ring k;
	uint32_t *busy;
	int seen = 0;

	(void)state;
	fake_ring_open(&k);
	assert_int_equal(gt_ring_open(&ring, k.fd, FAKE_RING), 0);
	assert_true(gt_ring_drain(&ring, count, &seen));
	fake_ring_reserve(&k, 0);
	busy = fake_ring_reserve(&k, BPF_RINGBUF_BUSY_BIT);
	fake_ring_reserve(&k, 0);
	assert_false(gt_ring_drain(&ring, count, &seen));
	assert_int_equal(seen, 1);
	assert_false(gt_ring_drain(&ring, count, &seen));
	*busy &= ~BPF_RINGBUF_BUSY_BIT;
	assert_true(gt_ring_drain(&ring, count, &seen));
	assert_int_equal(seen, 3);
	gt_ring_close(&ring);
	fake_ring_close(&k);
}

static void records_that_wrap_around_arrive_and_discarded_ones_do_not(void **state)
{
	struct gt_ring ring;
	struct fake_ring k;
	int seen = 0;

	(void)state;
	fake_ring_open(&k);
	assert_int_equal(gt_ring_open(&ring, k.fd, FAKE_RING), 0);
	for (int i = 0; i < 1000; i++) {
		fake_ring_reserve(&k, i % 3 ? 0 : BPF_RINGBUF_DISCARD_BIT);
		assert_true(gt_ring_drain(&ring, count, &seen));
	}
	assert_int_equal(seen, 666);
	gt_ring_close(&ring);
	fake_ring_close(&k);
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

/* Rings with one, whose descriptor `wake` writes to. */
static struct gt_ring *open_one(struct gt_rings *rings, struct fake_ring *k)
{
	struct gt_ring *ring = &rings->parts[0].ring;

	fake_ring_open(k);
	assert_int_equal(gt_rings_add(rings, k->fd, FAKE_RING), 0);
	ring->fd = eventfd(0, EFD_CLOEXEC);
	return ring;
}

static void records_wait_in_our_memory_while_their_reader_is_busy(void **state)
{
	enum { BYTES = FAKE_RECORD + BPF_RINGBUF_HDR_SZ, LIMIT = 100 * BYTES };
	struct gt_backlog *backlog;
	struct gt_rings rings = { 0 };
	uint64_t waiting = 0;
	struct gt_ring *ring;
	struct fake_ring k;
	uint32_t *busy;
	int seen = 0;

	(void)state;
	ring = open_one(&rings, &k);
	assert_int_equal(gt_backlog_start(&backlog, &rings, LIMIT, &waiting), 0);
	/* without it the ring, which has room for 128, would overflow */
	for (int i = 0; i < 5; i++) {
		for (int j = 0; j < 20; j++)
			fake_ring_reserve(&k, 0);
		wake(ring);
		wait_for_room(ring, *k.producer);
	}
	while (__atomic_load_n(&waiting, __ATOMIC_RELAXED) != LIMIT)
		sched_yield();
	/* beyond the limit they stay in the ring */
	fake_ring_reserve(&k, 0);
	busy = fake_ring_reserve(&k, BPF_RINGBUF_BUSY_BIT);
	fake_ring_reserve(&k, 0);
	assert_false(gt_backlog_drain(backlog, count, &seen));
	assert_int_equal(seen, 101);
	*busy &= ~BPF_RINGBUF_BUSY_BIT;
	assert_true(gt_backlog_drain(backlog, count, &seen));
	assert_int_equal(seen, 103);
	assert_int_equal(*ring->consumer, *k.producer);
	assert_int_equal(waiting, 0);
	gt_backlog_stop(backlog);
	gt_rings_close(&rings);
	fake_ring_close(&k);
}

/* More waits than the reader takes at a time: what is still in the ring belongs to the drain too.
 */
static void a_drain_is_of_all_that_was_sent_before_it(void **state)
{
	enum { TIMES = 100, EACH = 100 };
	struct gt_backlog *backlog;
	struct gt_rings rings = { 0 };
	uint64_t waiting = 0;
	struct gt_ring *ring;
	struct fake_ring k;
	int seen = 0;

	(void)state;
	ring = open_one(&rings, &k);
	assert_int_equal(gt_backlog_start(&backlog, &rings, 1 << 20, &waiting), 0);
	for (int i = 0; i < TIMES; i++) {
		for (int j = 0; j < EACH; j++)
			fake_ring_reserve(&k, 0);
		wake(ring);
		wait_for_room(ring, *k.producer);
	}
	fake_ring_reserve(&k, 0);
	assert_true(gt_backlog_drain(backlog, count, &seen));
	assert_int_equal(seen, TIMES * EACH + 1);
	gt_backlog_stop(backlog);
	gt_rings_close(&rings);
	fake_ring_close(&k);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_record_that_is_still_being_written_keeps_later_ones_back),
		cmocka_unit_test(records_that_wrap_around_arrive_and_discarded_ones_do_not),
		cmocka_unit_test(records_wait_in_our_memory_while_their_reader_is_busy),
		cmocka_unit_test(a_drain_is_of_all_that_was_sent_before_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
