/* SPDX-License-Identifier: MIT */
/*
 * end_watcher.h - records how traced processes end, and when, if they cannot record it themselves.
 *
 * The kernel closes a process's trace when the process ends, in whatever way, and on exec; but not
 * while a forked child that has made no GPU call yet is alive, because it has the trace mapped too.
 * A thread of the tool is notified of new traces and of closed ones (inotify), and of the ends of
 * their processes (pidfd): trace/info.h. Where the kernel gives no such notifications, nothing
 * happens; what it does not tell stays unknown.
 */
#pragma once

#include <stdint.h>
#include <sys/types.h>

struct gt_end_watcher;

/* `folder` is the recording's, `number` as in trace/layout.h. NULL if watching is impossible. */
struct gt_end_watcher *gt_end_watcher_start(const char *folder, uint64_t number);
/*
 * Handles what has arrived so far and waits for the thread. The child `pid` ended with `status`, as
 * from waitpid; -1: unknown. Returns how many processes said that they could not record. A NULL
 * watcher is ignored.
 */
uint64_t gt_end_watcher_stop(struct gt_end_watcher *watcher, pid_t pid, int status);
