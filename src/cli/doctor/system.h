/* SPDX-License-Identifier: MIT */
/*
 * system.h - the machine as a block of text, for the head of a report: kernel, distribution,
 * processor, memory, disks, GPUs.
 *
 * Everything is read from the kernel's and the distribution's files below `root`; what cannot be
 * read is left out, and nothing here fails.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>

struct gt_disks {
	uint64_t size_bytes, used_bytes, available_bytes;
};

/* A GPU as NVIDIA's management library describes it. */
struct gt_nvidia_gpu {
	unsigned index;
	char name[128], uuid[96], driver[96];
	uint64_t total_bytes, used_bytes, free_bytes;
	unsigned busy_percent;
};

struct gt_system {
	FILE *out;
	bool utf8;
	const char *root; /* "" is this machine's */
	time_t today;
	struct gt_disks disks;
	struct gt_nvidia_gpu gpus[64];
	unsigned gpu_count;
	const char *others; /* devices of other APIs, a line each; "" for none */
};

/* All sections, in their order. */
void gt_system_write(const struct gt_system *s);

/* Queries disks and GPUs in a child process: drivers may crash, disks may hang. */
void gt_system_look(struct gt_system *s);

/* The sections' bodies. */
void gt_system_host(const struct gt_system *s);
void gt_system_distribution(const struct gt_system *s);
void gt_system_processor(const struct gt_system *s);
void gt_system_memory(const struct gt_system *s);
void gt_system_disks(const struct gt_system *s);
void gt_system_gpus(const struct gt_system *s);

/* Opens a file below the root for reading; NULL: there is none. */
FILE *gt_system_open(const struct gt_system *s, const char *path);
/* The first line of such a file, without its newline; false: there is none. */
bool gt_system_line(const struct gt_system *s, char *out, size_t size, const char *format, ...)
	__attribute__((format(printf, 4, 5)));
/* Writes foreign text, cleaned. */
void gt_system_text(const struct gt_system *s, const char *text);
