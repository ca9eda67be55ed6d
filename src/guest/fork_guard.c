/* SPDX-License-Identifier: MIT */
/* fork_guard.c - keeps forks apart from the locks of other libraries. */
#include "guest/fork_guard.h"

#include <errno.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* Threads are spread over the counters by the address of their errno. */
enum { COUNTERS = 32, PAGE_SHIFT = 12 };

/* How long a fork waits for the threads inside, and a thread for the fork. */
enum { PAUSE_NS = 20000, PAUSES_MAX = 2000 };

static struct {
	_Alignas(64) _Atomic uint32_t inside;
} counters[COUNTERS];
static _Atomic uint32_t forks;  /* under way */
static _Atomic bool is_closed;  /* a lock may be held by a thread that is gone */
static _Atomic bool was_forked; /* by fork(), not by the bare system call */

/* This thread is inside, or in fork(): its signal handlers must wait for neither. */
static __thread uint32_t depth __attribute__((tls_model("initial-exec")));

static _Atomic uint32_t *counter_of_thread(void)
{
	return &counters[((uintptr_t)&errno >> PAGE_SHIFT) % COUNTERS].inside;
}

/* The bare system call is no cancellation point: a thread must not be cancelled here. */
static void pause_shortly(void)
{
	syscall(SYS_nanosleep, &(struct timespec){ .tv_nsec = PAUSE_NS }, NULL);
}

_Atomic uint32_t *gt_fork_guard_enter(void)
{
	_Atomic uint32_t *counter = counter_of_thread();

	if (atomic_load_explicit(&is_closed, memory_order_relaxed))
		return NULL;
	atomic_fetch_add(counter, 1);
	for (int i = 0; !depth && atomic_load(&forks) && i < PAUSES_MAX; i++) {
		atomic_fetch_sub(counter, 1);
		pause_shortly();
		atomic_fetch_add(counter, 1);
	}
	depth++;
	return counter;
}

void gt_fork_guard_leave(_Atomic uint32_t *counter)
{
	depth--;
	atomic_fetch_sub(counter, 1);
}

static bool is_anyone_inside(void)
{
	for (int i = 0; i < COUNTERS; i++)
		if (atomic_load(&counters[i].inside))
			return true;
	return false;
}

static void before_fork(void)
{
	int saved = errno;

	atomic_fetch_add(&forks, 1);
	for (int i = 0; !depth && is_anyone_inside() && i < PAUSES_MAX; i++)
		pause_shortly();
	depth++;
	errno = saved;
}

static void after_fork(void)
{
	depth--;
	atomic_fetch_sub(&forks, 1);
}

static void after_fork_in_child(void)
{
	depth--;
	atomic_store(&forks, 0);
	atomic_store(&was_forked, true);
}

void gt_fork_guard_start(void)
{
	pthread_atfork(before_fork, after_fork, after_fork_in_child);
}

bool gt_fork_guard_restart(void)
{
	_Atomic uint32_t *own = counter_of_thread();

	for (int i = 0; i < COUNTERS; i++) {
		/* forked by a signal handler of this thread while it was inside: it will leave */
		uint32_t left = &counters[i].inside == own ? depth : 0;

		if (atomic_exchange(&counters[i].inside, left) != left)
			atomic_store(&is_closed, true);
	}
	return atomic_exchange(&was_forked, false);
}
