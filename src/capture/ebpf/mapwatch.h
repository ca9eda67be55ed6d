/* SPDX-License-Identifier: MIT */
/* mapwatch.h - hears of code that is mapped, by any process: perf's own records of it. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "capture/ebpf/image.h"

struct gt_mapwatch {
	struct gt_mapwatch_cpu *cpus;
	size_t count;
};

/* 0 or -errno; without it mappings have to be looked for. */
int gt_mapwatch_open(struct gt_mapwatch *w);
void gt_mapwatch_close(struct gt_mapwatch *w);

/* The mapping is lent; it has an inode. */
typedef void gt_mapwatch_fn(void *context, uint32_t pid, const struct gt_mapping *mapping);

/* Hands over what was mapped since. False when some of it was lost. */
bool gt_mapwatch_drain(struct gt_mapwatch *w, gt_mapwatch_fn *each, void *context);
