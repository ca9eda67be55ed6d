/* SPDX-License-Identifier: MIT */
/*
 * mapped_libraries.h - mappings that were heard of, for processes that are gone before anybody
 * looks.
 *
 * A program of a few milliseconds has ended when its first call is read: /proc has nothing of it
 * any more. The last mappings of code, of whatever process, are remembered for that.
 */
#pragma once

#include "capture/ebpf/image.h"

enum { GT_HEARD_MAX = 2048 };

struct gt_heard {
	struct gt_heard_mapping {
		uint32_t pid; /* 0: none */
		struct gt_mapping mapping;
	} list[GT_HEARD_MAX];
	size_t next; /* the oldest, which is forgotten next */
};

void gt_heard_fini(struct gt_heard *h);
/* Copies the mapping. */
void gt_heard_add(struct gt_heard *h, uint32_t pid, const struct gt_mapping *m);
/* What was heard of a process, the newest first; where mappings lie over each other, that alone. */
void gt_heard_of(struct gt_mappings *out, const struct gt_heard *h, uint32_t pid);
