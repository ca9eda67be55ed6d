/* folder.c - makes and removes recordings' folders, and nothing but recordings'. */
#include "cli/folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool is_ours(const char *name)
{
	size_t size = strlen(name);

	return !strcmp(name, "info") || !strcmp(name, "info.new") ||
	       (size > 6 && !strcmp(name + size - 6, ".trace"));
}

enum what { NOTHING_OF_OURS, EMPTY, RECORDING };

/* What a path holds. A link is nothing of ours, wherever it leads. */
static enum what look(const char *path)
{
	DIR *folder;
	struct dirent *entry;
	struct stat st;
	enum what found = EMPTY;

	if (lstat(path, &st) || !S_ISDIR(st.st_mode) || !(folder = opendir(path)))
		return NOTHING_OF_OURS;
	while (found != RECORDING && (entry = readdir(folder)))
		if (is_ours(entry->d_name))
			found = RECORDING;
		else if (strcmp(entry->d_name, ".") && strcmp(entry->d_name, ".."))
			found = NOTHING_OF_OURS;
	closedir(folder);
	return found;
}

void gt_folder_remove(const char *path)
{
	DIR *folder = look(path) != NOTHING_OF_OURS ? opendir(path) : NULL;
	struct dirent *entry;

	while (folder && (entry = readdir(folder)))
		if (is_ours(entry->d_name))
			unlinkat(dirfd(folder), entry->d_name, 0);
	if (folder) {
		closedir(folder);
		rmdir(path);
	}
}

static int put_aside(const char *path, struct gt_error *error)
{
	char old[PATH_MAX];

	if (look(path) != RECORDING)
		return gt_error_set(error, -EEXIST,
				    "%s is there already and is no recording: name another with -o",
				    path);
	snprintf(old, sizeof old, "%.4000s.old", path);
	gt_folder_remove(old);
	if (rename(path, old))
		return gt_error_set(error, -errno, "cannot keep the old recording as %s: %s", old,
				    strerror(errno));
	return 0;
}

int gt_folder_make(const char *path, struct gt_error *error)
{
	int why, e;

	if (!mkdir(path, 0700))
		return 0;
	why = errno;
	if (why == EEXIST && look(path) == EMPTY)
		return 0;
	if (why == EEXIST) {
		e = put_aside(path, error);
		if (e)
			return e;
		if (!mkdir(path, 0700))
			return 0;
		why = errno;
	}
	return gt_error_set(error, -why, "cannot make the recording %s: %s; choose a place with -o",
			    path, strerror(why));
}
