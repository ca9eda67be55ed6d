/* SPDX-License-Identifier: MIT */
/* guest_file.c - files of ours in the traced process: descriptors, appending, writing. */
#include "base/guest_file.h"

#include <pthread.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

int gt_fd_move_high(int fd)
{
	int saved = errno, high = fcntl(fd, F_DUPFD_CLOEXEC, GT_FD_FIRST);
	struct rlimit limit;

	/* the program's limit, as it is now: it may have changed it */
	if (high < 0 && !getrlimit(RLIMIT_NOFILE, &limit) && limit.rlim_cur <= GT_FD_FIRST) {
		high = fcntl(fd, F_DUPFD_CLOEXEC, (int)(limit.rlim_cur - limit.rlim_cur / 4));
		if (high < 0)
			high = fcntl(fd, F_DUPFD_CLOEXEC, (int)(limit.rlim_cur / 2));
	}
	errno = saved;
	if (high < 0)
		return fd;
	close(fd);
	return high;
}

static void the_signals(sigset_t *set)
{
	sigemptyset(set);
	sigaddset(set, SIGXFSZ);
	sigaddset(set, SIGPIPE);
}

void gt_signals_hold(struct gt_held_signals *h)
{
	sigset_t ours;

	the_signals(&ours);
	sigpending(&h->pending);
	pthread_sigmask(SIG_BLOCK, &ours, &h->before);
}

void gt_signals_release(const struct gt_held_signals *h)
{
	static const struct timespec at_once;
	int saved = errno;
	sigset_t now, ours;

	the_signals(&ours);
	sigpending(&now);
	/* a signal that was pending before is the program's own */
	if (sigismember(&h->pending, SIGXFSZ) || !sigismember(&now, SIGXFSZ))
		sigdelset(&ours, SIGXFSZ);
	if (sigismember(&h->pending, SIGPIPE) || !sigismember(&now, SIGPIPE))
		sigdelset(&ours, SIGPIPE);
	if (sigismember(&ours, SIGXFSZ) || sigismember(&ours, SIGPIPE))
		while (sigtimedwait(&ours, NULL, &at_once) >= 0)
			;
	pthread_sigmask(SIG_SETMASK, &h->before, NULL);
	errno = saved;
}

bool gt_file_size_is_limited(void)
{
	struct rlimit limit;

	return getrlimit(RLIMIT_FSIZE, &limit) || limit.rlim_cur != RLIM_INFINITY;
}

static bool is_regular(int fd)
{
	struct stat st;

	return !fstat(fd, &st) && S_ISREG(st.st_mode);
}

ssize_t gt_write_without_signals(int fd, const void *data, size_t size, bool may_signal)
{
	struct gt_held_signals held;
	ssize_t n;

	if (may_signal)
		gt_signals_hold(&held);
	do
		n = write(fd, data, size);
	while (n < 0 && errno == EINTR);
	if (may_signal)
		gt_signals_release(&held);
	return n;
}

static bool is_allowed(int fd, enum gt_append_to what)
{
	struct stat st;

	if (fstat(fd, &st))
		return false;
	return S_ISREG(st.st_mode) || S_ISCHR(st.st_mode) ||
	       (what == GT_APPEND_STREAM && S_ISFIFO(st.st_mode));
}

int gt_append_file_open(struct gt_append_file *f, const char *path, int flags,
			enum gt_append_to what)
{
	int fd = open(path, flags | O_WRONLY | O_APPEND | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0644);

	if (fd < 0)
		return -errno;
	if (!is_allowed(fd, what)) {
		close(fd);
		return -ENODEV;
	}
	gt_fd_set_blocking(fd);
	fd = gt_fd_move_high(fd);
	gt_file_id_of(&f->id, fd);
	f->path = path;
	f->is_regular = is_regular(fd);
	atomic_store(&f->fd, fd);
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

/* The descriptor, opened again if it refers to something else by now; -1: it cannot be. */
static int current_fd(struct gt_append_file *f)
{
	int known = atomic_load(&f->fd), fd;

	if (gt_fd_is(known, &f->id))
		return known;
	fd = gt_fd_reopen(-1, &f->id, f->path, O_WRONLY | O_APPEND);
	/* another thread may have got it under the old number, */
	if (fd >= 0 && fd != known && gt_fd_is(known, &f->id)) {
		close(fd);
		return known;
	}
	/* or been first with a new one */
	if (atomic_compare_exchange_strong(&f->fd, &known, fd))
		return fd;
	if (fd >= 0)
		close(fd);
	return known;
}

ssize_t gt_append_file_write(struct gt_append_file *f, const void *data, size_t size,
			     uint64_t now_ns)
{
	int fd = gt_fd_check_is_due(&f->checked_ns, now_ns) ? current_fd(f) : atomic_load(&f->fd);
	/* a pipe, or the program's limit, as it is now */
	bool may_signal = !f->is_regular || gt_file_size_is_limited();
	ssize_t n;

	if (fd < 0)
		return -1;
	n = gt_write_without_signals(fd, data, size, may_signal);
	if (n >= 0 || errno != EBADF)
		return n;
	/* the program closed it */
	fd = current_fd(f);
	return fd < 0 ? -1 : gt_write_without_signals(fd, data, size, may_signal);
}

void gt_append_file_close(struct gt_append_file *f)
{
	gt_fd_close(atomic_exchange(&f->fd, -1), &f->id);
}
