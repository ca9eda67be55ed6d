/* SPDX-License-Identifier: MIT */
/*
 * read_smi.h - a log of `nvidia-smi --query-gpu=timestamp,memory.used --format=csv --loop-ms=N`.
 *
 * With or without heading and units; further columns, [N/A] and several GPUs per tick are accepted.
 * Other lines are counted and skipped.
 */
#pragma once

#include "plot/read_rows.h"
#include "plot/trail.h"

enum { GT_SMI_GPUS = 64, GT_SMI_ALL = -1 };

struct gt_smi_log {
	struct gt_trail used; /* bytes over seconds since the first sample */
	double start_s;       /* real time of the first sample */
	double last_s, peak_bytes;
	unsigned gpu_count;   /* in the log */
	int gpu;              /* shown; GT_SMI_ALL: the sum of all */
	char gpu_name[64];    /* its name in the log: "0", a UUID; "" if it has none */
	uint64_t samples;     /* ticks with a number */
	uint64_t other_lines; /* neither a sample nor a heading */
	int memory_column;    /* from 1, if it was guessed; 0: the heading names it */
};

/* `gpu`: the n-th of the log, from 0, or GT_SMI_ALL. */
int gt_smi_read(struct gt_smi_log **out, struct gt_rows *rows, int gpu, struct gt_error *error);
void gt_smi_free(struct gt_smi_log *log);
