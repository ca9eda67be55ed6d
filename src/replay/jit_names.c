/* SPDX-License-Identifier: MIT */
/* jit_names.c - names of code that the recording's processes compiled while they ran. */
#include "replay/jit_names.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/mem.h"
#include "symbol/perf_map.h"

/* A process may have compiled its code long before its first call; an older map is another's. */
#define BEFORE_TRACE_NS (600 * INT64_C(1000000000))

struct gt_jit_names {
	struct gt_perf_map **maps;
	size_t count, room;
};

/* The user of a process: a trace belongs to who wrote it, an attached process to its own. */
static bool find_owner(const struct gt_recording *r, const struct gt_process *p, uid_t *owner)
{
	struct stat st;
	bool found;
	char *path;

	if (p->is_attached) {
		*owner = (uid_t)strtoul(p->uid, NULL, 10);
		return *p->uid;
	}
	found = asprintf(&path, "%s/%s", gt_recording_path(r), p->file) >= 0;
	if (found) {
		found = !stat(path, &st);
		free(path);
	}
	if (found)
		*owner = st.st_uid;
	return found;
}

static struct gt_perf_map *read_map(const struct gt_recording *r, const struct gt_process *p,
				    size_t *room)
{
	char path[64];
	uid_t owner;

	/* in a container that is the pid there, by which the process itself names the file */
	snprintf(path, sizeof path, "/tmp/perf-%" PRIu32 ".map", p->pid);
	return find_owner(r, p, &owner) ?
		       gt_perf_map_read(path, owner, (int64_t)p->start_real_ns - BEFORE_TRACE_NS,
					room) :
		       NULL;
}

struct gt_jit_names *gt_jit_names_read(const struct gt_recording *r)
{
	struct gt_jit_names *j = NULL;
	size_t room = GT_PERF_MAPS_ROOM;

	for (size_t i = 0; i < gt_recording_process_count(r) && room; i++) {
		struct gt_perf_map *map = read_map(r, gt_recording_process(r, i), &room);

		if (!map)
			continue;
		if (!j)
			j = gt_alloc(sizeof *j);
		GT_GROW(j->maps, j->count, j->room);
		j->maps[j->count++] = map;
	}
	return j;
}

void gt_jit_names_free(struct gt_jit_names *j)
{
	for (size_t i = 0; j && i < j->count; i++)
		gt_perf_map_free(j->maps[i]);
	if (j)
		free(j->maps);
	free(j);
}

static bool is_same_text(const char *a, const char *b)
{
	return a == b || (a && b && !strcmp(a, b));
}

bool gt_jit_names_find(const struct gt_jit_names *j, uint64_t address, struct gt_legend_name *name)
{
	struct gt_perf_name found;
	bool is_known = false;

	for (size_t i = 0; j && i < j->count; i++) {
		if (!gt_perf_map_find(j->maps[i], address, &found))
			continue;
		/* the same addresses in two processes: nothing says whose they are */
		if (is_known && !(is_same_text(name->function, found.function) &&
				  is_same_text(name->file, found.file) && name->line == found.line))
			return false;
		*name = (struct gt_legend_name){ .function = found.function,
						 .file = found.file,
						 .line = found.line };
		is_known = true;
	}
	return is_known;
}

void gt_jit_names_set(const struct gt_jit_names *j, const struct gt_legend *saved,
		      struct gt_frame *frame)
{
	struct gt_legend_name name;
	const struct gt_legend_name *found = &name;
	bool is_named =
		gt_jit_names_find(j, frame->offset, &name) ||
		(saved && gt_legend_get(saved, GT_JIT_MODULE, NULL, 0, frame->offset, &found));

	frame->module = GT_JIT_MODULE;
	if (is_named) {
		frame->function = found->function;
		frame->file = found->file;
		frame->line = found->line;
	}
}
