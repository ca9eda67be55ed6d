/* SPDX-License-Identifier: MIT */
/*
 * guest_file.h - files of ours in the traced process: descriptors, appending, writing.
 *
 * Programs close descriptors they do not know, and open other files under the same numbers. So our
 * descriptors have high numbers, and what they refer to is checked before they are used or closed:
 * we never write into a file of the program.
 */
#pragma once

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

/*
 * Out of the way of programs that count on low numbers; if the limit is below it, the last quarter
 * of the numbers that it allows is, and then the one before. A program that closes all it does not
 * know needs longer than GT_FD_CHECK_NS to open so many files that one of them gets such a number.
 */
enum { GT_FD_FIRST = 500, GT_FD_CHECK_NS = 50 * 1000 };

/*
 * Moves a descriptor to a high number if one is free, so that the program's next file gets the
 * number it would get without us; returns its new number. Keeps errno.
 */
int gt_fd_move_high(int fd);

/* What an error number means, in English: strerror may load a translation. */
static inline const char *gt_error_text(int error)
{
#if __GLIBC_PREREQ(2, 32)
	const char *text = strerrordesc_np(error);
#else
	const char *text = strerror(error);
#endif

	if (error == EFBIG)
		return "the limit on the size of files was reached (ulimit -f)";
	return text ? text : "unknown error";
}

/* Identifies a file whatever its descriptor's number. */
struct gt_file_id {
	dev_t dev;
	ino_t ino;
};

/* Functions of their own, so that `struct stat` is gone from the stack when they return. */
bool gt_file_id_of(struct gt_file_id *id, int fd);
/* True while the descriptor still refers to that file, and the file has that size or more. */
bool gt_fd_holds(int fd, const struct gt_file_id *id, uint64_t size);
/* The file's size; -1 if the kernel does not say. */
int64_t gt_fd_size(int fd);
/* True while the path, which is no symbolic link, still refers to that file. */
bool gt_path_is(const char *path, const struct gt_file_id *id);

/* True while the descriptor still refers to that file. */
static inline bool gt_fd_is(int fd, const struct gt_file_id *id)
{
	return gt_fd_holds(fd, id, 0);
}

/* Clears the O_NONBLOCK it was opened with. */
static inline void gt_fd_set_blocking(int fd)
{
	int flags = fcntl(fd, F_GETFL);

	if (flags >= 0)
		fcntl(fd, F_SETFL, flags & ~O_NONBLOCK);
}

/*
 * Opens the file again if the descriptor refers to something else by now; -1 if `path` is no longer
 * that file. Never waits, even if the path is a pipe by now that nobody reads.
 */
static inline int gt_fd_reopen(int fd, const struct gt_file_id *id, const char *path, int flags)
{
	if (gt_fd_is(fd, id))
		return fd;
	fd = open(path, flags | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0)
		return -1;
	fd = gt_fd_move_high(fd);
	if (gt_fd_is(fd, id)) {
		gt_fd_set_blocking(fd);
		return fd;
	}
	close(fd);
	errno = ENOENT;
	return -1;
}

/* Closes the descriptor only if it still refers to that file. */
static inline void gt_fd_close(int fd, const struct gt_file_id *id)
{
	if (gt_fd_is(fd, id))
		close(fd);
}

/* True when it is time to check again what a descriptor refers to. */
static inline bool gt_fd_check_is_due(_Atomic uint64_t *checked_ns, uint64_t now_ns)
{
	if (now_ns - atomic_load_explicit(checked_ns, memory_order_relaxed) <= GT_FD_CHECK_NS)
		return false;
	atomic_store_explicit(checked_ns, now_ns, memory_order_relaxed);
	return true;
}

/*
 * A write past the file-size limit raises SIGXFSZ, and one into a pipe that nobody reads SIGPIPE.
 * Either would kill a program that did nothing wrong, so both are blocked around our own writes,
 * and consumed if they came.
 */
struct gt_held_signals {
	uint64_t before, pending; /* the kernel's sets: the C library's have 128 bytes */
};

void gt_signals_hold(struct gt_held_signals *h);
/* Keeps errno. */
void gt_signals_release(const struct gt_held_signals *h);

/* Only a limit on the size of files makes the kernel send SIGXFSZ. */
bool gt_file_size_is_limited(void);

/* write(2), retried when interrupted; signals are held only where they may come. */
ssize_t gt_write_without_signals(int fd, const void *data, size_t size, bool may_signal);

/*
 * A file that is appended to, and opened again if the program closes it. Threads may write at the
 * same time; those that find it closed together end up with one descriptor.
 */
struct gt_append_file {
	_Atomic int fd; /* -1: not open, or lost for good */
	struct gt_file_id id;
	const char *path;
	bool is_regular;
	_Atomic uint64_t checked_ns;
};

#define GT_APPEND_NONE                                                                             \
	{                                                                                          \
		.fd = -1                                                                           \
	}

/* What the path may name: a regular file or a character device, or a pipe as well. */
enum gt_append_to { GT_APPEND_FILE, GT_APPEND_STREAM };

/*
 * Opens the file for appending; `path` is borrowed until it is closed. Never waits: -ENXIO for a
 * pipe that nobody reads, -ENODEV for anything that `what` does not allow.
 */
int gt_append_file_open(struct gt_append_file *f, const char *path, int flags,
			enum gt_append_to what);
/* Describes what gt_append_file_open returned. */
const char *gt_append_file_error(int error);
/*
 * write(2) of the whole without a signal; -1 with errno, also when the file cannot be opened again.
 */
ssize_t gt_append_file_write(struct gt_append_file *f, const void *data, size_t size,
			     uint64_t now_ns);
void gt_append_file_close(struct gt_append_file *f);

/*
 * Finds the path of a file without symbolic links, as realpath does: that takes 5 KB of the stack.
 * The result is in `path`; false: it cannot be found. The next file of the same folder takes one
 * system call, unless `folder` has been cleared.
 */
struct gt_real_path {
	char path[PATH_MAX], left[PATH_MAX], link[PATH_MAX];
	char folder[PATH_MAX], real_folder[PATH_MAX]; /* of the last file, as given and as found */
	struct stat status;                           /* of the file */
};
bool gt_real_path_find(struct gt_real_path *w, const char *name);
