/* SPDX-License-Identifier: MIT */
/* fuzz_snapshot.c - reads any bytes as a memory snapshot; the result is a readable recording. */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "capture/snapshot/snapshot.h"
#include "fuzz.h"
#include "trace/recording.h"

static char folder[64], file[96], recording[96];

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
	snprintf(folder, sizeof folder, "/dev/shm/fuzz_snapshot.XXXXXX");
	if (!mkdtemp(folder)) {
		snprintf(folder, sizeof folder, "/tmp/fuzz_snapshot.XXXXXX");
		FUZZ_CHECK(mkdtemp(folder));
	}
	snprintf(file, sizeof file, "%s/pickle", folder);
	snprintf(recording, sizeof recording, "%s/x.gt", folder);
	FUZZ_CHECK(!mkdir(recording, 0700));
	atexit(remove_folder);
}

static void write_file(const uint8_t *data, size_t size)
{
	int fd = open(file, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	FUZZ_CHECK(fd >= 0 && write(fd, data, size) == (ssize_t)size);
	close(fd);
}

/* Counts the events of blocks that were allocated. */
static uint64_t read_back(void)
{
	struct gt_error error = { "" };
	struct gt_recording *r;
	struct gt_event event;
	uint64_t allocations = 0;
	uint32_t process;

	FUZZ_CHECK(!gt_recording_open(&r, recording, NULL, &error));
	while (gt_recording_next(r, &event, &process) > 0) {
		FUZZ_CHECK(gt_recording_origin(r, event.function, event.stack) < GT_ORIGIN_COUNT);
		allocations += gt_functions[event.function].effect == GT_CREATE && !event.failed;
	}
	for (size_t i = 0; i < gt_recording_process_count(r); i++)
		FUZZ_CHECK(!gt_recording_process(r, i)->damage);
	gt_recording_close(r);
	return allocations;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct gt_snapshot_import import = { 0 };
	struct gt_error error = { "" };

	if (!folder[0])
		make_folder();
	write_file(data, size);
	import.file = file;
	import.folder = recording;
	if (gt_snapshot_run(&import, &error)) {
		FUZZ_CHECK(error.text[0] && !strchr(error.text, '\n'));
		FUZZ_CHECK(!empty(recording));
		return 0;
	}
	FUZZ_CHECK(read_back() >= import.allocations + import.before);
	empty(recording);
	return 0;
}
