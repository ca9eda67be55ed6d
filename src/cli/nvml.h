/* SPDX-License-Identifier: MIT */
/* nvml.h - NVIDIA's management library, loaded at run time: memory and use of the GPUs. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct gt_nvml;

enum { GT_NVML_NAME = 96 };

/* NULL if it is not installed or does not answer; `why` receives the reason, one line. */
struct gt_nvml *gt_nvml_open(char *why, size_t size);
void gt_nvml_close(struct gt_nvml *nvml);

unsigned gt_nvml_count(const struct gt_nvml *nvml);
/* "NVIDIA H200"; "" if unknown. */
void gt_nvml_name(const struct gt_nvml *nvml, unsigned gpu, char name[GT_NVML_NAME]);
/* "GPU-47def375-…"; likewise. */
void gt_nvml_uuid(const struct gt_nvml *nvml, unsigned gpu, char uuid[GT_NVML_NAME]);
/* True if the GPU is divided: CUDA then shows instances of it. */
bool gt_nvml_is_divided(const struct gt_nvml *nvml, unsigned gpu);
/* "580.159.04"; likewise. */
void gt_nvml_driver(const struct gt_nvml *nvml, char version[GT_NVML_NAME]);
/*
 * Bytes in use on a GPU by all processes, as nvidia-smi shows it: what the driver reserves for
 * itself is neither used nor available. False if unknown.
 */
bool gt_nvml_memory(const struct gt_nvml *nvml, unsigned gpu, uint64_t *total, uint64_t *used,
		    uint64_t *available);
/* Utilization in percent; 0 if unknown. */
unsigned gt_nvml_busy(const struct gt_nvml *nvml, unsigned gpu);
/* A GPU, or an instance of a divided one (MIG). */
struct gt_nvml_unit {
	unsigned gpu;
	int instance; /* the number of the GPU instance; -1: the whole GPU */
	char name[GT_NVML_NAME];
	uint64_t total, used; /* 0: unknown */
	int busy;             /* utilization in percent; -1: unknown, as it is for instances */
};

enum { GT_NVML_UNITS = 64 };

/* All of them; returns their number. */
size_t gt_nvml_units(const struct gt_nvml *nvml, struct gt_nvml_unit units[GT_NVML_UNITS]);
/* A process that uses a unit. */
typedef void gt_nvml_process_fn(void *context, const struct gt_nvml_unit *unit, uint32_t pid,
				uint64_t used);
/* Every process of every unit; `used` is 0 where it is not known. */
void gt_nvml_processes(const struct gt_nvml *nvml, const struct gt_nvml_unit *units, size_t count,
		       gt_nvml_process_fn *take, void *context);
/* Bytes that `root` and its children use on a GPU; false if NVML lists none of them. */
bool gt_nvml_used_by(const struct gt_nvml *nvml, unsigned gpu, pid_t root, uint64_t *used);
