/* SPDX-License-Identifier: MIT */
/* build_ids.c - the ELF files below the user's folders, found by build id whatever their names. */
#include "symbol/build_ids.h"

#include <fts.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/containers.h"
#include "base/mem.h"
#include "symbol/elf_file.h"

/* A folder given by mistake, such as "/", ends the search instead of taking minutes. */
enum { DEPTH_MAX = 16, FILES_MAX = 100000 };

/* The files with one build id; the first in the order of their paths counts. */
struct entry {
	const char *code, *debug, *names; /* NULL: none */
};

struct gt_build_ids {
	const char *const *folders;
	bool is_read;
	struct gt_intern *keys, *paths;
	struct entry *entries; /* by the key's number */
	size_t count, room;
};

struct gt_build_ids *gt_build_ids_new(const char *const *folders)
{
	struct gt_build_ids *ids = gt_alloc(sizeof *ids);

	*ids = (struct gt_build_ids){ .folders = folders,
				      .keys = gt_intern_new(),
				      .paths = gt_intern_new() };
	return ids;
}

void gt_build_ids_free(struct gt_build_ids *ids)
{
	if (!ids)
		return;
	gt_intern_free(ids->keys);
	gt_intern_free(ids->paths);
	free(ids->entries);
	free(ids);
}

static void keep(struct gt_build_ids *ids, const char **kept, bool has_it, const char *path)
{
	if (has_it && !*kept)
		*kept = gt_intern_string(ids->paths, path);
}

static void add_file(struct gt_build_ids *ids, const char *path)
{
	struct gt_elf_contents contents;
	struct entry *entry;
	struct stat status;
	uint32_t number;
	int fd = gt_elf_open(path, &status);

	if (fd < 0)
		return;
	if (!gt_elf_check(fd, &status) && gt_elf_look(&contents, fd)) {
		number = gt_intern(ids->keys, contents.build_id, contents.build_id_size);
		if (number == ids->count) {
			GT_GROW(ids->entries, ids->count, ids->room);
			ids->entries[ids->count++] = (struct entry){ .code = NULL };
		}
		entry = &ids->entries[number];
		keep(ids, &entry->code, contents.has_code, path);
		keep(ids, &entry->debug, contents.has_debug, path);
		keep(ids, &entry->names, contents.has_names, path);
	}
	close(fd);
}

static int by_name(const FTSENT **a, const FTSENT **b)
{
	return strcmp((*a)->fts_name, (*b)->fts_name);
}

/* Links are not followed, nor other file systems entered: that ends, and /proc is no place. */
static void read_folders(struct gt_build_ids *ids)
{
	FTS *tree = fts_open((char *const *)ids->folders, FTS_PHYSICAL | FTS_XDEV | FTS_NOCHDIR,
			     by_name);
	size_t files = 0;
	FTSENT *at;

	ids->is_read = true;
	while (tree && files < FILES_MAX && (at = fts_read(tree))) {
		if (at->fts_info == FTS_D && at->fts_level >= DEPTH_MAX)
			fts_set(tree, at, FTS_SKIP);
		if (at->fts_info != FTS_F)
			continue;
		add_file(ids, at->fts_path);
		files++;
	}
	if (tree)
		fts_close(tree);
}

const char *gt_build_ids_find(struct gt_build_ids *ids, const uint8_t *id, size_t size,
			      bool is_debug)
{
	const struct entry *entry;
	uint32_t number;

	if (!ids->is_read)
		read_folders(ids);
	number = gt_intern_find(ids->keys, id, size);
	if (number == GT_NOT_INTERNED)
		return NULL;
	entry = &ids->entries[number];
	if (!is_debug && entry->code)
		return entry->code;
	return entry->debug ? entry->debug : entry->names;
}
