/*
 * quiet.h - writing without being killed for it.
 *
 * A write past a file-size limit raises SIGXFSZ, one into a pipe that nobody reads SIGPIPE. In the
 * traced process these would kill a program that did nothing wrong: around our own writes they are
 * held back, and taken away if they came.
 */
#pragma once

#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

struct gt_quiet {
	sigset_t before, pending;
};

void gt_quiet_begin(struct gt_quiet *q);
/* Keeps errno. */
void gt_quiet_end(const struct gt_quiet *q);

/* False when no write to this file can raise a signal: a plain file, and no limit on its size. */
bool gt_quiet_is_needed(int fd);

/* write(2), tried again when interrupted. */
ssize_t gt_write_quiet(int fd, const void *data, size_t size, bool needed);
