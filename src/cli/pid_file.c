/* SPDX-License-Identifier: MIT */
/* pid_file.c - the files that a tracker wrote, by the name that it was given. */
#include "cli/pid_file.h"

#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/mem.h"
#include "base/text.h"

/* True for STEM_pid<digits>ENDING, and STEM_pid<digits>-<digits>ENDING of a program after exec. */
static bool fits(const char *name, const char *wanted)
{
	static const char digits[] = "0123456789", mark[] = "_pid";
	const char *dot = strrchr(wanted, '.');
	size_t stem = dot && dot != wanted ? (size_t)(dot - wanted) : strlen(wanted), size;

	if (strncmp(name, wanted, stem) || strncmp(name + stem, mark, sizeof mark - 1))
		return false;
	name += stem + sizeof mark - 1;
	size = strspn(name, digits);
	name += size;
	if (size && *name == '-' && strspn(name + 1, digits))
		name += 1 + strspn(name + 1, digits);
	return size && !strcmp(name, wanted + stem);
}

char *gt_pid_file_find(const char *path, size_t *count)
{
	char *place = gt_strndup(path, gt_path_folder_size(path)), *newest = NULL;
	DIR *folder = opendir(*place ? place : ".");
	struct timespec latest = { 0 };
	struct dirent *entry;
	struct stat st;

	*count = 0;
	while (folder && (entry = readdir(folder))) {
		if (!fits(entry->d_name, gt_path_name(path)) ||
		    fstatat(dirfd(folder), entry->d_name, &st, 0) || !S_ISREG(st.st_mode))
			continue;
		if (!(*count)++ || st.st_mtim.tv_sec > latest.tv_sec ||
		    (st.st_mtim.tv_sec == latest.tv_sec && st.st_mtim.tv_nsec > latest.tv_nsec)) {
			free(newest);
			if (asprintf(&newest, "%s%s", place, entry->d_name) < 0)
				newest = NULL;
			latest = st.st_mtim;
		}
	}
	if (folder)
		closedir(folder);
	free(place);
	return newest;
}

char *gt_pid_file_hint(const char *path)
{
	char *newest, *hint = NULL, more[48] = "";
	struct stat st;
	size_t count;

	if (!stat(path, &st))
		return gt_strdup("");
	newest = gt_pid_file_find(path, &count);
	if (count > 1)
		snprintf(more, sizeof more, " and %zu more", count - 1);
	if (!newest || asprintf(&hint,
				"; a tracker puts the process's number into the name: it "
				"wrote %s%s",
				newest, more) < 0)
		hint = gt_strdup("");
	free(newest);
	return hint;
}
