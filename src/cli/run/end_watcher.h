/* SPDX-License-Identifier: MIT */
/*
 * end_watcher.h - records when traced processes end that cannot record it themselves.
 *
 * The kernel closes a process's trace when the process ends, in whatever way, and on exec; but not
 * while a forked child that has made no GPU call yet is alive, because it has the trace mapped too.
 * A thread of the tool is notified (inotify) and records the time for traces that have no end:
 * trace/info.h. Where the kernel gives no such notifications, nothing happens.
 */
#pragma once

struct gt_end_watcher;

/* `folder` is the recording's. NULL if watching is impossible. */
struct gt_end_watcher *gt_end_watcher_start(const char *folder);
/* Handles what has arrived so far and waits for the thread. NULL is ignored. */
void gt_end_watcher_stop(struct gt_end_watcher *watcher);
