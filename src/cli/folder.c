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

static bool is_recording(const char *path)
{
	char info[PATH_MAX];
	struct stat st;

	if (lstat(path, &st) || !S_ISDIR(st.st_mode))
		return false;
	snprintf(info, sizeof info, "%.4000s/info", path);
	return !access(info, F_OK);
}

static bool is_ours(const char *name)
{
	size_t size = strlen(name);

	return !strcmp(name, "info") || !strcmp(name, "info.new") ||
	       (size > 6 && !strcmp(name + size - 6, ".trace"));
}

void gt_folder_remove(const char *path)
{
	DIR *folder = is_recording(path) ? opendir(path) : NULL;
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

	if (!is_recording(path))
		return gt_error_set(error, -EEXIST,
				    "%s is there already and is no recording: name another with -o", path);
	snprintf(old, sizeof old, "%.4000s.old", path);
	gt_folder_remove(old);
	if (rename(path, old))
		return gt_error_set(error, -errno, "cannot keep the old recording as %s: %s", old,
				    strerror(errno));
	return 0;
}

int gt_folder_make(const char *path, struct gt_error *error)
{
	int e;

	if (!mkdir(path, 0700))
		return 0;
	if (errno == EEXIST) {
		e = put_aside(path, error);
		if (e)
			return e;
		if (!mkdir(path, 0700))
			return 0;
	}
	return gt_error_set(error, -errno, "cannot make the recording %s: %s; choose a place with -o",
			    path, strerror(errno));
}
