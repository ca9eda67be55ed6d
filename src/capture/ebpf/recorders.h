/* SPDX-License-Identifier: MIT */
/*
 * recorders.h - the recorder of `gputrack run` in the processes that are followed: calls that end
 * in it are seen there, and the stacks that it records stay whole (guest/tap.h).
 */
#pragma once

#include <sys/types.h>

#include "capture/ebpf/mappings.h"
#include "capture/ebpf/probes.h"

/* Copies of the recorder that are probed: of this installation, of containers. */
enum { GT_RECORDERS_MAX = 16 };

struct gt_recorders {
	struct gt_probes *probes;
	struct gt_recorder_file {
		dev_t dev;
		ino_t ino;
		uint64_t state; /* the address of gt_tap_state in the file; 0: it has none */
	} files[GT_RECORDERS_MAX];
	size_t count;
};

/* Probes the recorder that `gputrack run` of this installation uses. */
void gt_recorders_installed(struct gt_recorders *r, const char *path);
/* Probes the recorder of a process, if it has one and it is new, and asks it for its doors. */
void gt_recorders_scan(struct gt_recorders *r, uint32_t pid);
/* By the name of its file. */
bool gt_recorder_is_likely(const char *path);
/* A process has mapped such a file, which may be new. */
void gt_recorders_hear(struct gt_recorders *r, uint32_t pid, const struct gt_mapping *m);
/* gt_recorders_scan for every process. */
void gt_recorders_everywhere(struct gt_recorders *r);
