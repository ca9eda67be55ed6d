/* SPDX-License-Identifier: MIT */
/* append_file.c - a file that is appended to in somebody else's process, whatever that closes. */
#include "base/append_file.h"

#include <errno.h>
#include <string.h>

#include "base/held_signals.h"

static bool is_allowed(int fd, enum gt_append_to what)
{
	struct stat st;

	if (fstat(fd, &st))
		return false;
	return S_ISREG(st.st_mode) || S_ISCHR(st.st_mode) ||
	       (what == GT_APPEND_STREAM && S_ISFIFO(st.st_mode));
}

int gt_append_file_open(struct gt_append_file *k, const char *path, int flags,
			enum gt_append_to what)
{
	int fd = open(path, flags | O_WRONLY | O_APPEND | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0644);

	if (fd < 0)
		return -errno;
	if (!is_allowed(fd, what)) {
		close(fd);
		return -ENODEV;
	}
	gt_fd_wait(fd);
	fd = gt_fd_aside(fd);
	gt_file_id_of(&k->id, fd);
	k->path = path;
	k->quietly = gt_write_may_signal(fd);
	atomic_store(&k->fd, fd);
	return 0;
}

const char *gt_append_file_error(int error)
{
	switch (error) {
	case -ENXIO: return "nobody reads from it";
	case -ENODEV: return "it is no file";
	default: return strerror(-error);
	}
}

/* The descriptor, a fresh one where the number stands for something else by now; -1: none. */
static int look_again(struct gt_append_file *k)
{
	int known = atomic_load(&k->fd), fd;

	if (gt_fd_is(known, &k->id))
		return known;
	fd = gt_fd_again(-1, &k->id, k->path, O_WRONLY | O_APPEND);
	/* another thread may have got it under the old number, */
	if (fd >= 0 && fd != known && gt_fd_is(known, &k->id)) {
		close(fd);
		return known;
	}
	/* or been first with a new one */
	if (atomic_compare_exchange_strong(&k->fd, &known, fd))
		return fd;
	if (fd >= 0)
		close(fd);
	return known;
}

ssize_t gt_append_file_write(struct gt_append_file *k, const void *data, size_t size,
			     uint64_t now_ns)
{
	int fd = gt_fd_is_due(&k->checked_ns, now_ns) ? look_again(k) : atomic_load(&k->fd);
	ssize_t n;

	if (fd < 0)
		return -1;
	n = gt_write_without_signals(fd, data, size, k->quietly);
	if (n >= 0 || errno != EBADF)
		return n;
	/* closed by the program: opened again */
	fd = look_again(k);
	return fd < 0 ? -1 : gt_write_without_signals(fd, data, size, k->quietly);
}

void gt_append_file_close(struct gt_append_file *k)
{
	gt_fd_let_go(atomic_exchange(&k->fd, -1), &k->id);
}
