/* SPDX-License-Identifier: MIT */
/*
 * backlog.h - records of rings that wait in our own memory, because their reader is busy.
 *
 * The tool may take longer for one record (the first of a process whose files have to be read) than
 * the rings last. When the kernel says that much is waiting, a thread makes room in them.
 */
#pragma once

#include "capture/ebpf/rings.h"

struct gt_backlog;

/*
 * Starts the thread for rings, which from here on are read by nobody else. `limit`: bytes that may
 * wait; `told`: gets the number of those that do. 0 or -errno.
 */
int gt_backlog_start(struct gt_backlog **backlog, struct gt_rings *rings, size_t limit,
		     uint64_t *told);
/* Ends it; records that still wait are lost. */
void gt_backlog_stop(struct gt_backlog *backlog);
/* As gt_rings_drain. */
bool gt_backlog_drain(struct gt_backlog *backlog, gt_ring_fn *each, void *context);
