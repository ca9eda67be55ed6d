/* SPDX-License-Identifier: MIT */
/* ring.c - the latest recordings of the agent, in a folder of bounded size. */
#include "agent/ring.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/text.h"

static const char suffix[] = ".gt";

static bool is_recording(const struct dirent *entry)
{
	size_t size = strlen(entry->d_name);

	return size > strlen(suffix) && entry->d_name[0] != '.' &&
	       !strcmp(entry->d_name + size - strlen(suffix), suffix);
}

static int by_name(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

size_t gt_ring_list(const char *folder, char ***names)
{
	DIR *dir = opendir(folder);
	struct dirent *entry;
	size_t count = 0, room = 0;

	*names = NULL;
	while (dir && (entry = readdir(dir))) {
		if (!is_recording(entry))
			continue;
		GT_GROW(*names, count, room);
		(*names)[count++] = gt_strdup(entry->d_name);
	}
	if (dir)
		closedir(dir);
	if (count)
		qsort(*names, count, sizeof **names, by_name);
	return count;
}

void gt_ring_list_free(char **names, size_t count)
{
	for (size_t i = 0; i < count; i++)
		free(names[i]);
	free(names);
}

void gt_ring_name(const char *folder, char *path, size_t size)
{
	time_t now = time(NULL);
	struct tm local;
	char text[32];
	struct stat st;

	strftime(text, sizeof text, "%Y%m%d-%H%M%S", localtime_r(&now, &local));
	snprintf(path, size, "%s/%s%s", folder, text, suffix);
	/* several in one second sort after the first */
	for (unsigned i = 1; i < 1000 && !stat(path, &st); i++)
		snprintf(path, size, "%s/%s_%03u%s", folder, text, i, suffix);
}

/* Calls `each` with the descriptor of the folder and the name of each file in it. */
static int each_file(const char *folder, int (*each)(void *context, int at, const char *name),
		     void *context)
{
	int fd = open(folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC), e = 0;
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *entry;

	if (!dir)
		return -errno;
	while (!e && (entry = readdir(dir)))
		if (strcmp(entry->d_name, ".") && strcmp(entry->d_name, ".."))
			e = each(context, fd, entry->d_name);
	closedir(dir);
	return e;
}

static int add_size(void *context, int at, const char *name)
{
	uint64_t *sum = context;
	struct stat st;

	if (!fstatat(at, name, &st, AT_SYMLINK_NOFOLLOW))
		*sum += (uint64_t)st.st_blocks * 512;
	return 0;
}

static int remove_file(void *context, int at, const char *name)
{
	(void)context;
	unlinkat(at, name, 0);
	return 0;
}

void gt_ring_remove(const char *recording)
{
	each_file(recording, remove_file, NULL);
	rmdir(recording);
}

void gt_ring_trim(const char *folder, uint64_t bytes, const char *but)
{
	char **names, path[PATH_MAX];
	size_t count = gt_ring_list(folder, &names);
	uint64_t sum = 0;

	/* from the newest on: what no longer fits goes, and all that is older */
	for (size_t i = count; i-- > 0;) {
		snprintf(path, sizeof path, "%s/%s", folder, names[i]);
		each_file(path, add_size, &sum);
		if (sum > bytes && (!but || strcmp(but, path) != 0))
			gt_ring_remove(path);
	}
	gt_ring_list_free(names, count);
}

struct copy {
	int to;         /* folder */
	char trace[16]; /* names of traces begin with it; "": all */
	size_t traces;
};

static bool is_wanted(const struct copy *c, const char *name)
{
	size_t size = strlen(c->trace), length = strlen(name);

	if (length < 6 || strcmp(name + length - 6, ".trace") != 0)
		return true;
	return !size ||
	       (!strncmp(name, c->trace, size) && (name[size] == '.' || name[size] == '-'));
}

static int copy_file(void *context, int at, const char *name)
{
	struct copy *c = context;
	char block[1 << 16];
	ssize_t n = 0;
	int from, to, e = 0;

	if (!is_wanted(c, name))
		return 0;
	from = openat(at, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	to = from < 0 ? -1 :
			openat(c->to, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
			       0600);
	if (to < 0)
		e = -errno;
	while (!e && (n = read(from, block, sizeof block)) > 0)
		if (write(to, block, (size_t)n) != n)
			e = errno ? -errno : -ENOSPC;
	if (!e && n < 0)
		e = -errno;
	if (from >= 0)
		close(from);
	if (to >= 0)
		close(to);
	c->traces += !e && strstr(name, ".trace");
	return e;
}

int gt_ring_copy(const char *from, uint32_t pid, const char *to, struct gt_error *error)
{
	struct copy c = { .to = -1 };
	int e;

	if (pid)
		snprintf(c.trace, sizeof c.trace, "%u", pid);
	if (mkdir(to, 0700))
		return gt_error_set(error, -errno, "cannot make the recording %s: %s", to,
				    strerror(errno));
	c.to = open(to, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	e = c.to < 0 ? -errno : each_file(from, copy_file, &c);
	if (c.to >= 0)
		close(c.to);
	if (e || !c.traces) {
		gt_ring_remove(to);
		return gt_error_set(error, e ? e : -ENOENT, "cannot copy %s to %s: %s", from, to,
				    strerror(e ? -e : ENOENT));
	}
	return 0;
}

static int find_trace(void *context, int at, const char *name)
{
	const struct copy *c = context;

	(void)at;
	return strstr(name, ".trace") && is_wanted(c, name) ? 1 : 0;
}

int gt_ring_cut(const char *folder, uint32_t pid, const char *to, char *from, size_t from_size,
		struct gt_error *error)
{
	struct copy c = { .to = -1 };
	char **names, path[PATH_MAX];
	size_t count = gt_ring_list(folder, &names);
	int e = -ENOENT;

	snprintf(c.trace, sizeof c.trace, "%u", pid);
	for (size_t i = count; e == -ENOENT && i-- > 0;) {
		snprintf(path, sizeof path, "%s/%s", folder, names[i]);
		if (each_file(path, find_trace, &c) != 1)
			continue;
		snprintf(from, from_size, "%s", names[i]);
		e = gt_ring_copy(path, pid, to, error);
		break;
	}
	gt_ring_list_free(names, count);
	return e;
}
