/* SPDX-License-Identifier: MIT */
/* guest_file.c - files of ours in the traced process: descriptors, appending, writing. */
#include "base/guest_file.h"

#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>

enum { LINKS_MAX = 40 }; /* as the kernel */

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

bool gt_file_id_of(struct gt_file_id *id, int fd)
{
	struct stat st;

	if (fd < 0 || fstat(fd, &st))
		return false;
	id->dev = st.st_dev;
	id->ino = st.st_ino;
	return true;
}

static bool is_file(const struct stat *st, const struct gt_file_id *id)
{
	return st->st_dev == id->dev && st->st_ino == id->ino;
}

bool gt_fd_holds(int fd, const struct gt_file_id *id, uint64_t size)
{
	struct stat st;

	return fd >= 0 && !fstat(fd, &st) && is_file(&st, id) && (uint64_t)st.st_size >= size;
}

int64_t gt_fd_size(int fd)
{
	struct stat st;

	return fstat(fd, &st) ? -1 : (int64_t)st.st_size;
}

bool gt_path_is(const char *path, const struct gt_file_id *id)
{
	struct stat st;

	return !lstat(path, &st) && is_file(&st, id);
}

#define BIT_OF(signal) (UINT64_C(1) << ((signal)-1))
#define OUR_SIGNALS    (BIT_OF(SIGXFSZ) | BIT_OF(SIGPIPE))

static void set_mask(int how, uint64_t mask, uint64_t *before)
{
	syscall(SYS_rt_sigprocmask, how, &mask, before, sizeof mask);
}

static uint64_t pending_signals(void)
{
	uint64_t set = 0;

	syscall(SYS_rt_sigpending, &set, sizeof set);
	return set;
}

void gt_signals_hold(struct gt_held_signals *h)
{
	h->pending = pending_signals();
	set_mask(SIG_BLOCK, OUR_SIGNALS, &h->before);
}

void gt_signals_release(const struct gt_held_signals *h)
{
	static const struct timespec at_once;
	int saved = errno;
	/* a signal that was pending before is the program's own */
	uint64_t ours = pending_signals() & ~h->pending & OUR_SIGNALS;

	while (ours && syscall(SYS_rt_sigtimedwait, &ours, NULL, &at_once, sizeof ours) >= 0)
		;
	set_mask(SIG_SETMASK, h->before, NULL);
	errno = saved;
}

bool gt_file_size_is_limited(void)
{
	struct rlimit limit;

	return getrlimit(RLIMIT_FSIZE, &limit) || limit.rlim_cur != RLIM_INFINITY;
}

/*
 * The same before each row, by the older call: prlimit64, which the C library makes, can also set
 * limits of other processes, so it does more, and is what security monitors hook into.
 */
static bool writes_are_limited(void)
{
#ifdef SYS_getrlimit
	unsigned long limit[2]; /* the kernel's own struct: soft and hard */

	return syscall(SYS_getrlimit, RLIMIT_FSIZE, limit) || limit[0] != ~0ul;
#else
	return gt_file_size_is_limited();
#endif
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
	default: return gt_error_text(-error);
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
	bool may_signal = !f->is_regular || writes_are_limited();
	size_t written = 0;
	ssize_t n;

	if (fd < 0)
		return -1;
	n = gt_write_without_signals(fd, data, size, may_signal);
	if (n < 0 && errno == EBADF) {
		/* the program closed it */
		fd = current_fd(f);
		n = fd < 0 ? -1 : gt_write_without_signals(fd, data, size, may_signal);
	}
	/* a write that falls short does not tell why, a full disk or a limit: the rest does */
	while (n > 0 && written + (size_t)n < size) {
		written += (size_t)n;
		n = gt_write_without_signals(fd, (const char *)data + written, size - written,
					     may_signal);
	}
	return n < 0 ? -1 : (ssize_t)(written + (size_t)n);
}

void gt_append_file_close(struct gt_append_file *f)
{
	gt_fd_close(atomic_exchange(&f->fd, -1), &f->id);
}

/* Adds a name to the path; false: there is no room. */
static bool add_name(struct gt_real_path *w, size_t *used, const char *name, size_t size)
{
	if (size == 1 && name[0] == '.')
		return true;
	if (size == 2 && name[0] == '.' && name[1] == '.') {
		while (*used && w->path[--*used] != '/')
			;
		return true;
	}
	if (*used + 1 + size >= sizeof w->path)
		return false;
	w->path[(*used)++] = '/';
	memcpy(w->path + *used, name, size);
	*used += size;
	return true;
}

/* The C library's getcwd takes 300 bytes of the stack, and knows what to do where this fails. */
static bool current_folder(char path[PATH_MAX])
{
	return syscall(SYS_getcwd, path, PATH_MAX) > 0 && path[0] == '/';
}

/* Goes on with the first `size` bytes of a name from `path`, in which `used` bytes are found. */
static bool go_on(struct gt_real_path *w, size_t used, const char *name, size_t size)
{
	bool is_known = false;
	char *at = w->left;
	int links = 0;
	size_t before;

	if (size >= sizeof w->left)
		return false;
	memcpy(w->left, name, size);
	w->left[size] = '\0';
	while (*(at += strspn(at, "/"))) {
		ssize_t n;

		size = strcspn(at, "/");
		before = used;
		if (!add_name(w, &used, at, size))
			return false;
		at += size;
		w->path[used] = '\0';
		is_known = used > before;
		if (is_known && lstat(w->path, &w->status))
			return false;
		if (!is_known || !S_ISLNK(w->status.st_mode))
			continue;
		n = readlink(w->path, w->link, sizeof w->link);
		/* the rest goes on from where the link points to */
		size = strlen(at) + 1;
		if (n < 0 || ++links > LINKS_MAX || (size_t)n + size > sizeof w->left)
			return false;
		memmove(w->left + n, at, size);
		memcpy(w->left, w->link, (size_t)n);
		at = w->left;
		used = *w->link == '/' ? 0 : before;
	}
	w->path[used] = '\0';
	if (!used)
		strcpy(w->path, "/");
	return is_known || !lstat(w->path, &w->status);
}

/* The folder of an absolute name; false: it cannot be found. */
static bool find_folder(struct gt_real_path *w, const char *name, size_t size)
{
	if (!strncmp(w->folder, name, size) && !w->folder[size])
		return true;
	w->folder[0] = '\0';
	if (!go_on(w, 0, name, size))
		return false;
	strcpy(w->real_folder, w->path);
	memcpy(w->folder, name, size);
	w->folder[size] = '\0';
	return true;
}

bool gt_real_path_find(struct gt_real_path *w, const char *name)
{
	const char *file = strrchr(name, '/');

	if (*name != '/')
		return current_folder(w->path) && go_on(w, strlen(w->path), name, strlen(name));
	if (file == name)
		return go_on(w, 0, name, strlen(name));
	if (!find_folder(w, name, (size_t)(file - name)))
		return false;
	strcpy(w->path, w->real_folder);
	/* the root's name ends in the slash that others are followed by */
	return go_on(w, w->path[1] ? strlen(w->path) : 0, file, strlen(file));
}
