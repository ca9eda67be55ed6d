/* SPDX-License-Identifier: MIT */
/* bpf_walk.h - the BPF programs' walk of a stack, compiled for this processor and run in a test. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "capture/ebpf/calls.h"

/* A thread where a call returns to. */
struct bpf_walk_from {
	uint64_t pc, sp, fp;
	/* a call whose return is probed: the stack pointer when it began, where it returns to */
	uint64_t probed_sp, probed_return;
};

/* Walks a stack of this process by the tables in kernel_maps.c; returns enum gt_walk_end. */
uint32_t bpf_walk(const struct bpf_walk_from *from, uint64_t frames[GT_PROBE_FRAMES],
		  size_t *count);
