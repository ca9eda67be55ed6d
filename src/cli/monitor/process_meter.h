/* SPDX-License-Identifier: MIT */
/*
 * process_meter.h - processor time, memory and disk use of another process, from /proc.
 *
 * Processor time is the kernel's count for the whole process in nanoseconds, so that intervals may
 * be short: the ticks of /proc/PID/stat are 10 ms. A meter stands for a process, not for a pid: if
 * the pid is reused, the process has ended.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

#include "base/mem.h"

struct gt_process_meter {
	pid_t pid;
	int fd; /* readable when the process has ended; -1: the kernel has none */
	clockid_t clock;
	uint64_t start_ticks;     /* identifies the process together with the pid */
	uint64_t cpu_ns, time_ns; /* of the last reading */
	char name[256];           /* the current one: an exec changes it */
};

struct gt_process_reading {
	double cpu_percent; /* since the last reading; 100: one core */
	uint64_t cpu_ns;    /* since the process began */
	uint64_t rss_bytes;
	bool has_disk;                    /* we may not be allowed to read other users' */
	uint64_t read_bytes, write_bytes; /* disk, since the process began */
};

/* 0, or -errno and the error. Also begins the first interval. */
int gt_process_meter_open(struct gt_process_meter *m, pid_t pid, struct gt_error *error);
void gt_process_meter_close(struct gt_process_meter *m);

/* Ends the interval and begins the next; false if the process has ended. */
bool gt_process_meter_read(struct gt_process_meter *m, struct gt_process_reading *reading);

/* The machine's memory, from /proc/meminfo; 0: unknown. */
uint64_t gt_machine_memory_bytes(void);
