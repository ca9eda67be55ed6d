/* SPDX-License-Identifier: MIT */
/* trace_file.c - opens the file of a trace and checks its header; finishes one that was left. */
#include "trace/trace_file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "trace/reader.h"

/* Descriptors left to the rest of the tool: libraries with symbols, outputs, streams. */
enum { OTHERS = 32, LEAST = 4 };

static struct gt_trace_file *newest, *oldest;
static size_t open_count;

static void unlink_open(struct gt_trace_file *f)
{
	*(f->newer ? &f->newer->older : &newest) = f->older;
	*(f->older ? &f->older->newer : &oldest) = f->newer;
	open_count--;
}

static void link_newest(struct gt_trace_file *f)
{
	f->newer = NULL;
	f->older = newest;
	*(newest ? &newest->newer : &oldest) = f;
	newest = f;
	open_count++;
}

static void set_aside(struct gt_trace_file *f)
{
	unlink_open(f);
	close(f->fd);
	f->fd = -1;
}

static size_t most_open(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) || limit.rlim_cur < OTHERS + LEAST)
		return LEAST;
	return limit.rlim_cur - OTHERS;
}

/* Opens the file; where descriptors are short, the ones that were not used for longest go. */
static int open_descriptor(struct gt_trace_file *f)
{
	while (oldest && open_count >= most_open())
		set_aside(oldest);
	for (;;) {
		f->fd = open(f->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
		if (f->fd >= 0)
			break;
		if (!oldest || (errno != EMFILE && errno != ENFILE))
			return -errno;
		set_aside(oldest);
	}
	link_newest(f);
	return 0;
}

int gt_trace_file_descriptor(struct gt_trace_file *f)
{
	if (f->fd >= 0) {
		unlink_open(f);
		link_newest(f);
		return f->fd;
	}
	/* another file may have taken its name */
	if (!open_descriptor(f) && !gt_fd_is(f->fd, &f->id))
		set_aside(f);
	return f->fd;
}

void gt_trace_file_close(struct gt_trace_file *f)
{
	if (f->fd >= 0)
		set_aside(f);
	free(f->path);
	f->path = NULL;
}

bool gt_trace_file_read(struct gt_trace_file *f, void *to, size_t size, uint64_t from)
{
	int fd = gt_trace_file_descriptor(f);
	uint8_t *at = to;

	while (size) {
		ssize_t n = pread(fd, at, size, (off_t)from);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return false;
		at += n;
		from += (uint64_t)n;
		size -= (size_t)n;
	}
	return true;
}

static int check_header(const struct gt_trace_header *h, const char *path, struct gt_error *error)
{
	if (memcmp(h->magic, GT_TRACE_MAGIC, sizeof h->magic))
		return gt_error_set(error, -EINVAL, "%s is not a gputrack trace", path);
	if (h->version > GT_TRACE_VERSION)
		return gt_error_set(error, -EPROTO,
				    "%s was made by a newer gputrack (trace version %" PRIu32
				    ", this one reads %d): update gputrack to read it",
				    path, h->version, GT_TRACE_VERSION);
	if (h->version < GT_TRACE_VERSION_OLDEST)
		return gt_error_set(error, -EPROTO,
				    "%s was made by an older gputrack (trace version %" PRIu32
				    ", this one reads %d): read it with the one that recorded it",
				    path, h->version, GT_TRACE_VERSION_OLDEST);
	if (h->header_size < sizeof *h || h->header_size > GT_BLOCK_LIMIT)
		return gt_error_set(error, -EINVAL, "%s has a damaged header", path);
	return 0;
}

/* The writer has created the file and not begun: it is empty, or nothing but reserved space. */
static bool has_not_begun(struct gt_trace_file *f)
{
	static const struct gt_trace_header none;
	struct gt_block_header first;

	return !f->size ||
	       (!memcmp(&f->header, &none, sizeof none) &&
		(!gt_trace_file_read(f, &first, sizeof first, GT_TRACE_HEADER) || !first.magic));
}

int gt_trace_file_open(struct gt_trace_file *f, const char *path, struct gt_error *error)
{
	struct stat st;
	int e;

	*f = (struct gt_trace_file){ .fd = -1, .path = gt_strdup(path) };
	e = open_descriptor(f);
	if (e) {
		gt_error_set(error, e, "cannot read %s: %s", path, strerror(-e));
		goto close_file;
	}
	if (fstat(f->fd, &st) || !S_ISREG(st.st_mode)) {
		e = gt_error_set(error, -EINVAL, "%s is not a regular file", path);
		goto close_file;
	}
	f->id = (struct gt_file_id){ st.st_dev, st.st_ino };
	f->size = (uint64_t)st.st_size;
	if (gt_trace_file_read(f, &f->header, sizeof f->header, 0))
		e = check_header(&f->header, path, error);
	else
		e = gt_error_set(error, -EINVAL, "%s is too short to be a gputrack trace", path);
	if (!e) {
		/* after the header: a file that is being written grows before its header says so */
		if (!fstat(f->fd, &st))
			f->size = (uint64_t)st.st_size;
		return 0;
	}
	if (has_not_begun(f))
		e = gt_error_set(error, -ENODATA, "%s is empty: nothing has been recorded in it",
				 path);
close_file:
	gt_trace_file_close(f);
	return e;
}

/* 0: nobody has it open or mapped for writing; -EAGAIN: somebody has; else it cannot be told. */
static int look_for_writers(int fd)
{
	/* a signal that is ignored, should somebody open it now */
	if (fcntl(fd, F_SETSIG, SIGURG) || fcntl(fd, F_SETLEASE, F_RDLCK))
		return -errno;
	fcntl(fd, F_SETLEASE, F_UNLCK);
	return 0;
}

void gt_trace_file_finish(int folder, const char *name)
{
	struct gt_trace_header h;
	struct stat st;
	char path[32];
	int fd = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC), e;

	if (fd < 0)
		return;
	e = look_for_writers(fd);
	if (e != -EAGAIN && !fstat(fd, &st) && S_ISREG(st.st_mode) && (st.st_mode & 0777) == 0400 &&
	    !fchmod(fd, 0600) && !e && pread(fd, &h, sizeof h, 0) == sizeof h &&
	    !memcmp(h.magic, GT_TRACE_MAGIC, sizeof h.magic) && h.blocks_end >= h.header_size &&
	    h.blocks_end < (uint64_t)st.st_size) {
		/* not by opening it for writing: others watch for that to be closed */
		snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
		/* if that fails, readers accept the zeroes */
		if (truncate(path, (off_t)h.blocks_end))
			errno = 0;
	}
	close(fd);
}

int gt_trace_header_read(struct gt_trace_header *out, const char *path, struct gt_error *error)
{
	struct gt_trace_file f;
	int e = gt_trace_file_open(&f, path, error);

	if (e)
		return e;
	gt_trace_file_close(&f);
	*out = f.header;
	/* closing it has taken it out of the list */
	return 0; /* NOLINT(clang-analyzer-core.StackAddressEscape) */
}
