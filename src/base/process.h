/* SPDX-License-Identifier: MIT */
/* process.h - clocks, the host's boot, the state of a process, and this process's rank in a
 * parallel job. */
#pragma once

#include <stdbool.h>
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

/* The same to a few milliseconds, at a fraction of the cost; never ahead of gt_now_ns. */
static inline uint64_t gt_now_roughly_ns(void)
{
	return gt_clock_ns(CLOCK_MONOTONIC_COARSE);
}

/* Identifies the current boot of this host, the same in its containers; "" if unknown. */
const char *gt_boot_id(void);

/* A process as /proc/PID/stat shows it. */
struct gt_process_state {
	uint32_t ppid;
	bool has_ended;       /* nobody has waited for it yet */
	bool is_ending;       /* it has ended, or is past the point of no return */
	int exit_status;      /* as from waitpid; means something while `is_ending` */
	uint64_t start_ticks; /* when it was forked, since the boot */
};

/* False if there is no such process. */
bool gt_process_state_read(struct gt_process_state *state, uint32_t pid);

/* When the process was forked, in real time; 0 if no such process runs. */
uint64_t gt_process_start_ns(uint32_t pid);

/*
 * This process's rank in a parallel job ("0", "17"), from the variables of whatever launched it;
 * NULL outside a job. Borrowed from the environment.
 */
const char *gt_job_rank(void);
