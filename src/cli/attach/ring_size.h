/* SPDX-License-Identifier: MIT */
/* ring_size.h - how big the ring between the kernel and the tool is made, and what it bears. */
#pragma once

#include "capture/ebpf/probes.h"

enum { GT_RING_MAX = 1 << 30 };

/* What its size depends on. */
struct gt_ring_needs {
	unsigned processors;      /* that make calls at the same time */
	uint64_t available_bytes; /* of the machine's memory; 0: unknown */
	bool has_copies;          /* of stacks, of some KiB each */
};

/* A size for bursts of calls, a power of two. */
size_t gt_ring_size_for(const struct gt_ring_needs *needs);
/* The size that was asked for as a power of two, from a page to GT_RING_MAX; 0: for this machine.
 */
size_t gt_ring_size(uint64_t wanted, const struct gt_probes_options *how);
/* How many calls fit into it, with stacks of ordinary depth or copies of them. */
uint64_t gt_ring_calls(const struct gt_probes_options *how);
