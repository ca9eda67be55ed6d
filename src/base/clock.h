/* SPDX-License-Identifier: MIT */
/* clock.h - the two clocks of a recording: monotonic for order, real time for people. */
#pragma once

#include <stdint.h>
#include <time.h>

static inline uint64_t gt_clock_ns(clockid_t id)
{
	struct timespec t;

	clock_gettime(id, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Comparable between threads and between processes of one boot. */
static inline uint64_t gt_now_ns(void)
{
	return gt_clock_ns(CLOCK_MONOTONIC);
}
