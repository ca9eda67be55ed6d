/* SPDX-License-Identifier: MIT */
/* fast_clock.c - to be preloaded: each look at the clock finds it half a second later. */
#include <stdatomic.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

__attribute__((visibility("default"))) int clock_gettime(clockid_t clock, struct timespec *now)
{
	static atomic_long halves;
	long past = atomic_fetch_add(&halves, 1), ns;
	int e = (int)syscall(SYS_clock_gettime, clock, now);

	ns = now->tv_nsec + past % 2 * 500000000;
	now->tv_sec += past / 2 + ns / 1000000000;
	now->tv_nsec = ns % 1000000000;
	return e;
}
