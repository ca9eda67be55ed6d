/* SPDX-License-Identifier: MIT */
/* backlog.c - records of rings that wait in our own memory, because their reader is busy. */
#include "capture/ebpf/backlog.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/process.h"

enum { BATCH = 256 << 10 }; /* bytes that the reader takes at a time */

/* Records, each after its size, in multiples of 8 bytes. */
struct records {
	uint8_t *bytes;
	size_t used, room;
};

struct gt_backlog {
	struct gt_rings *rings;
	size_t limit;
	uint64_t *told;
	pthread_t thread;
	int epoll, stop;      /* stop: an eventfd */
	pthread_mutex_t lock; /* of these: */
	struct records waits; /* … taken from the ring */
	struct records spare; /* the reader's: what it has read last */
};

static void add(struct records *to, const void *record, size_t size)
{
	size_t needed = sizeof(uint64_t) + ((size + 7) & ~(size_t)7);
	const uint64_t head = size;

	if (to->used + needed > to->room) {
		to->room = 2 * (to->used + needed);
		to->bytes = gt_realloc(to->bytes, to->room);
	}
	memcpy(to->bytes + to->used, &head, sizeof head);
	memcpy(to->bytes + to->used + sizeof head, record, size);
	to->used += needed;
}

static void tell(const struct gt_backlog *b)
{
	__atomic_store_n(b->told, b->waits.used, __ATOMIC_RELAXED);
}

/*
 * Takes records of the pass while fewer bytes than `most` wait; true unless one is still being
 * written.
 */
static bool take(struct gt_backlog *b, size_t most)
{
	enum gt_ring_next next = GT_RING_EMPTY;
	const void *record;
	size_t size;

	while (b->waits.used < most &&
	       (next = gt_rings_peek(b->rings, &record, &size)) == GT_RING_RECORD) {
		add(&b->waits, record, size);
		gt_rings_release(b->rings);
	}
	tell(b);
	return next != GT_RING_BUSY;
}

static void *make_room(void *backlog)
{
	struct gt_backlog *b = backlog;
	struct epoll_event events[GT_PROBE_RINGS + 1];
	int n;

	for (;;) {
		n = epoll_wait(b->epoll, events, GT_PROBE_RINGS + 1, -1);
		for (int i = 0; i < n; i++)
			if (events[i].data.fd == b->stop)
				return NULL;
		pthread_mutex_lock(&b->lock);
		gt_rings_begin(b->rings, gt_now_ns());
		take(b, b->limit);
		pthread_mutex_unlock(&b->lock);
	}
}

/* The signals of the tool are the reader's. */
static int start_thread(struct gt_backlog *b)
{
	sigset_t all, before;
	int e;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	e = pthread_create(&b->thread, NULL, make_room, b);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return -e;
}

static int watch(int epoll, int fd)
{
	struct epoll_event event = { .events = EPOLLIN | EPOLLET, .data.fd = fd };

	return epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) ? -errno : 0;
}

static void free_backlog(struct gt_backlog *b)
{
	if (b->epoll >= 0)
		close(b->epoll);
	if (b->stop >= 0)
		close(b->stop);
	pthread_mutex_destroy(&b->lock);
	free(b->waits.bytes);
	free(b->spare.bytes);
	free(b);
}

int gt_backlog_start(struct gt_backlog **out, struct gt_rings *rings, size_t limit, uint64_t *told)
{
	struct gt_backlog *b = gt_alloc(sizeof *b);
	int e = 0;

	b->rings = rings;
	b->limit = limit;
	b->told = told;
	pthread_mutex_init(&b->lock, NULL);
	b->epoll = epoll_create1(EPOLL_CLOEXEC);
	b->stop = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (b->epoll < 0 || b->stop < 0)
		e = -errno;
	if (!e)
		e = watch(b->epoll, b->stop);
	for (unsigned i = 0; i < rings->count && !e; i++)
		e = watch(b->epoll, rings->parts[i].ring.fd);
	if (!e)
		e = start_thread(b);
	if (e) {
		free_backlog(b);
		return e;
	}
	*out = b;
	return 0;
}

void gt_backlog_stop(struct gt_backlog *b)
{
	const uint64_t one = 1;

	(void)!write(b->stop, &one, sizeof one);
	pthread_join(b->thread, NULL);
	free_backlog(b);
}

static void pass_on(const struct records *r, gt_ring_fn *each, void *context)
{
	uint64_t size;

	for (size_t at = 0; at < r->used; at += sizeof size + ((size + 7) & ~(uint64_t)7)) {
		memcpy(&size, r->bytes + at, sizeof size);
		each(context, r->bytes + at + sizeof size, size);
	}
}

bool gt_backlog_drain(struct gt_backlog *b, gt_ring_fn *each, void *context)
{
	struct records batch;
	uint64_t begun_ns = 0;
	bool is_whole, is_through;

	do {
		pthread_mutex_lock(&b->lock);
		/* the thread may begin further passes; each is of all that this one is of */
		if (!begun_ns) {
			begun_ns = gt_now_ns();
			gt_rings_begin(b->rings, begun_ns);
		}
		is_whole = take(b, BATCH);
		is_through = b->rings->through_ns >= begun_ns;
		batch = b->waits;
		b->waits = b->spare;
		b->spare = (struct records){ 0 };
		tell(b);
		pthread_mutex_unlock(&b->lock);
		pass_on(&batch, each, context);
		batch.used = 0;
		/* after a rush, the memory goes back */
		if (batch.room > 4 * BATCH) {
			free(batch.bytes);
			batch = (struct records){ 0 };
		}
		b->spare = batch;
	} while (is_whole && !is_through);
	return is_whole;
}
