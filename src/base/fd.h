/* SPDX-License-Identifier: MIT */
/*
 * fd.h - descriptors of ours in somebody else's process.
 *
 * Programs close descriptors they do not know, and open others under the same numbers. So ours have
 * high numbers, and none is used or closed without a look at what is behind it.
 */
#pragma once

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>
#include <unistd.h>

/*
 * Out of the way of programs that count on low numbers. A program that closes all it does not know
 * needs longer than GT_FD_CHECK_NS to open so many files that one of them gets such a number.
 */
enum { GT_FD_FIRST = 500, GT_FD_CHECK_NS = 50 * 1000 };

/* The same file under a high number, if one can be had; the low one is closed then. */
static inline int gt_fd_aside(int fd)
{
	int high = fcntl(fd, F_DUPFD_CLOEXEC, GT_FD_FIRST);

	if (high < 0)
		return fd;
	close(fd);
	return high;
}

/* What a file is, whatever its number. */
struct gt_file_id {
	dev_t dev;
	ino_t ino;
};

static inline bool gt_file_id_of(struct gt_file_id *id, int fd)
{
	struct stat st;

	if (fd < 0 || fstat(fd, &st))
		return false;
	id->dev = st.st_dev;
	id->ino = st.st_ino;
	return true;
}

/* True when the number still stands for that file. */
static inline bool gt_fd_is(int fd, const struct gt_file_id *id)
{
	struct gt_file_id now;

	return gt_file_id_of(&now, fd) && now.dev == id->dev && now.ino == id->ino;
}

/* Takes O_NONBLOCK off, with which it was opened. */
static inline void gt_fd_wait(int fd)
{
	int flags = fcntl(fd, F_GETFL);

	if (flags >= 0)
		fcntl(fd, F_SETFL, flags & ~O_NONBLOCK);
}

/*
 * Opened again when the number stands for something else by now; -1 when it is not to be had. Does
 * not wait for whoever may read what lies under the name by now.
 */
static inline int gt_fd_again(int fd, const struct gt_file_id *id, const char *path, int flags)
{
	if (gt_fd_is(fd, id))
		return fd;
	fd = open(path, flags | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0)
		return -1;
	fd = gt_fd_aside(fd);
	if (gt_fd_is(fd, id)) {
		gt_fd_wait(fd);
		return fd;
	}
	close(fd);
	errno = ENOENT;
	return -1;
}

/* Closed only if it is still that file. */
static inline void gt_fd_let_go(int fd, const struct gt_file_id *id)
{
	if (gt_fd_is(fd, id))
		close(fd);
}

/* True when it is time to look again what a number stands for. */
static inline bool gt_fd_is_due(_Atomic uint64_t *checked_ns, uint64_t now_ns)
{
	if (now_ns - atomic_load_explicit(checked_ns, memory_order_relaxed) <= GT_FD_CHECK_NS)
		return false;
	atomic_store_explicit(checked_ns, now_ns, memory_order_relaxed);
	return true;
}
