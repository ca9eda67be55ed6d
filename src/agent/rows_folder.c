/* SPDX-License-Identifier: MIT */
/* rows_folder.c - rows in files, for those without a server. */
#include "agent/rows_folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { DAY_S = 86400, DATE_SIZE = sizeof "2026-11-16" };

struct gt_rows_folder {
	int folder;
	uint64_t days, max_bytes;
};

int gt_rows_folder_open(struct gt_rows_folder **out, const char *folder, uint64_t days,
			uint64_t max_bytes, struct gt_error *error)
{
	int fd = mkdir(folder, 0750) && errno != EEXIST ?
			 -1 :
			 open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		return gt_error_set(error, -errno, "cannot write rows into %s: %s", folder,
				    strerror(errno));
	*out = gt_alloc(sizeof **out);
	**out = (struct gt_rows_folder){ .folder = fd, .days = days, .max_bytes = max_bytes };
	return 0;
}

void gt_rows_folder_close(struct gt_rows_folder *f)
{
	close(f->folder);
	free(f);
}

static void put_date(char date[DATE_SIZE], uint64_t real_s)
{
	time_t seconds = (time_t)real_s;
	struct tm tm;

	gmtime_r(&seconds, &tm);
	strftime(date, DATE_SIZE, "%Y-%m-%d", &tm);
}

/* The date in the name of a file of ours; NULL: it is none. */
static const char *date_of(const char *name)
{
	const char *dash = strchr(name, '-');

	return dash && (!strncmp(name, "rows-", 5) || !strncmp(name, "stacks-", 7)) &&
			       strlen(dash + 1) == DATE_SIZE - 1 + strlen(".tsv") &&
			       !strcmp(dash + DATE_SIZE, ".tsv") ?
		       dash + 1 :
		       NULL;
}

/*
 * Removes our files of days up to `last`: dates in this form sort as text. The bytes of those that
 * are left, and the oldest day of them ("": none).
 */
static uint64_t tidy(const struct gt_rows_folder *f, const char *last, char oldest[DATE_SIZE])
{
	DIR *folder = fdopendir(openat(f->folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
	struct dirent *entry;
	uint64_t bytes = 0;
	struct stat st;

	oldest[0] = '\0';
	while (folder && (entry = readdir(folder))) {
		const char *date = date_of(entry->d_name);

		if (!date || fstatat(f->folder, entry->d_name, &st, AT_SYMLINK_NOFOLLOW))
			continue;
		if (strncmp(date, last, DATE_SIZE - 1) <= 0) {
			unlinkat(f->folder, entry->d_name, 0);
			continue;
		}
		bytes += (uint64_t)st.st_size;
		if (!*oldest || strncmp(date, oldest, DATE_SIZE - 1) < 0)
			snprintf(oldest, DATE_SIZE, "%s", date);
	}
	if (folder)
		closedir(folder);
	return bytes;
}

/* Days that are over make room for `size` bytes. 0, or -ENOSPC: today alone has too many. */
static int make_room(const struct gt_rows_folder *f, uint64_t real_s, size_t size)
{
	uint64_t day = real_s / DAY_S, bytes;
	char today[DATE_SIZE], last[DATE_SIZE] = "", oldest[DATE_SIZE];

	put_date(today, real_s);
	if (f->days && day > f->days)
		put_date(last, (day - f->days - 1) * DAY_S);
	bytes = tidy(f, last, oldest);
	while (f->max_bytes && bytes + size > f->max_bytes) {
		if (!*oldest || strcmp(oldest, today) >= 0)
			return -ENOSPC;
		memcpy(last, oldest, sizeof last);
		bytes = tidy(f, last, oldest);
	}
	return 0;
}

static int write_all(int fd, const char *text, size_t size)
{
	for (size_t done = 0; done < size;) {
		ssize_t n = write(fd, text + done, size - done);

		if (n < 0 && errno != EINTR)
			return -errno;
		done += n > 0 ? (size_t)n : 0;
	}
	return 0;
}

/* The end of the last whole line: a process that is killed may leave half of one. */
static off_t whole_end(int fd)
{
	off_t end = lseek(fd, 0, SEEK_END);
	char last;

	while (end > 0 && pread(fd, &last, 1, end - 1) == 1 && last != '\n')
		end--;
	return end;
}

int gt_rows_folder_add(struct gt_rows_folder *f, const char *table, uint64_t real_s,
		       void (*head)(FILE *out), const char *text, size_t size)
{
	char name[64], date[DATE_SIZE], *title = NULL;
	size_t title_size = 0;
	FILE *out;
	off_t end;
	int fd, e = make_room(f, real_s, size);

	if (e)
		return e;
	put_date(date, real_s);
	snprintf(name, sizeof name, "%s-%s.tsv", table, date);
	fd = openat(f->folder, name, O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0640);
	if (fd < 0)
		return -errno;
	end = whole_end(fd);
	if (ftruncate(fd, end))
		e = -errno;
	out = gt_memstream(&title, &title_size);
	if (!end)
		head(out);
	gt_memstream_close(out);
	if (!e)
		e = write_all(fd, title, title_size);
	if (!e)
		e = write_all(fd, text, size);
	/* a full disk leaves no half of a line behind */
	if (e && ftruncate(fd, end))
		e = -errno;
	close(fd);
	free(title);
	return e;
}
