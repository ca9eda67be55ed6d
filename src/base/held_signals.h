/* SPDX-License-Identifier: MIT */
/*
 * held_signals.h - writing without being killed for it.
 *
 * A write past a file-size limit raises SIGXFSZ, one into a pipe that nobody reads SIGPIPE. In the
 * traced process these would kill a program that did nothing wrong: around our own writes they are
 * held back, and taken away if they came.
 */
#pragma once

#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

struct gt_held_signals {
	sigset_t before, pending;
};

void gt_signals_hold(struct gt_held_signals *q);
/* Keeps errno. */
void gt_signals_release(const struct gt_held_signals *q);

/* False when no write to this file can raise a signal: a plain file, and no limit on its size. */
bool gt_write_may_signal(int fd);

/* write(2), tried again when interrupted. */
ssize_t gt_write_without_signals(int fd, const void *data, size_t size, bool needed);
