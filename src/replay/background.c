/* SPDX-License-Identifier: MIT */
/* background.c - processes that a recorded program left behind, before they made any call. */
#include "replay/background.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"

enum { ENVIRONMENT_MAX = 1 << 20 };

/* What `gputrack run` tells the program, and what its processes inherit. */
static const char variable[] = "GPUTRACK_RECORDING=";

/* Variables as the process got them, one after the other; the caller frees them. */
static char *read_environment(const char *pid, size_t *size)
{
	char path[64], *text;
	ssize_t n;
	int fd;

	snprintf(path, sizeof path, "/proc/%.20s/environ", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return NULL;
	text = gt_alloc(ENVIRONMENT_MAX + 1);
	*size = 0;
	while (*size < ENVIRONMENT_MAX && (n = read(fd, text + *size, ENVIRONMENT_MAX - *size)) > 0)
		*size += (size_t)n;
	close(fd);
	return text;
}

static bool is_folder(const char *path, const struct stat *folder)
{
	struct stat st;

	return !stat(path, &st) && st.st_dev == folder->st_dev && st.st_ino == folder->st_ino;
}

static bool records_into(const char *pid, const struct stat *folder)
{
	size_t size = 0;
	char *text = read_environment(pid, &size);
	bool found = false;

	if (!text)
		return false;
	for (size_t at = 0; !found && at < size; at += strlen(text + at) + 1)
		found = !strncmp(text + at, variable, strlen(variable)) &&
			is_folder(text + at + strlen(variable), folder);
	free(text);
	return found;
}

bool gt_background_runs(const struct gt_recording *r)
{
	DIR *proc = opendir("/proc");
	struct dirent *entry;
	struct stat folder;
	bool found = false;

	if (proc && !stat(gt_recording_path(r), &folder))
		while (!found && (entry = readdir(proc)))
			found = isdigit((unsigned char)entry->d_name[0]) &&
				strtol(entry->d_name, NULL, 10) != getpid() &&
				records_into(entry->d_name, &folder);
	if (proc)
		closedir(proc);
	return found;
}
