/* SPDX-License-Identifier: MIT */
/* fuzz_nsys.c - reads any bytes as an Nsight export; the result is a readable recording. */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "capture/nsys/nsys.h"
#include "fuzz.h"
#include "trace/recording.h"

static char folder[64], export[96], recording[96];

static void empty(const char *path)
{
	DIR *dir = opendir(path);
	struct dirent *entry;

	while (dir && (entry = readdir(dir)))
		if (entry->d_name[0] != '.')
			unlinkat(dirfd(dir), entry->d_name, 0);
	if (dir)
		closedir(dir);
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
	snprintf(folder, sizeof folder, "/dev/shm/fuzz_nsys.XXXXXX");
	if (!mkdtemp(folder)) {
		snprintf(folder, sizeof folder, "/tmp/fuzz_nsys.XXXXXX");
		FUZZ_CHECK(mkdtemp(folder));
	}
	snprintf(export, sizeof export, "%s/export", folder);
	snprintf(recording, sizeof recording, "%s/x.gt", folder);
	FUZZ_CHECK(!mkdir(recording, 0700));
	atexit(remove_folder);
}

/* SQLite opens files only by name. */
static void write_export(const uint8_t *data, size_t size)
{
	int fd = open(export, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	FUZZ_CHECK(fd >= 0 && write(fd, data, size) == (ssize_t)size);
	close(fd);
}

static uint64_t read_back(void)
{
	struct gt_error error = { "" };
	struct gt_recording *r;
	struct gt_event event;
	uint64_t events = 0;
	uint32_t process;

	FUZZ_CHECK(!gt_recording_open(&r, recording, NULL, &error));
	while (gt_recording_next(r, &event, &process) > 0) {
		FUZZ_CHECK(gt_recording_origin(r, event.function, event.stack) < GT_ORIGIN_COUNT);
		events++;
	}
	for (size_t i = 0; i < gt_recording_process_count(r); i++)
		FUZZ_CHECK(!gt_recording_process(r, i)->damage);
	gt_recording_close(r);
	return events;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct gt_nsys_import import = { 0 };
	struct gt_error error = { "" };

	if (!folder[0])
		make_folder();
	write_export(data, size);
	import.file = export;
	import.folder = recording;
	if (gt_nsys_run(&import, &error))
		FUZZ_CHECK(error.text[0]);
	else if (import.processes)
		FUZZ_CHECK(read_back() ==
			   import.allocations + import.frees + import.pools + import.failed);
	else
		FUZZ_CHECK(import.calls);
	free(import.calls);
	empty(recording);
	return 0;
}
