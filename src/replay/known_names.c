/* SPDX-License-Identifier: MIT */
/* known_names.c - names of large programs, kept in a folder from one report to the next. */
#include "replay/known_names.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/containers.h"
#include "base/files.h"
#include "base/mem.h"
#include "trace/legend.h"

enum {
	FROM_BYTES = 16 << 20,
	MOST_BYTES = 64 << 20,
	FRAMES_MAX = 128,
	ADDRESSES_MAX = 200 * 1000, /* of a file */
	BUILD_ID_MIN = 8,           /* a shorter one is somebody's own idea */
};

/* The end of a file's name. A version that names things otherwise counts it up. */
#define SUFFIX ".names1"
/* In place of a path, which may be another for the same file: the build id says which it is. */
#define MODULE "module"

struct file {
	struct gt_recorded_module module;
	struct gt_legend *names; /* NULL: not to be kept */
	size_t added;
};

struct gt_known_names {
	struct gt_known_names_options options;
	char *folder;
	struct gt_map files; /* by the symbolizer's number, plus 1 */
	struct gt_frame frames[FRAMES_MAX];
};

char *gt_known_names_folder(void)
{
	const char *ours = getenv("GPUTRACK_CACHE"), *cache = getenv("XDG_CACHE_HOME"),
		   *home = getenv("HOME");
	char *path = NULL;

	if (ours)
		return *ours ? gt_strdup(ours) : NULL;
	if (cache && *cache == '/')
		return asprintf(&path, "%s/gputrack", cache) < 0 ? NULL : path;
	if (home && *home == '/')
		return asprintf(&path, "%s/.cache/gputrack", home) < 0 ? NULL : path;
	return NULL;
}

struct gt_known_names *gt_known_names_new(const struct gt_known_names_options *options)
{
	struct gt_known_names *k = gt_alloc(sizeof *k);

	k->options = *options;
	k->folder = options->folder ? gt_strdup(options->folder) : NULL;
	if (!k->options.from_bytes)
		k->options.from_bytes = FROM_BYTES;
	if (!k->options.most_bytes)
		k->options.most_bytes = MOST_BYTES;
	return k;
}

static void path_of(const struct gt_known_names *k, const struct gt_recorded_module *m,
		    char path[PATH_MAX])
{
	int used = snprintf(path, PATH_MAX, "%s/", k->folder);

	for (size_t i = 0; i < m->build_id_size && used < PATH_MAX; i++)
		used += snprintf(path + used, (size_t)(PATH_MAX - used), "%02x", m->build_id[i]);
	if (used < PATH_MAX)
		snprintf(path + used, (size_t)(PATH_MAX - used), SUFFIX);
}

/* Removes the files that have not been used for the longest time, until the rest is small enough.
 */
static void shrink(const struct gt_known_names *k)
{
	for (;;) {
		char path[PATH_MAX], oldest[PATH_MAX] = "";
		struct timespec when = { 0 };
		uint64_t bytes = 0;
		struct dirent *entry;
		DIR *folder = opendir(k->folder);

		while (folder && (entry = readdir(folder))) {
			struct stat st;

			if (!strstr(entry->d_name, ".names") ||
			    snprintf(path, sizeof path, "%s/%s", k->folder, entry->d_name) >=
				    (int)sizeof path ||
			    lstat(path, &st) || !S_ISREG(st.st_mode))
				continue;
			bytes += (uint64_t)st.st_size;
			if (!*oldest || st.st_mtim.tv_sec < when.tv_sec ||
			    (st.st_mtim.tv_sec == when.tv_sec &&
			     st.st_mtim.tv_nsec < when.tv_nsec)) {
				when = st.st_mtim;
				memcpy(oldest, path, sizeof oldest);
			}
		}
		if (folder)
			closedir(folder);
		if (bytes <= k->options.most_bytes || !*oldest || unlink(oldest))
			return;
	}
}

void gt_known_names_free(struct gt_known_names *k)
{
	struct gt_error error = { 0 };
	bool has_written = false;

	if (!k)
		return;
	for (size_t i = 0; i < k->files.count; i++) {
		struct file *file = k->files.values[i];
		char path[PATH_MAX];

		if (!file)
			continue;
		if (file->names && file->added && gt_make_own_folder(k->folder)) {
			path_of(k, &file->module, path);
			has_written |= !gt_legend_write(file->names, path, &error);
		}
		gt_legend_free(file->names);
		free(file);
	}
	if (has_written)
		shrink(k);
	gt_map_fini(&k->files);
	free(k->folder);
	free(k);
}

/* Decides at a module's first address whether its names are kept. */
static struct file *open_file(struct gt_known_names *k, struct gt_symbolizer *s, int module,
			      const struct gt_recorded_module *recorded)
{
	struct file *file = gt_alloc(sizeof *file);
	char path[PATH_MAX];

	file->module = *recorded;
	if (recorded->build_id_size < BUILD_ID_MIN ||
	    gt_symbolizer_debug_bytes(s, module) < k->options.from_bytes)
		return file;
	path_of(k, recorded, path);
	file->names = gt_legend_read(path);
	/* used now: it is not the next to go; fails where there is none */
	utimensat(AT_FDCWD, path, NULL, AT_SYMLINK_NOFOLLOW);
	return file;
}

static void keep(struct file *file, uint64_t address, const struct gt_frame *frames, size_t count)
{
	struct gt_legend_name list[FRAMES_MAX];

	if (count > FRAMES_MAX || file->added == ADDRESSES_MAX)
		return;
	for (size_t i = 0; i < count; i++)
		list[i] = (struct gt_legend_name){ frames[i].function, frames[i].file,
						   frames[i].line, frames[i].inlined };
	gt_legend_add(file->names, MODULE, file->module.build_id, file->module.build_id_size,
		      address, list, count);
	file->added++;
}

size_t gt_known_names_resolve(struct gt_known_names *k, struct gt_symbolizer *s, int module,
			      const struct gt_recorded_module *recorded, uint64_t address,
			      const struct gt_frame **frames)
{
	const struct gt_legend_name *list;
	struct file *file;
	size_t count = 0;
	void **at;

	if (!k->folder)
		return gt_symbolizer_resolve(s, module, address, frames);
	at = gt_map_at(&k->files, (uint64_t)module + 1);
	if (!*at)
		*at = open_file(k, s, module, recorded);
	file = *at;
	if (file->names)
		count = gt_legend_get(file->names, MODULE, recorded->build_id,
				      recorded->build_id_size, address, &list);
	if (!count || count > FRAMES_MAX) {
		count = gt_symbolizer_resolve(s, module, address, frames);
		/* a file with a part of it may be there the next time */
		if (file->names && gt_symbolizer_is_whole(s, module))
			keep(file, address, *frames, count);
		return count;
	}
	for (size_t i = 0; i < count; i++)
		k->frames[i] = (struct gt_frame){ .function = list[i].function,
						  .file = list[i].file,
						  .line = list[i].line,
						  .inlined = list[i].inlined,
						  .module = recorded->path,
						  .offset = address };
	*frames = k->frames;
	return count;
}
