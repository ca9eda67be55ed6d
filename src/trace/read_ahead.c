/* SPDX-License-Identifier: MIT */
/*
 * read_ahead.c - another thread reads the events of a recording while those before are worked on.
 *
 * Both use a ring of batches. The thread ends where a step has to be taken (stream.c), so
 * everything but the traces that are open belongs to the caller alone, and events come out as
 * without it.
 */
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>

#include "base/mem.h"
#include "trace/stream.h"

enum {
	RING = 32, /* batches */
	WAKE = 8,  /* the reader wakes when so few are left, its caller when so many are there */
};

struct gt_read_ahead {
	struct gt_recording *recording;
	pthread_t thread;
	pthread_mutex_t lock; /* guards what follows */
	pthread_cond_t can_fill, can_take;
	size_t filled, taken; /* batches ever; the one after `taken` is being worked on */
	bool is_taken, is_done, stops;
	struct gt_batch ring[RING];
};

/* Waits until there is room for a batch; false when no more are wanted. */
static bool wait_for_room(struct gt_read_ahead *a)
{
	bool goes_on;

	pthread_mutex_lock(&a->lock);
	if (a->filled - a->taken == RING)
		while (a->filled - a->taken > WAKE && !a->stops)
			pthread_cond_wait(&a->can_fill, &a->lock);
	goes_on = !a->stops;
	pthread_mutex_unlock(&a->lock);
	return goes_on;
}

static void *read_batches(void *context)
{
	struct gt_read_ahead *a = context;
	bool goes_on = true;

	for (size_t i = 0; goes_on && wait_for_room(a); i++) {
		goes_on = gt_batch_fill(&a->ring[i % RING], a->recording);
		pthread_mutex_lock(&a->lock);
		a->filled++;
		a->is_done = !goes_on;
		if (a->is_done || a->filled - a->taken >= WAKE)
			pthread_cond_signal(&a->can_take);
		pthread_mutex_unlock(&a->lock);
	}
	return NULL;
}

bool gt_read_ahead_is_possible(void)
{
	cpu_set_t cores;

	return !sched_getaffinity(0, sizeof cores, &cores) && CPU_COUNT(&cores) > 1;
}

struct gt_read_ahead *gt_read_ahead_start(struct gt_recording *r)
{
	struct gt_read_ahead *a = gt_alloc(sizeof *a);
	sigset_t all, before;
	int e;

	a->recording = r;
	pthread_mutex_init(&a->lock, NULL);
	pthread_cond_init(&a->can_fill, NULL);
	pthread_cond_init(&a->can_take, NULL);
	/* signals are for the thread that knows what to do */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	e = pthread_create(&a->thread, NULL, read_batches, a);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (!e)
		return a;
	free(a);
	return NULL;
}

struct gt_batch *gt_read_ahead_take(struct gt_read_ahead *a)
{
	struct gt_batch *b = NULL;

	pthread_mutex_lock(&a->lock);
	a->taken += a->is_taken;
	if (a->filled - a->taken <= WAKE)
		pthread_cond_signal(&a->can_fill);
	if (a->filled == a->taken)
		while (a->filled - a->taken < WAKE && !a->is_done)
			pthread_cond_wait(&a->can_take, &a->lock);
	a->is_taken = a->filled != a->taken;
	if (a->is_taken)
		b = &a->ring[a->taken % RING];
	pthread_mutex_unlock(&a->lock);
	return b;
}

void gt_read_ahead_stop(struct gt_read_ahead *a)
{
	pthread_mutex_lock(&a->lock);
	a->stops = true;
	pthread_cond_signal(&a->can_fill);
	pthread_mutex_unlock(&a->lock);
	pthread_join(a->thread, NULL);
	pthread_cond_destroy(&a->can_take);
	pthread_cond_destroy(&a->can_fill);
	pthread_mutex_destroy(&a->lock);
	free(a);
}
