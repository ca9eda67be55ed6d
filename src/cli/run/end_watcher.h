/* SPDX-License-Identifier: MIT */
/*
 * end_watcher.h - sees when the traced processes are gone, for those that cannot say so.
 *
 * The kernel closes a process's trace when it ends, however it does, and when it becomes another
 * program; but not as long as a child lives that it forked and that has called nothing of a GPU
 * yet, for that has the trace mapped too. A thread of the tool hears of it (inotify) and notes the
 * time of those whose trace has no end: trace/info.h. Where the kernel has no such news to give,
 * nothing happens.
 */
#pragma once

struct gt_end_watcher;

/* `folder` is the recording's. NULL when there is nothing to be had. */
struct gt_end_watcher *gt_end_watcher_start(const char *folder);
/* Takes what has come in so far, and waits for the thread. NULL is nothing. */
void gt_end_watcher_stop(struct gt_end_watcher *watcher);
