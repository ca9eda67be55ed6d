/* SPDX-License-Identifier: MIT */
/* folder.c - makes and removes recordings' folders, and nothing but recordings'. */
#include "cli/folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text.h"
#include "trace/info.h"
#include "trace/layout.h"
#include "trace/recording.h"

enum { PATH_ROOM = sizeof((struct gt_folder *)0)->path + 8 };

static bool begins_with(int folder, const char *name, const char *text)
{
	char start[16] = "";
	int fd = openat(folder, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	bool same = fd >= 0 && read(fd, start, sizeof start - 1) > 0 &&
		    !strncmp(start, text, strlen(text));

	if (fd >= 0)
		close(fd);
	return same;
}

static bool is_counter(int folder, const char *name)
{
	struct stat st;

	return !fstatat(folder, name, &st, AT_SYMLINK_NOFOLLOW) && S_ISREG(st.st_mode) &&
	       st.st_size == sizeof(uint64_t);
}

/* As it is when it was made and nothing could be written: empty, or nothing but room. */
static bool is_blank(int folder, const char *name)
{
	int fd = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	char start[8] = "";
	struct stat st;
	bool blank = fd >= 0 && !fstat(fd, &st) && S_ISREG(st.st_mode) &&
		     read(fd, start, sizeof start) >= 0;

	for (size_t i = 0; i < sizeof start; i++)
		blank &= !start[i];
	if (fd >= 0)
		close(fd);
	return blank;
}

/* By its name and by what is in it: somebody's own `info` is not ours. */
static bool is_ours(int folder, const char *name)
{
	if (!strcmp(name, "info") || !strcmp(name, "info.new"))
		return begins_with(folder, name, "gputrack: ");
	if (!strcmp(name, "legend") || !strcmp(name, "legend.new"))
		return begins_with(folder, name, "GTLEGND");
	if (!strcmp(name, GT_ENDS_FILE))
		return begins_with(folder, name, GT_ENDS_MAGIC) || is_blank(folder, name);
	if (!strcmp(name, GT_ROOM_FILE))
		return is_counter(folder, name);
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
	/* a trace that is not there yet would be taken for one of its processes */
	own = is_ours(fd, name) || (gt_recording_is_trace(name) && is_ours(fd, "info"));
	close(fd);
	return own;
}

enum what { NOTHING_OF_OURS, EMPTY, RECORDING };

/* Never by a link: what was looked at and what is changed are one folder. */
static DIR *open_folder(const char *path)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *folder = fd < 0 ? NULL : fdopendir(fd);

	if (fd >= 0 && !folder)
		close(fd);
	return folder;
}

/* A recording holds nothing but its own files. A link is nothing of ours, wherever it leads. */
static enum what look_into(DIR *folder)
{
	struct dirent *entry;
	enum what found = EMPTY;

	while (found != NOTHING_OF_OURS && (entry = readdir(folder))) {
		if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, ".."))
			continue;
		found = is_ours(dirfd(folder), entry->d_name) ? RECORDING : NOTHING_OF_OURS;
	}
	return found;
}

static enum what look(const char *path)
{
	DIR *folder = open_folder(path);
	enum what found = folder ? look_into(folder) : NOTHING_OF_OURS;

	if (folder)
		closedir(folder);
	return found;
}

bool gt_folder_is_own(const char *path)
{
	struct stat st;

	return !lstat(path, &st) && st.st_uid == geteuid() && !(st.st_mode & S_IWOTH);
}

/* Only what `look` has called a recording, or nothing at all, is removed. */
static void remove_recording(const char *path)
{
	DIR *folder = open_folder(path);
	bool removes = folder && look_into(folder) != NOTHING_OF_OURS;
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

/* -EWOULDBLOCK when somebody holds it; no other failure tells that somebody does. */
static int hold_alone(const char *path)
{
	int fd = open_hold(path);

	if (!fd || !flock(fd, LOCK_EX | LOCK_NB) || errno != EWOULDBLOCK)
		return fd;
	close(fd);
	return -EWOULDBLOCK;
}

static int held(const char *path, struct gt_error *error)
{
	return gt_error_set(error, -EBUSY,
			    "%s is being recorded into by another gputrack: wait "
			    "for its end, or name another with -o",
			    path);
}

/* The folder is new, or empty; of two who find it so, the first to hold it has it. */
static int take(struct gt_folder *f, struct gt_error *error)
{
	f->hold = hold_alone(f->path);
	/* others may hold it now, as our own parent, or further ranks of a job */
	if (f->hold > 0 && flock(f->hold, LOCK_SH | LOCK_NB) && errno == EWOULDBLOCK) {
		close(f->hold);
		f->hold = -EWOULDBLOCK;
	}
	if (f->hold >= 0)
		return 0;
	f->hold = 0;
	f->made = false; /* the other's by now */
	return held(f->path, error);
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

	if (look(f->path) != RECORDING)
		return gt_error_set(error, -EEXIST,
				    "%s is there already and is no recording: name another with -o",
				    f->path);
	others = hold_alone(f->path);
	if (others < 0)
		return held(f->path, error);
	if (others)
		close(others);
	beside(old, f->path, ".old");
	beside(older, f->path, ".older");
	if (look(old) == RECORDING) {
		remove_recording(older);
		f->put_further = !rename(old, older);
	}
	if (rename(f->path, old)) {
		int why = errno;

		gt_folder_undo(f);
		return gt_error_set(error, -why,
				    "cannot keep the old recording as %s: %s; name "
				    "another with -o",
				    old, strerror(why));
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
		return gt_error_set(error, -ENAMETOOLONG,
				    "the recording's name is too long: %.80s…; name another "
				    "with -o",
				    path);
	strcpy(f->path, path);
	f->made = !mkdir(path, 0700);
	if (f->made)
		return take(f, error);
	why = errno;
	if (why == EEXIST && look(path) == EMPTY) {
		if (gt_folder_is_own(path))
			return take(f, error);
		return gt_error_set(error, -EPERM,
				    "others can write into %s: name another folder "
				    "with -o",
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
	return gt_error_set(error, -why, "cannot make the recording %s: %s; choose a place with -o",
			    path, strerror(why));
}

void gt_folder_undo(const struct gt_folder *f)
{
	char old[PATH_ROOM], older[PATH_ROOM];

	if (f->made) {
		remove_recording(f->path);
		/* where it could not even be looked into: an empty one goes all the same */
		rmdir(f->path);
	}
	if (f->put_aside)
		rename(beside(old, f->path, ".old"), f->path);
	if (f->put_further)
		rename(beside(older, f->path, ".older"), beside(old, f->path, ".old"));
}

void gt_folder_settle(const char *path)
{
	char older[PATH_ROOM];

	if (strlen(path) < sizeof((struct gt_folder *)0)->path)
		remove_recording(beside(older, path, ".older"));
}
