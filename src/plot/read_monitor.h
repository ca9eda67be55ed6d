/* SPDX-License-Identifier: MIT */
/*
 * read_monitor.h - processor and memory use of processes over time, as `gputrack monitor` writes
 * it: timestamp, description, pid, name, cpu_percent, memory_mb, … The older form has no
 * description, and the heading may be missing. If timestamps are whole seconds, rows of the same
 * second are spread evenly over it.
 */
#pragma once

#include "plot/read_rows.h"
#include "plot/trail.h"

enum { GT_MONITOR_PENDING = 64 };

/* Rows with the same pid, name and description. */
struct gt_monitor_run {
	char *name;             /* "description (name, pid 12)" */
	double start_s;         /* real time of its first row */
	struct gt_trail cpu;    /* percent, over seconds since its start */
	struct gt_trail memory; /* MB */
	double peak_cpu, peak_memory, sum_cpu, last_s;
	uint64_t rows;
	double pending[GT_MONITOR_PENDING][2], pending_s; /* rows of one timestamp, and that */
	size_t pending_count;
};

struct gt_monitor_table {
	struct gt_monitor_run *runs;
	size_t run_count, run_room;
	struct gt_intern *names;
	uint64_t rows, bad_rows, bad_line;
	uint64_t left_out; /* rows of runs beyond the limit */
};

int gt_monitor_read(struct gt_monitor_table **out, struct gt_rows *rows, struct gt_error *error);
void gt_monitor_free(struct gt_monitor_table *t);
