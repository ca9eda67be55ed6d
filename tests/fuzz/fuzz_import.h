/* SPDX-License-Identifier: MIT */
/* fuzz_import.h - a file to import, and the recording that it becomes, in memory if possible. */
#pragma once

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fuzz.h"
#include "trace/recording.h"

static char folder[64], file[96], recording[96];

/* How many files it had. */
static size_t empty(const char *path)
{
	DIR *dir = opendir(path);
	struct dirent *entry;
	size_t count = 0;

	while (dir && (entry = readdir(dir)))
		if (entry->d_name[0] != '.')
			count += !unlinkat(dirfd(dir), entry->d_name, 0);
	if (dir)
		closedir(dir);
	return count;
}

static void remove_folder(void)
{
	empty(recording);
	rmdir(recording);
	empty(folder);
	rmdir(folder);
}

static void make_folder(void)
{
	snprintf(folder, sizeof folder, "/dev/shm/fuzz_import.XXXXXX");
	if (!mkdtemp(folder)) {
		snprintf(folder, sizeof folder, "/tmp/fuzz_import.XXXXXX");
		FUZZ_CHECK(mkdtemp(folder));
	}
	snprintf(file, sizeof file, "%s/file", folder);
	snprintf(recording, sizeof recording, "%s/x.gt", folder);
	FUZZ_CHECK(!mkdir(recording, 0700));
	atexit(remove_folder);
}

/* SQLite opens files only by name. */
static void write_file(const uint8_t *data, size_t size)
{
	int fd;

	if (!folder[0])
		make_folder();
	fd = open(file, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	FUZZ_CHECK(fd >= 0 && write(fd, data, size) == (ssize_t)size);
	close(fd);
}

/* The events of the recording, which has no damage, that `counts` is true for. */
static uint64_t read_back(bool (*counts)(const struct gt_event *event))
{
	struct gt_error error = { "" };
	struct gt_recording *r;
	struct gt_event event;
	uint64_t count = 0;
	uint32_t process;

	FUZZ_CHECK(!gt_recording_open(&r, recording, NULL, &error));
	while (gt_recording_next(r, &event, &process) > 0) {
		FUZZ_CHECK(gt_recording_origin(r, event.function, event.stack) < GT_ORIGIN_COUNT);
		count += counts(&event);
	}
	for (size_t i = 0; i < gt_recording_process_count(r); i++)
		FUZZ_CHECK(!gt_recording_process(r, i)->damage);
	gt_recording_close(r);
	return count;
}
