/* SPDX-License-Identifier: MIT */
/* test_rings.c - several rings are read as one, in the order of time. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* memfd_create */
#endif
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/eventfd.h>

#include <cmocka.h>

#include "capture/ebpf/backlog.h"
#include "capture/ebpf/probe_rows.h"
#include "capture/ebpf/python_records.h"
#include "capture/ebpf/rings.h"
#include "fake_ring.h"

enum { RINGS = 4, SEEN = 64 };

/* A record: when it was made, and its number. */
struct record {
	uint64_t time_ns, number;
};

struct machine {
	struct fake_ring kernel[RINGS];
	struct gt_rings rings;
	uint64_t seen[SEEN]; /* the times of records that have been passed on */
	size_t count;
};

static uint64_t time_of(const void *record, size_t size)
{
	assert_int_equal(size, FAKE_RECORD);
	return ((const struct record *)record)->time_ns;
}

static void start(struct machine *m, unsigned rings)
{
	*m = (struct machine){ .rings.time_of = time_of };
	for (unsigned i = 0; i < rings; i++) {
		fake_ring_open(&m->kernel[i]);
		assert_int_equal(gt_rings_add(&m->rings, m->kernel[i].fd, FAKE_RING), 0);
	}
}

static void stop(struct machine *m)
{
	for (unsigned i = 0; i < m->rings.count; i++)
		munmap(m->kernel[i].producer, m->kernel[i].page + FAKE_RING);
	gt_rings_close(&m->rings);
}

static uint32_t *put(struct machine *m, unsigned ring, uint64_t time_ns, uint64_t number)
{
	uint32_t *head = fake_ring_reserve(&m->kernel[ring], BPF_RINGBUF_BUSY_BIT);

	*(struct record *)(head + 2) = (struct record){ time_ns, number };
	return head;
}

static void finish(uint32_t *head)
{
	*head &= ~BPF_RINGBUF_BUSY_BIT;
}

static void send(struct machine *m, unsigned ring, uint64_t time_ns)
{
	finish(put(m, ring, time_ns, 0));
}

/* A pass that begins at a time; what it says at its end. */
static enum gt_ring_next pass(struct machine *m, uint64_t now_ns)
{
	enum gt_ring_next next;
	const void *record;
	size_t size;

	gt_rings_begin(&m->rings, now_ns);
	while ((next = gt_rings_peek(&m->rings, &record, &size)) == GT_RING_RECORD) {
		assert_true(m->count < SEEN);
		m->seen[m->count++] = time_of(record, size);
		gt_rings_release(&m->rings);
	}
	return next;
}

/* Exactly these times have been passed on, in this order; then forgets them. */
#define assert_seen(m, ...)                                                                        \
	do {                                                                                       \
		const uint64_t wanted_[] = { __VA_ARGS__ };                                        \
		assert_int_equal((m)->count, sizeof wanted_ / sizeof *wanted_);                    \
		assert_memory_equal((m)->seen, wanted_, sizeof wanted_);                           \
		(m)->count = 0;                                                                    \
	} while (0)

static void records_of_several_rings_come_in_the_order_of_their_times(void **state)
{
	struct machine m;

	(void)state;
	start(&m, 3);
	send(&m, 0, 10);
	send(&m, 0, 40);
	send(&m, 0, 50);
	send(&m, 2, 20);
	send(&m, 1, 30);
	send(&m, 1, 60);
	send(&m, 2, 45);
	assert_int_equal(pass(&m, 100), GT_RING_EMPTY);
	assert_seen(&m, 10, 20, 30, 40, 45, 50, 60);
	assert_int_equal(m.rings.through_ns, 100);
	assert_int_equal(pass(&m, 110), GT_RING_EMPTY);
	assert_int_equal(m.count, 0);
	stop(&m);
}

/* A program that took the time early and reserved room late: nothing waits for what it followed. */
static void times_that_go_back_within_a_ring_keep_its_order(void **state)
{
	struct machine m;

	(void)state;
	start(&m, 2);
	send(&m, 0, 30);
	send(&m, 0, 10);
	send(&m, 1, 20);
	send(&m, 1, 40);
	assert_int_equal(pass(&m, 100), GT_RING_EMPTY);
	assert_seen(&m, 20, 30, 10, 40);
	/* also when what it followed has been passed on */
	send(&m, 0, 5);
	send(&m, 1, 110);
	assert_int_equal(pass(&m, 200), GT_RING_EMPTY);
	assert_seen(&m, 5, 110);
	stop(&m);
}

/* What was sent after a pass looked at one ring, and before it looked at the next. */
static void records_later_than_the_pass_wait_for_the_next(void **state)
{
	struct machine m;

	(void)state;
	start(&m, 2);
	send(&m, 0, 10);
	send(&m, 1, 20);
	send(&m, 1, 105); /* the pass began at 100 … */
	assert_int_equal(pass(&m, 100), GT_RING_EMPTY);
	assert_seen(&m, 10, 20);
	send(&m, 0, 102); /* … and has seen the end of ring 0 before this */
	assert_int_equal(pass(&m, 200), GT_RING_EMPTY);
	assert_seen(&m, 102, 105);
	stop(&m);
}

static void a_record_that_is_being_written_keeps_later_ones_of_all_rings_back(void **state)
{
	struct machine m;
	uint32_t *busy;

	(void)state;
	start(&m, 3);
	send(&m, 0, 30);
	busy = put(&m, 0, 35, 0);
	send(&m, 0, 50);
	send(&m, 1, 20);
	send(&m, 1, 60);
	send(&m, 2, 55);
	/* behind it may be one of 31 or later: not of 30, which was there before its room */
	assert_int_equal(pass(&m, 100), GT_RING_BUSY);
	assert_seen(&m, 20, 30);
	assert_int_equal(pass(&m, 110), GT_RING_BUSY);
	assert_int_equal(m.count, 0);
	assert_int_equal(m.rings.through_ns, 0);
	finish(busy);
	assert_int_equal(pass(&m, 120), GT_RING_EMPTY);
	assert_seen(&m, 35, 50, 55, 60);
	assert_int_equal(m.rings.through_ns, 120);
	stop(&m);
}

/* It was reserved after that pass, and so were those behind it. */
static void what_an_earlier_pass_has_seen_is_not_kept_back(void **state)
{
	struct machine m;
	uint32_t *busy;

	(void)state;
	start(&m, 2);
	send(&m, 0, 10);
	send(&m, 1, 105);
	assert_int_equal(pass(&m, 100), GT_RING_EMPTY);
	assert_seen(&m, 10);
	busy = put(&m, 0, 90, 0);
	send(&m, 1, 98);
	send(&m, 1, 130);
	assert_int_equal(pass(&m, 200), GT_RING_BUSY);
	assert_int_equal(m.count, 0);
	finish(busy);
	assert_int_equal(pass(&m, 210), GT_RING_EMPTY);
	assert_seen(&m, 90, 105, 98, 130);
	/* one that is late, in a ring that was empty all the time */
	busy = put(&m, 0, 205, 0);
	send(&m, 1, 208);
	send(&m, 1, 220);
	assert_int_equal(pass(&m, 300), GT_RING_BUSY);
	assert_seen(&m, 208);
	finish(busy);
	assert_int_equal(pass(&m, 310), GT_RING_EMPTY);
	assert_seen(&m, 205, 220);
	stop(&m);
}

/* With one ring, its order is all there is: no time is looked at. */
static void one_ring_has_its_own_order(void **state)
{
	struct machine m;

	(void)state;
	start(&m, 1);
	m.rings.time_of = NULL;
	send(&m, 0, 500);
	send(&m, 0, 400);
	assert_int_equal(pass(&m, 100), GT_RING_EMPTY);
	assert_seen(&m, 500, 400);
	stop(&m);
}

/*
 * The promise itself, in random schedules: writers begin a record (take the time), reserve room,
 * complete it, each at a moment of its own and on any ring; passes look at the rings' ends one by
 * one, while writers go on. Every record comes once, and after all that were complete before it
 * began.
 */
struct writer {
	uint64_t begun_ns, number, needs; /* needs: a bit for each record that was complete then */
	uint32_t *head;
	unsigned ring;
	int step;
};

enum { WRITERS = 6, RECORDS = 60 };

struct schedule {
	struct machine m;
	struct writer writers[WRITERS];
	uint64_t clock, complete, passed; /* complete, passed: a bit for each record */
	uint64_t needs[RECORDS];
	unsigned begun;
};

static void advance(struct schedule *s)
{
	struct writer *w = &s->writers[rand() % WRITERS];

	s->clock++;
	if (w->step == 0) {
		if (s->begun == RECORDS)
			return;
		w->number = s->begun++;
		w->begun_ns = s->clock;
		s->needs[w->number] = s->complete;
		w->ring = (unsigned)rand() % s->m.rings.count;
	} else if (w->step == 1) {
		w->head = put(&s->m, w->ring, w->begun_ns, w->number);
	} else {
		finish(w->head);
		s->complete |= UINT64_C(1) << w->number;
	}
	w->step = (w->step + 1) % 3;
}

static void read_some(struct schedule *s, bool must_end)
{
	struct gt_rings *r = &s->m.rings;
	const uint64_t complete = s->complete;
	const void *record;
	size_t size;
	enum gt_ring_next next;

	gt_rings_begin(r, s->clock);
	/* writers go on between the looks at two rings */
	for (unsigned i = 0; i < r->count; i++) {
		r->parts[i].end = gt_ring_end(&r->parts[i].ring);
		for (int n = rand() % 8; n && !must_end; n--)
			advance(s);
	}
	while ((next = gt_rings_peek(r, &record, &size)) == GT_RING_RECORD) {
		uint64_t number = ((const struct record *)record)->number;

		assert_false(s->passed >> number & 1);
		assert_true((s->needs[number] & ~s->passed) == 0);
		s->passed |= UINT64_C(1) << number;
		gt_rings_release(r);
		if (rand() % 2 && !must_end)
			advance(s);
		if (rand() % 16 == 0 && !must_end)
			return;
	}
	if (next == GT_RING_EMPTY)
		assert_true((complete & ~s->passed) == 0);
}

static void nothing_comes_before_what_was_complete_when_it_began(void **state)
{
	(void)state;
	for (unsigned seed = 0; seed < 3000; seed++) {
		struct schedule s = { 0 };

		srand(seed);
		start(&s.m, 1 + seed % RINGS);
		while (s.begun < RECORDS) {
			for (int n = rand() % 12; n; n--)
				advance(&s);
			read_some(&s, false);
		}
		for (unsigned i = 0; i < WRITERS; i++)
			while (s.writers[i].step)
				advance(&s);
		s.clock++;
		read_some(&s, true);
		assert_true(s.passed == (UINT64_C(1) << RECORDS) - 1);
		stop(&s.m);
	}
}

static void collect(void *context, const void *record, size_t size)
{
	struct machine *m = context;

	assert_true(m->count < SEEN);
	m->seen[m->count++] = time_of(record, size);
}

/* A backlog takes what waits in batches; a drain is of all that was sent before it. */
static void a_backlog_reads_them_in_order_too(void **state)
{
	struct gt_backlog *backlog;
	uint64_t waiting = 0;
	struct machine m;
	uint32_t *busy;

	(void)state;
	start(&m, 2);
	for (int i = 0; i < 2; i++) {
		/* of a file, that an epoll does not take */
		assert_true(dup2(eventfd(0, EFD_CLOEXEC), m.kernel[i].fd) >= 0);
	}
	assert_int_equal(gt_backlog_start(&backlog, &m.rings, 1 << 20, &waiting), 0);
	send(&m, 1, 20);
	send(&m, 0, 10);
	busy = put(&m, 1, 25, 0);
	send(&m, 0, 30);
	assert_false(gt_backlog_drain(backlog, collect, &m));
	assert_seen(&m, 10, 20);
	finish(busy);
	assert_true(gt_backlog_drain(backlog, collect, &m));
	assert_seen(&m, 25, 30);
	gt_backlog_stop(backlog);
	stop(&m);
}

static void their_number_suits_the_machine(void **state)
{
	const size_t mib = 1 << 20;

	(void)state;
	assert_int_equal(gt_rings_count(16 * mib, 1), 1);
	assert_int_equal(gt_rings_count(16 * mib, 2), 1);
	assert_int_equal(gt_rings_count(16 * mib, 3), 4);
	assert_int_equal(gt_rings_count(16 * mib, 4), 4);
	assert_int_equal(gt_rings_count(64 * mib, 16), 16);
	assert_int_equal(gt_rings_count(64 * mib, 256), 16);
	/* not too small */
	assert_int_equal(gt_rings_count(4 * mib, 16), 4);
	assert_int_equal(gt_rings_count(mib, 16), 1);
	assert_int_equal(gt_rings_count(4096, 16), 1);
}

static void every_record_has_its_time(void **state)
{
	const struct gt_probe_call call = { .begun_ns = 1, .ended_ns = 2 };
	const struct gt_probe_python_code code = { .head = { .time_ns = 3, .start = 9 } };

	(void)state;
	assert_int_equal(gt_probe_record_time(&call, sizeof call), 2);
	assert_int_equal(gt_probe_record_time(&code, sizeof code), 3);
	assert_int_equal(gt_probe_record_time(&call, 8), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(records_of_several_rings_come_in_the_order_of_their_times),
		cmocka_unit_test(times_that_go_back_within_a_ring_keep_its_order),
		cmocka_unit_test(records_later_than_the_pass_wait_for_the_next),
		cmocka_unit_test(a_record_that_is_being_written_keeps_later_ones_of_all_rings_back),
		cmocka_unit_test(what_an_earlier_pass_has_seen_is_not_kept_back),
		cmocka_unit_test(one_ring_has_its_own_order),
		cmocka_unit_test(nothing_comes_before_what_was_complete_when_it_began),
		cmocka_unit_test(a_backlog_reads_them_in_order_too),
		cmocka_unit_test(their_number_suits_the_machine),
		cmocka_unit_test(every_record_has_its_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
