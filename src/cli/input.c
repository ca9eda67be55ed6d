/* SPDX-License-Identifier: MIT */
/* input.c - the recording or table that a command reads. */
#include "cli/input.h"

#include <dirent.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>

#include "base/mem.h"
#include "base/text.h"
#include "cli/cli.h"
#include "replay/phase.h"
#include "trace/info.h"

int gt_input_open(const struct gt_syntax *syntax, const struct gt_input *input, int argc,
		  char **argv, int first, struct gt_recording **recording)
{
	struct gt_recording_options options = { .pid = (uint32_t)input->pid };
	struct gt_error error;
	int e;

	if (argc - first != 1)
		return gt_syntax_wrong(syntax, argc == first ? "needs a recording, NAME.gt" :
							       "takes one recording");
	e = gt_recording_open(recording, argv[first], &options, &error);
	return e ? gt_fail("%s", error.text) : 0;
}

/* Without this check a mistyped folder would show only as missing names. */
static int check_folders(const struct gt_texts *folders, struct gt_error *error)
{
	struct stat st;

	for (size_t i = 0; i < folders->count; i++) {
		int e = stat(folders->items[i], &st) ? errno : S_ISDIR(st.st_mode) ? 0 : ENOTDIR;

		if (e)
			return gt_error_set(error, -e,
					    "cannot search %s for symbols: %s; choose another "
					    "folder with --symbols",
					    folders->items[i], strerror(e));
	}
	return 0;
}

static bool is_from_elsewhere(const char *recording)
{
	struct utsname system;
	struct gt_info *info;
	bool is = false;
	char *path;

	if (uname(&system) || asprintf(&path, "%s/info", recording) < 0)
		return false;
	info = gt_info_read(path);
	if (*gt_info_get(info, "host"))
		is = strcmp(gt_info_get(info, "host"), system.nodename) != 0;
	gt_info_free(info);
	free(path);
	return is;
}

int gt_roots_check(const struct gt_syntax *syntax, const void *value, int operands, char **names)
{
	const struct gt_texts *roots = value;
	bool elsewhere = false;
	struct stat st;

	for (int i = 0; i < operands; i++)
		elsewhere |= is_from_elsewhere(names[i]);
	for (size_t i = 0; i < roots->count; i++) {
		const char *root = roots->items[i];
		int e = stat(root, &st) ? errno : S_ISDIR(st.st_mode) ? 0 : ENOTDIR;

		if (e && !(elsewhere && *root == '/' && e == ENOENT))
			return gt_syntax_wrong(syntax,
					       "--root %s: %s; name the folder of your code", root,
					       strerror(e));
	}
	return 0;
}

struct gt_own_rules gt_own_options_rules(const struct gt_own_options *own)
{
	return (struct gt_own_rules){ .roots = own->roots.items,
				      .own = own->own.items,
				      .library = own->library.items };
}

void gt_own_options_fini(struct gt_own_options *own)
{
	gt_texts_fini(&own->roots);
	gt_texts_fini(&own->own);
	gt_texts_fini(&own->library);
}

int gt_by_check(const struct gt_syntax *syntax, int *by, bool (*has)(enum gt_by by),
		const char *why)
{
	if (has((enum gt_by) * by))
		return 0;
	if (gt_option_was_typed("by"))
		return gt_syntax_wrong(syntax, "--by %s: %s", gt_by_names[*by], why);
	*by = GT_BY_LINE;
	return 0;
}

int gt_input_frames(const struct gt_input *input, struct gt_recording *recording,
		    struct gt_frames **frames, struct gt_error *error)
{
	char *known = gt_known_names_folder();
	struct gt_frames_options options = {
		.no_symbols = input->no_symbols,
		.all_frames = input->all_frames,
		.symbol = { .debuginfod = input->debuginfod,
			    .cache = known,
			    .search = input->symbols.items },
		.known = { .folder = known },
		.own = gt_own_options_rules(&input->own),
		.by = (enum gt_by)input->by,
		.compares = input->compares,
	};
	int e = check_folders(&input->symbols, error);

	if (e)
		goto free_known;
	gt_recording_part_stacks(recording, gt_by_part(options.by));
	if (input->phases.count)
		gt_recording_only_phases(recording, gt_phase_matches, input->phases.items);
	e = gt_frames_new(frames, recording, &options);
	if (e)
		gt_error_set(error, e, "cannot look up symbols: %s; try --no-symbols",
			     strerror(-e));
free_known:
	free(known);
	return e;
}

int gt_input_load(const struct gt_input *input, const char *path, struct gt_recording **recording,
		  struct gt_frames **frames, struct gt_error *error)
{
	struct gt_recording_options options = { .pid = (uint32_t)input->pid };
	int e = gt_recording_open(recording, path, &options, error);

	if (e)
		return e;
	e = gt_input_frames(input, *recording, frames, error);
	if (e)
		gt_recording_close(*recording);
	return e;
}

void gt_input_fini(struct gt_input *input)
{
	gt_texts_fini(&input->symbols);
	gt_texts_fini(&input->phases);
	gt_own_options_fini(&input->own);
}

bool gt_input_is_table(const char *path)
{
	struct gt_trace_header header;
	struct gt_error error;
	struct stat st;

	return !strcmp(path, "-") || (!stat(path, &st) && !S_ISDIR(st.st_mode) &&
				      gt_trace_header_read(&header, path, &error));
}

/* Matches STEM_pid<digits>SUFFIX; after an exec, STEM_pid<digits>-<digits>SUFFIX. */
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

/* The newest of the files that a tracker wrote for `path`, and their number; NULL: none. */
static char *find_newest(const char *path, size_t *count)
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

char *gt_input_pid_hint(const char *path)
{
	char *newest, *hint = NULL, more[48] = "";
	struct stat st;
	size_t count;

	if (!stat(path, &st))
		return gt_strdup("");
	newest = find_newest(path, &count);
	if (count > 1)
		snprintf(more, sizeof more, " and %zu more", count - 1);
	if (!newest || asprintf(&hint, "; the tracker adds the pid to the file name: it wrote %s%s",
				newest, more) < 0)
		hint = gt_strdup("");
	free(newest);
	return hint;
}
