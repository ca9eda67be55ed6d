/* SPDX-License-Identifier: MIT */
/* spool.c - batches on disk that the server has not confirmed yet. */
#include "agent/spool.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <zlib.h>

enum { GZIP = 16, WINDOW_BITS = 15, MEMORY_LEVEL = 8, LEVEL = 6, BATCH_MAX = 64 << 20 };

#define SUFFIX ".gz"
#define NEW    ".new"

struct waiting {
	struct gt_batch batch;
	uint64_t bytes;
};

struct gt_spool {
	int folder, lock;
	uint64_t max_bytes, bytes, dropped_rows, number;
	struct waiting *list; /* the oldest first; those before `first` are gone */
	size_t first, count, room;
};

/* "0000000001790000000-00000001-120-rows.gz"; false for anything else. */
static bool parse_name(struct gt_batch *b, const char *name, uint64_t *number)
{
	char again[sizeof b->name];
	uint64_t real_s;
	int end = 0;

	if (strlen(name) >= sizeof b->name ||
	    sscanf(name, "%" SCNu64 "-%" SCNu64 "-%" SCNu64 "-%31[a-z]" SUFFIX "%n", &real_s,
		   number, &b->rows, b->table, &end) != 4)
		return false;
	snprintf(again, sizeof again, "%020" PRIu64 "-%08" PRIu64 "-%" PRIu64 "-%s" SUFFIX, real_s,
		 *number, b->rows, b->table);
	strcpy(b->name, name);
	return !strcmp(again, name);
}

static void append(struct gt_spool *s, const struct gt_batch *batch, uint64_t bytes)
{
	if (s->first && s->count == s->room) {
		s->count -= s->first;
		memmove(s->list, s->list + s->first, s->count * sizeof *s->list);
		s->first = 0;
	}
	GT_GROW(s->list, s->count, s->room);
	s->list[s->count++] = (struct waiting){ *batch, bytes };
	s->bytes += bytes;
}

static int by_name(const void *a, const void *b)
{
	const struct waiting *x = a, *y = b;

	return strcmp(x->batch.name, y->batch.name);
}

int gt_spool_scan(struct gt_spool *s)
{
	DIR *folder = fdopendir(openat(s->folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
	struct dirent *entry;

	if (!folder)
		return -errno;
	s->first = s->count = 0;
	s->bytes = 0;
	while ((entry = readdir(folder))) {
		size_t length = strlen(entry->d_name);
		struct gt_batch batch;
		struct stat st;
		uint64_t number;

		/* what was being written when the process ended was never promised */
		if (s->lock >= 0 && length > strlen(NEW) &&
		    !strcmp(entry->d_name + length - strlen(NEW), NEW)) {
			unlinkat(s->folder, entry->d_name, 0);
		} else if (parse_name(&batch, entry->d_name, &number) &&
			   !fstatat(s->folder, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) &&
			   S_ISREG(st.st_mode)) {
			append(s, &batch, (uint64_t)st.st_size);
			if (number >= s->number)
				s->number = number + 1;
		}
	}
	closedir(folder);
	if (s->count)
		qsort(s->list, s->count, sizeof *s->list, by_name);
	return 0;
}

int gt_spool_open(struct gt_spool **out, const char *folder, uint64_t max_bytes,
		  struct gt_error *error)
{
	struct gt_spool *s = gt_alloc(sizeof *s);
	int e = 0;

	s->max_bytes = max_bytes;
	s->lock = -1;
	if (mkdir(folder, 0700) && errno != EEXIST)
		e = -errno;
	s->folder = e ? -1 : open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (!e && s->folder < 0)
		e = -errno;
	if (!e) {
		s->lock =
			openat(s->folder, "lock", O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
		if (s->lock < 0 || flock(s->lock, LOCK_EX | LOCK_NB))
			e = -errno;
	}
	if (!e)
		e = gt_spool_scan(s);
	if (!e) {
		*out = s;
		return 0;
	}
	gt_spool_close(s);
	return e == -EWOULDBLOCK ?
		       gt_error_set(error, e,
				    "the spool %s is in use by another agent: give each its own",
				    folder) :
		       gt_error_set(error, e, "cannot use the spool %s: %s", folder, strerror(-e));
}

int gt_spool_join(struct gt_spool **out, const char *folder, struct gt_error *error)
{
	struct gt_spool *s = gt_alloc(sizeof *s);

	s->lock = -1;
	s->folder = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	*out = s;
	return s->folder >= 0 ? 0 :
				gt_error_set(error, -errno, "cannot read the spool %s: %s", folder,
					     strerror(errno));
}

void gt_spool_close(struct gt_spool *s)
{
	if (s->folder >= 0)
		close(s->folder);
	if (s->lock >= 0)
		close(s->lock);
	free(s->list);
	free(s);
}

static void forget_first(struct gt_spool *s)
{
	s->bytes -= s->list[s->first++].bytes;
	if (s->first == s->count)
		s->first = s->count = 0;
}

/* Forgets the batches that have been sent and removed, the oldest first. */
static void catch_up(struct gt_spool *s)
{
	while (s->first < s->count &&
	       faccessat(s->folder, s->list[s->first].batch.name, F_OK, AT_SYMLINK_NOFOLLOW))
		forget_first(s);
}

/* The oldest batches make room for `size` bytes. */
static void make_room(struct gt_spool *s, size_t size)
{
	catch_up(s);
	while (s->first < s->count && s->bytes + size > s->max_bytes) {
		struct gt_batch *oldest = &s->list[s->first].batch;

		/* it may just have been sent */
		if (!unlinkat(s->folder, oldest->name, 0))
			s->dropped_rows += oldest->rows;
		forget_first(s);
	}
}

/* The caller frees it. */
static void *compress_text(const void *text, size_t size, size_t *compressed)
{
	z_stream z = { 0 };
	void *out;

	gt_memory_check(deflateInit2(&z, LEVEL, Z_DEFLATED, WINDOW_BITS + GZIP, MEMORY_LEVEL,
				     Z_DEFAULT_STRATEGY) == Z_OK ?
				&z :
				NULL);
	z.avail_out = (uInt)deflateBound(&z, size);
	z.next_out = out = gt_alloc(z.avail_out);
	z.next_in = (Bytef *)text;
	z.avail_in = (uInt)size;
	deflate(&z, Z_FINISH); /* all at once: there is room for it */
	*compressed = z.total_out;
	deflateEnd(&z);
	return out;
}

static int write_file(const struct gt_spool *s, const char *name, const uint8_t *bytes, size_t size)
{
	char temporary[128];
	size_t done = 0;
	int fd, e = 0;

	snprintf(temporary, sizeof temporary, "%s" NEW, name);
	fd = openat(s->folder, temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW,
		    0600);
	if (fd < 0)
		return -errno;
	while (!e && done < size) {
		ssize_t n = write(fd, bytes + done, size - done);

		if (n > 0)
			done += (size_t)n;
		else if (n < 0 && errno != EINTR)
			e = -errno;
	}
	if (!e && fdatasync(fd))
		e = -errno;
	close(fd);
	if (!e && renameat(s->folder, temporary, s->folder, name))
		e = -errno;
	if (e)
		unlinkat(s->folder, temporary, 0);
	return e;
}

int gt_spool_put(struct gt_spool *s, const char *table, uint64_t real_s, uint64_t rows,
		 const void *text, size_t size)
{
	struct gt_batch batch = { .rows = rows };
	size_t compressed = 0;
	uint8_t *bytes = NULL;
	int e = size > BATCH_MAX ? -EFBIG : 0;

	snprintf(batch.table, sizeof batch.table, "%s", table);
	snprintf(batch.name, sizeof batch.name,
		 "%020" PRIu64 "-%08" PRIu64 "-%" PRIu64 "-%s" SUFFIX, real_s, s->number++, rows,
		 batch.table);
	if (!e) {
		bytes = compress_text(text, size, &compressed);
		make_room(s, compressed);
		e = compressed > s->max_bytes ? -EFBIG :
						write_file(s, batch.name, bytes, compressed);
		free(bytes);
	}
	if (e)
		s->dropped_rows += rows;
	else
		append(s, &batch, compressed);
	return e;
}

bool gt_spool_first(const struct gt_spool *s, struct gt_batch *batch)
{
	if (s->first == s->count)
		return false;
	*batch = s->list[s->first].batch;
	return true;
}

void *gt_spool_read(const struct gt_spool *s, const struct gt_batch *batch, size_t *size)
{
	int fd = openat(s->folder, batch->name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	struct stat st;
	uint8_t *bytes = NULL;
	size_t done = 0;
	ssize_t n = 1;

	if (fd >= 0 && !fstat(fd, &st) && st.st_size > 0 && st.st_size <= BATCH_MAX) {
		bytes = gt_alloc((size_t)st.st_size);
		while (n > 0 && done < (size_t)st.st_size) {
			n = read(fd, bytes + done, (size_t)st.st_size - done);
			done += n > 0 ? (size_t)n : 0;
		}
		if (done < (size_t)st.st_size) {
			free(bytes);
			bytes = NULL;
		}
	}
	if (fd >= 0)
		close(fd);
	*size = done;
	return bytes;
}

void gt_spool_remove(struct gt_spool *s, const struct gt_batch *batch)
{
	unlinkat(s->folder, batch->name, 0);
	forget_first(s);
}

struct gt_spool_state gt_spool_state(struct gt_spool *s)
{
	catch_up(s);
	return (struct gt_spool_state){ .batches = s->count - s->first,
					.bytes = s->bytes,
					.dropped_rows = s->dropped_rows };
}
