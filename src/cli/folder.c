/* SPDX-License-Identifier: MIT */
/* folder.c - recordings' folders: makes and removes them, and nothing else; their `info` file. */
#include "cli/folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/files.h"
#include "base/process.h"
#include "base/format.h"
#include "base/mem.h"
#include "base/text.h"
#include "trace/info.h"
#include "trace/layout.h"
#include "trace/recording.h"
#include "trace/trace_file.h"

enum { PATH_ROOM = sizeof((struct gt_folder *)0)->path + 8 };

enum { START = 16 };

/* The first bytes of a regular file, zeroes after its end; false if it cannot be read. */
static bool read_start(int folder, const char *name, char start[START])
{
	int fd = openat(folder, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	struct stat st;
	bool is_read;

	memset(start, 0, START);
	is_read = fd >= 0 && !fstat(fd, &st) && S_ISREG(st.st_mode) &&
		  read(fd, start, START - 1) >= 0;
	if (fd >= 0)
		close(fd);
	return is_read;
}

static bool begins_with(int folder, const char *name, const char *text)
{
	char start[START];

	return read_start(folder, name, start) && !strncmp(start, text, strlen(text));
}

/* As 0.1.0 had it: a number and nothing else. */
static bool is_old_counter(int folder, const char *name)
{
	struct stat st;

	return !fstatat(folder, name, &st, AT_SYMLINK_NOFOLLOW) && S_ISREG(st.st_mode) &&
	       st.st_size == sizeof(uint64_t);
}

/* Created, but never written: empty, or nothing but reserved space. */
static bool is_blank(int folder, const char *name)
{
	static const char zeroes[START];
	char start[START];

	return read_start(folder, name, start) && !memcmp(start, zeroes, START);
}

/* By name and by content: a user's own file called `info` is not ours. */
static bool is_ours(int folder, const char *name)
{
	if (!strcmp(name, "info") || !strcmp(name, "info.new"))
		return begins_with(folder, name, "gputrack: ");
	if (!strcmp(name, "legend") || !strcmp(name, "legend.new"))
		return begins_with(folder, name, "GTLEGND");
	if (!strcmp(name, GT_ENDS_FILE))
		return begins_with(folder, name, GT_ENDS_MAGIC) || is_blank(folder, name);
	if (!strcmp(name, GT_ROOM_FILE))
		return begins_with(folder, name, GT_ROOM_MAGIC) || is_blank(folder, name) ||
		       is_old_counter(folder, name);
	return gt_recording_is_trace(name) &&
	       (begins_with(folder, name, GT_TRACE_MAGIC) || is_blank(folder, name));
}

bool gt_folder_has_own(const char *path)
{
	const char *name = path + gt_path_folder_size(path);
	char place[PATH_ROOM];
	bool own;
	int fd;

	snprintf(place, sizeof place, "%.*s", (int)gt_path_folder_size(path), path);
	fd = open(*place ? place : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return false;
	/* a new file named like a trace would be taken for one of its processes */
	own = is_ours(fd, name) || (gt_recording_is_trace(name) && is_ours(fd, "info"));
	close(fd);
	return own;
}

enum content { FOREIGN, EMPTY, RECORDING };

/* Never through a link: the folder that was examined is the one that is changed. */
static DIR *open_folder(const char *path)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *folder = fd < 0 ? NULL : fdopendir(fd);

	if (fd >= 0 && !folder)
		close(fd);
	return folder;
}

/* A recording contains nothing but its own files. A link is foreign, wherever it leads. */
static enum content examine_open(DIR *folder)
{
	struct dirent *entry;
	enum content found = EMPTY;

	while (found != FOREIGN && (entry = readdir(folder))) {
		if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, ".."))
			continue;
		found = is_ours(dirfd(folder), entry->d_name) ? RECORDING : FOREIGN;
	}
	return found;
}

static enum content examine(const char *path)
{
	DIR *folder = open_folder(path);
	enum content found = folder ? examine_open(folder) : FOREIGN;

	if (folder)
		closedir(folder);
	return found;
}

bool gt_folder_is_own(const char *path)
{
	struct stat st;

	return !lstat(path, &st) && st.st_uid == geteuid() && !(st.st_mode & S_IWOTH);
}

/* Removes the folder only if it is a recording or empty. */
static void remove_recording(const char *path)
{
	DIR *folder = open_folder(path);
	bool removes = folder && examine_open(folder) != FOREIGN;
	struct dirent *entry;

	if (removes)
		rewinddir(folder);
	while (removes && (entry = readdir(folder)))
		if (is_ours(dirfd(folder), entry->d_name))
			unlinkat(dirfd(folder), entry->d_name, 0);
	if (folder)
		closedir(folder);
	if (removes)
		rmdir(path);
}

static const char *beside(char out[PATH_ROOM], const char *path, const char *ending)
{
	snprintf(out, PATH_ROOM, "%s%s", path, ending);
	return out;
}

static int open_hold(const char *path)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	return fd > 0 ? fd : 0;
}

/* -EWOULDBLOCK if another process holds it; no other failure means that. */
static int hold_alone(const char *path)
{
	int fd = open_hold(path);

	if (!fd || !flock(fd, LOCK_EX | LOCK_NB) || errno != EWOULDBLOCK)
		return fd;
	close(fd);
	return -EWOULDBLOCK;
}

static int fail_held(const char *path, struct gt_error *error)
{
	return gt_error_set(error, -EBUSY,
			    "another gputrack is recording into %s: wait until it ends, or choose "
			    "another name with -o",
			    path);
}

/* The folder is new or empty; of two processes that find it so, the first to hold it has it. */
static int take(struct gt_folder *f, struct gt_error *error)
{
	f->hold = hold_alone(f->path);
	/* from now on others may hold it: our parent, further ranks of a job */
	if (f->hold > 0 && flock(f->hold, LOCK_SH | LOCK_NB) && errno == EWOULDBLOCK) {
		close(f->hold);
		f->hold = -EWOULDBLOCK;
	}
	if (f->hold >= 0)
		return 0;
	f->hold = 0;
	f->made = false; /* it is the other process's now */
	return fail_held(f->path, error);
}

int gt_folder_hold(const char *path)
{
	int fd = open_hold(path);

	if (fd)
		flock(fd, LOCK_SH | LOCK_NB);
	return fd;
}

int gt_folder_follow(int hold, char *path, size_t size)
{
	char self[32], now[PATH_ROOM];
	struct stat ours, there;
	ssize_t n;

	if (!hold || fstat(hold, &ours))
		return 0;
	if (!stat(path, &there) && there.st_dev == ours.st_dev && there.st_ino == ours.st_ino)
		return 0;
	snprintf(self, sizeof self, "/proc/self/fd/%d", hold);
	n = readlink(self, now, sizeof now - 1);
	now[n > 0 ? n : 0] = '\0';
	if (n <= 0 || (size_t)n >= size || stat(now, &there) || there.st_dev != ours.st_dev ||
	    there.st_ino != ours.st_ino)
		return -ENOENT;
	strcpy(path, now);
	return 0;
}

static int put_aside(struct gt_folder *f, struct gt_error *error)
{
	char old[PATH_ROOM], older[PATH_ROOM];
	int others;

	/* first: what another process has just begun has a file without content */
	others = hold_alone(f->path);
	if (others < 0)
		return fail_held(f->path, error);
	if (others)
		close(others);
	if (examine(f->path) != RECORDING)
		return gt_error_set(
			error, -EEXIST,
			"%s already exists and is not a recording: choose another name with -o",
			f->path);
	beside(old, f->path, ".old");
	beside(older, f->path, ".older");
	if (examine(old) == RECORDING) {
		remove_recording(older);
		f->put_further = !rename(old, older);
	}
	if (rename(f->path, old)) {
		int why = errno;

		gt_folder_undo(f);
		return gt_error_set(
			error, -why,
			"cannot keep the old recording as %s: %s; choose another name with -o", old,
			strerror(why));
	}
	f->put_aside = true;
	return 0;
}

int gt_folder_name(char *out, size_t size, const char *given, const char *otherwise)
{
	char here[PATH_MAX];

	out[0] = '\0';
	if (given && given[0] == '/')
		snprintf(out, size, "%s", given);
	else if (!getcwd(here, sizeof here))
		return -errno;
	else
		snprintf(out, size, "%.2000s/%.2000s", here, given ? given : otherwise);
	gt_path_trim_slashes(out);
	return 0;
}

int gt_folder_lock(const char *path)
{
	char parent[PATH_ROOM];
	size_t size = gt_path_folder_size(path);
	int fd;

	snprintf(parent, sizeof parent, "%.*s", (int)(size ? size : 1), size ? path : ".");
	fd = open(parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	while (fd >= 0 && flock(fd, LOCK_EX) && errno == EINTR)
		;
	return fd;
}

void gt_folder_unlock(int lock)
{
	if (lock >= 0)
		close(lock);
}

int gt_folder_make(struct gt_folder *f, const char *path, struct gt_error *error)
{
	int why, e;

	*f = (struct gt_folder){ 0 };
	if (strlen(path) >= sizeof f->path)
		return gt_error_set(
			error, -ENAMETOOLONG,
			"the recording's name is too long: %.80s…; choose a shorter one with -o",
			path);
	strcpy(f->path, path);
	f->made = !mkdir(path, 0700);
	if (f->made)
		return take(f, error);
	why = errno;
	if (why == EEXIST && examine(path) == EMPTY) {
		if (gt_folder_is_own(path))
			return take(f, error);
		return gt_error_set(error, -EPERM,
				    "other users can write to %s: choose another folder with -o",
				    path);
	}
	if (why == EEXIST) {
		e = put_aside(f, error);
		if (e)
			return e;
		f->made = !mkdir(path, 0700);
		if (f->made)
			return take(f, error);
		why = errno;
		gt_folder_undo(f);
	}
	return gt_error_set(error, -why,
			    "cannot create the recording %s: %s; choose another place with -o",
			    path, strerror(why));
}

void gt_folder_undo(const struct gt_folder *f)
{
	char old[PATH_ROOM], older[PATH_ROOM];

	if (f->made) {
		remove_recording(f->path);
		/* if it could not be examined: rmdir still removes an empty one */
		rmdir(f->path);
	}
	if (f->put_aside)
		rename(beside(old, f->path, ".old"), f->path);
	if (f->put_further)
		rename(beside(older, f->path, ".older"), beside(old, f->path, ".old"));
}

void gt_folder_commit(const char *path)
{
	char older[PATH_ROOM];

	if (strlen(path) < sizeof((struct gt_folder *)0)->path)
		remove_recording(beside(older, path, ".older"));
}

void gt_folder_finish(const char *path)
{
	DIR *folder = open_folder(path);
	struct dirent *entry;

	while (folder && (entry = readdir(folder))) {
		pid_t pid = (pid_t)strtoul(entry->d_name, NULL, 10);

		if (gt_recording_is_trace(entry->d_name) && pid > 0 && kill(pid, 0) &&
		    errno == ESRCH)
			gt_trace_file_finish(dirfd(folder), entry->d_name);
	}
	if (folder)
		closedir(folder);
}

static void add_time(struct gt_info *info, const char *key)
{
	char text[GT_FORMAT_MAX];

	gt_info_set(info, key, gt_format_moment(text, gt_clock_ns(CLOCK_REALTIME)));
}

static void add_command(struct gt_info *info, char *const *argv)
{
	char *text = NULL;
	const char *at;
	size_t size;
	FILE *out = gt_memstream(&text, &size);

	for (; *argv; argv++) {
		if (!**argv || strpbrk(*argv, " \t\n\"'\\$`;&|<>()*?[]#~")) {
			putc('\'', out);
			for (at = *argv; *at; at++)
				fputs(*at == '\'' ? "'\\''" : (char[]){ *at, '\0' }, out);
			putc('\'', out);
		} else {
			fputs(*argv, out);
		}
		if (argv[1])
			putc(' ', out);
	}
	gt_memstream_close(out);
	gt_info_set(info, "command", text);
	free(text);
}

struct gt_info *gt_run_info_begin(char *const *argv)
{
	struct gt_info *info = gt_info_new();
	struct utsname system;
	char here[PATH_MAX], *repository;

	gt_info_set(info, "gputrack", GT_VERSION);
	add_command(info, argv);
	if (getcwd(here, sizeof here)) {
		repository = gt_repository_around(here);
		gt_info_set(info, "directory", here);
		/* for readers on another machine, whose reports name places relative to it */
		if (repository)
			gt_info_set(info, "repository", repository);
		free(repository);
	}
	if (!uname(&system)) {
		gt_info_set(info, "host", system.nodename);
		gt_info_setf(info, "kernel", "%s %s", system.sysname, system.release);
	}
	add_time(info, "started");
	return info;
}

void gt_run_info_end(struct gt_info *info, uint64_t duration_ns)
{
	add_time(info, "ended");
	gt_info_setf(info, "duration_ns", "%llu", (unsigned long long)duration_ns);
}

void gt_run_info_status(struct gt_info *info, int status)
{
	if (WIFSIGNALED(status))
		gt_info_setf(info, "signal", "%d", WTERMSIG(status));
	else
		gt_info_setf(info, "exit_status", "%d", WEXITSTATUS(status));
}

struct gt_info *gt_run_info_read(const char *folder)
{
	char path[PATH_MAX + 8];

	snprintf(path, sizeof path, "%s/info", folder);
	return gt_info_read(path);
}

int gt_run_info_write(const struct gt_info *info, const char *folder, struct gt_error *error)
{
	char path[PATH_MAX + 8];

	snprintf(path, sizeof path, "%s/info", folder);
	return gt_info_write(info, path, error);
}

int gt_run_info_make(const struct gt_info *info, struct gt_folder *made, const char *folder,
		     struct gt_error *error)
{
	int e = gt_folder_make(made, folder, error);

	if (e)
		return e;
	e = gt_run_info_write(info, folder, error);
	if (e)
		gt_folder_undo(made);
	return e;
}
