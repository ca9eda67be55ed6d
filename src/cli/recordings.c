/* SPDX-License-Identifier: MIT */
/* recordings.c - the recordings that operands name: one, several, or folders of them. */
#include "cli/recordings.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/text.h"
#include "judge/merged.h"

enum { DEPTH_MAX = 8 }; /* folders in folders */

static void add_path(struct gt_recordings *found, char *path)
{
	GT_GROW(found->paths, found->count, found->room);
	found->paths[found->count++] = path;
}

static char *beneath(const char *folder, const char *name)
{
	size_t size = strlen(folder);
	char *path;

	if (asprintf(&path, "%s%s%s", folder, size && folder[size - 1] == '/' ? "" : "/", name) < 0)
		path = gt_strdup(name);
	return path;
}

static bool ends_in(const char *name, const char *end)
{
	size_t size = strlen(name), length = strlen(end);

	return size >= length && !strcmp(name + size - length, end);
}

/* A folder with traces, or with the `info` of a program that made no call. */
static bool is_recording(const char *path)
{
	DIR *folder = opendir(path);
	struct dirent *entry;
	bool is = false;

	while (folder && !is && (entry = readdir(folder)))
		is = gt_recording_is_trace(entry->d_name) || !strcmp(entry->d_name, "info");
	if (folder)
		closedir(folder);
	return is;
}

/* Links are not followed: they could lead back. */
static bool is_folder(const char *path)
{
	struct stat st;

	return !lstat(path, &st) && S_ISDIR(st.st_mode);
}

bool gt_recordings_is_folder(const char *path)
{
	struct stat st;

	return !stat(path, &st) && S_ISDIR(st.st_mode) && !is_recording(path);
}

static void find_below(struct gt_recordings *found, const char *folder, unsigned depth)
{
	DIR *open = opendir(folder);
	struct dirent *entry;

	while (open && (entry = readdir(open))) {
		char *path;

		if (entry->d_name[0] == '.' || ends_in(entry->d_name, ".old") ||
		    ends_in(entry->d_name, ".older"))
			continue;
		path = beneath(folder, entry->d_name);
		if (!is_folder(path)) {
			free(path);
		} else if (is_recording(path)) {
			add_path(found, path);
		} else {
			if (depth < DEPTH_MAX)
				find_below(found, path, depth + 1);
			free(path);
		}
	}
	if (open)
		closedir(open);
}

static int by_test(const void *a, const void *b)
{
	const char *x = *(char *const *)a, *y = *(char *const *)b;
	char *p = gt_test_name(x), *q = gt_test_name(y);
	int order = strcmp(p, q);

	free(p);
	free(q);
	return order ? order : strcmp(x, y);
}

void gt_recordings_find(struct gt_recordings *found, char *const *operands, size_t count)
{
	size_t kept = 0;

	*found = (struct gt_recordings){ 0 };
	for (size_t i = 0; i < count; i++) {
		size_t before = found->count;

		if (gt_recordings_is_folder(operands[i]))
			find_below(found, operands[i], 0);
		if (found->count == before)
			add_path(found, gt_strdup(operands[i]));
	}
	if (found->count)
		qsort(found->paths, found->count, sizeof *found->paths, by_test);
	for (size_t i = 0; i < found->count; i++)
		if (i && !strcmp(found->paths[i], found->paths[kept - 1]))
			free(found->paths[i]);
		else
			found->paths[kept++] = found->paths[i];
	found->count = kept;
}

bool gt_recordings_has_test(const struct gt_recordings *found, const char *path)
{
	char *wanted = gt_test_name(path);
	bool has = false;

	for (size_t i = 0; !has && i < found->count; i++) {
		char *test = gt_test_name(found->paths[i]);

		has = !strcmp(test, wanted);
		free(test);
	}
	free(wanted);
	return has;
}

void gt_recordings_fini(struct gt_recordings *found)
{
	for (size_t i = 0; i < found->count; i++)
		free(found->paths[i]);
	free(found->paths);
	*found = (struct gt_recordings){ 0 };
}

int gt_recordings_load(struct gt_loaded **loaded, const struct gt_recordings *found,
		       const struct gt_input *input, struct gt_error *error)
{
	struct gt_loaded *list = gt_alloc(found->count * sizeof *list);

	for (size_t i = 0; i < found->count; i++) {
		int e = gt_input_load(input, found->paths[i], &list[i].recording,
				      &list[i].view.frames, error);

		if (e) {
			gt_recordings_unload(list, i);
			return e;
		}
		list[i].view.recording = list[i].recording;
	}
	*loaded = list;
	return 0;
}

void gt_recordings_unload(struct gt_loaded *loaded, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		gt_frames_free(loaded[i].view.frames);
		gt_ledger_free(loaded[i].ledger);
		gt_recording_close(loaded[i].recording);
	}
	free(loaded);
}
