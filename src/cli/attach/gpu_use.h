/* SPDX-License-Identifier: MIT */
/* gpu_use.h - the GPUs of the machine and what processes use of them, as NVML reports it. */
#pragma once

#include "cli/nvml.h"
#include "screen/live_sites.h"

/* A process on a GPU or instance. */
struct gt_gpu_use_process {
	uint32_t pid;
	size_t gpu;    /* of `gpus` */
	uint64_t used; /* 0: unknown */
};

/* Zeroed is initialised. */
struct gt_gpu_use {
	struct gt_nvml *nvml; /* NULL: not there, or not opened yet */
	bool is_tried;
	struct gt_nvml_unit units[GT_NVML_UNITS];
	struct gt_live_gpu gpus[GT_NVML_UNITS];
	size_t count;
	struct gt_gpu_use_process *processes;
	size_t process_count, process_room;
};

/* Reads everything again. */
void gt_gpu_use_read(struct gt_gpu_use *u);
void gt_gpu_use_fini(struct gt_gpu_use *u);
/* For struct gt_live_names. */
bool gt_gpu_use_of(const struct gt_gpu_use *u, uint32_t pid, struct gt_live_gpu_use *use);
