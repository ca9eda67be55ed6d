/* SPDX-License-Identifier: MIT */
/* mapwatch.h - the mappings of code by any process, from perf's records, and their history. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "capture/ebpf/modules.h"

struct gt_mapwatch {
	struct gt_mapwatch_cpu *cpus;
	size_t count;
};

/* 0, or -errno: new mappings must then be searched for in /proc. */
int gt_mapwatch_open(struct gt_mapwatch *w);
void gt_mapwatch_close(struct gt_mapwatch *w);

/* The mapping is borrowed; it has an inode. */
typedef void gt_mapwatch_fn(void *context, uint32_t pid, const struct gt_mapping *mapping);

/* Passes on the mappings made since the last call. False if some were lost. */
bool gt_mapwatch_drain(struct gt_mapwatch *w, gt_mapwatch_fn *each, void *context);

enum { GT_MAP_HISTORY_MAX = 8192 };

/*
 * The latest mappings of code, of all processes. A program that runs for a few milliseconds has
 * ended by the time its first call is read, and /proc has nothing left of it.
 */
struct gt_map_history {
	struct gt_past_mapping {
		uint32_t pid; /* 0: none */
		struct gt_mapping mapping;
	} list[GT_MAP_HISTORY_MAX];
	size_t next; /* the oldest, which is overwritten next */
};

void gt_map_history_fini(struct gt_map_history *h);
/* Copies the mapping. */
void gt_map_history_add(struct gt_map_history *h, uint32_t pid, const struct gt_mapping *m);
/* The mappings of a process, newest first; of mappings that overlap, the newest alone. */
void gt_map_history_of(struct gt_mappings *out, const struct gt_map_history *h, uint32_t pid);
/* The program that a process runs, as far as its mappings show; NULL: unknown. Borrowed. */
const char *gt_map_history_program(const struct gt_map_history *h, uint32_t pid);
