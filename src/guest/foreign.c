/* SPDX-License-Identifier: MIT */
/* foreign.c - locks that are not ours, and forks. */
#include "guest/foreign.h"

#include <errno.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* Threads are spread over the places by where their errno lies. */
enum { PLACES = 32, PLACE_SHIFT = 12 };

/* How long a fork waits for those who are in, and they for the fork. */
enum { PAUSE_NS = 20000, PAUSES_MAX = 2000 };

static struct {
	_Alignas(64) _Atomic uint32_t inside;
} places[PLACES];
static _Atomic uint32_t forks; /* under way */
static _Atomic bool is_stuck;
static _Atomic bool was_forked; /* by fork(), not by the bare system call */

/* This thread is in there, or in fork(): a signal handler in it must wait for neither. */
static __thread uint32_t here __attribute__((tls_model("initial-exec")));

static _Atomic uint32_t *place_of_thread(void)
{
	return &places[((uintptr_t)&errno >> PLACE_SHIFT) % PLACES].inside;
}

/* By the system call: a thread must not be cancelled here. */
static void pause_shortly(void)
{
	syscall(SYS_nanosleep, &(struct timespec){ .tv_nsec = PAUSE_NS }, NULL);
}

_Atomic uint32_t *gt_foreign_enter(void)
{
	_Atomic uint32_t *place = place_of_thread();

	if (atomic_load_explicit(&is_stuck, memory_order_relaxed))
		return NULL;
	atomic_fetch_add(place, 1);
	for (int i = 0; !here && atomic_load(&forks) && i < PAUSES_MAX; i++) {
		atomic_fetch_sub(place, 1);
		pause_shortly();
		atomic_fetch_add(place, 1);
	}
	here++;
	return place;
}

void gt_foreign_leave(_Atomic uint32_t *place)
{
	here--;
	atomic_fetch_sub(place, 1);
}

static bool is_anyone_inside(void)
{
	for (int i = 0; i < PLACES; i++)
		if (atomic_load(&places[i].inside))
			return true;
	return false;
}

static void before_fork(void)
{
	int saved = errno;

	atomic_fetch_add(&forks, 1);
	for (int i = 0; !here && is_anyone_inside() && i < PAUSES_MAX; i++)
		pause_shortly();
	here++;
	errno = saved;
}

static void after_fork(void)
{
	here--;
	atomic_fetch_sub(&forks, 1);
}

static void after_fork_in_child(void)
{
	here--;
	atomic_store(&forks, 0);
	atomic_store(&was_forked, true);
}

void gt_foreign_start(void)
{
	pthread_atfork(before_fork, after_fork, after_fork_in_child);
}

bool gt_foreign_restart(void)
{
	_Atomic uint32_t *own = place_of_thread();

	for (int i = 0; i < PLACES; i++) {
		/* forked by a signal handler that came while this thread was in: it leaves yet */
		uint32_t left = &places[i].inside == own ? here : 0;

		if (atomic_exchange(&places[i].inside, left) != left)
			atomic_store(&is_stuck, true);
	}
	return atomic_exchange(&was_forked, false);
}
