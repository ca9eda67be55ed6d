/* SPDX-License-Identifier: MIT */
/* libraries.c - the API libraries of this machine and its processes, each probed once. */
#include "capture/ebpf/libraries.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/files.h"
#include "base/mem.h"
#include "base/text.h"

enum {
	OPENED_MAX = 4 * GT_LIBRARIES_OF_PROCESS, /* of one process: several may be one library */
	PROBED_AT_ONCE = 4,
	SCANNED_AT_ONCE = 256,
};

/* Where distributions install libraries: the linker's own cache has no documented format. */
/* clang-format off */
static const char *const folders[] = {
	"/usr/lib/x86_64-linux-gnu", "/lib/x86_64-linux-gnu", "/usr/lib64", "/lib64", "/usr/lib",
	"/usr/local/lib", "/usr/local/lib/x86_64-linux-gnu", "/usr/local/cuda/lib64",
	"/usr/lib/wsl/lib", "/usr/local/nvidia/lib64", "/run/opengl-driver/lib",
};
/* clang-format on */

int gt_library_api(const char *path)
{
	const char *name = gt_path_name(path);

	for (int i = 0; i < GT_API_COUNT; i++)
		if (gt_text_begins(name, gt_api_libraries[i]))
			return i;
	return -1;
}

void gt_libraries_fini(struct gt_libraries *l)
{
	for (size_t i = 0; i < l->count; i++)
		free(l->list[i].path);
	free(l->list);
	free(l->early);
	free(l->queue);
	*l = (struct gt_libraries){ 0 };
}

bool gt_libraries_was_early(const struct gt_libraries *l, uint32_t pid)
{
	for (size_t i = 0; i < l->early_count; i++)
		if (l->early[i] == pid)
			return true;
	return false;
}

void gt_libraries_forget(struct gt_libraries *l, uint32_t pid)
{
	for (size_t i = 0; i < l->count; i++)
		if (l->list[i].found_in == pid)
			l->list[i].found_in = 0;
	for (size_t i = 0; i < l->early_count; i++)
		if (l->early[i] == pid) {
			l->early[i] = l->early[--l->early_count];
			return;
		}
}

static void note_early(struct gt_libraries *l, uint32_t pid)
{
	if (gt_libraries_was_early(l, pid))
		return;
	GT_GROW(l->early, l->early_count, l->early_room);
	l->early[l->early_count++] = pid;
}

/* The row of a function of this API; GT_FN_NONE when it is not probed. */
static uint16_t row_of(enum gt_api api, const char *name)
{
	struct gt_plan plan;

	for (unsigned i = 1; i < GT_FN_COUNT; i++)
		if (gt_functions[i].api == api && !strcmp(gt_function_names[i], name) &&
		    gt_plan_make(&plan, (enum gt_function_id)i) && plan.row.effects)
			return (uint16_t)i;
	return GT_FN_NONE;
}

/* The file offset of an address; false when the file is too short for it. */
static bool offset_of(Elf *elf, uint64_t size, uint64_t address, uint64_t *offset)
{
	size_t count = 0;

	elf_getphdrnum(elf, &count);
	for (size_t i = 0; i < count; i++) {
		GElf_Phdr head;

		if (gelf_getphdr(elf, (int)i, &head) && head.p_type == PT_LOAD &&
		    address - head.p_vaddr < head.p_filesz) {
			*offset = address - head.p_vaddr + head.p_offset;
			return *offset < size;
		}
	}
	return false;
}

static void add_point(struct gt_probe_point *points, size_t *count, uint64_t offset, uint16_t row)
{
	/* one function with two names gets one probe */
	for (size_t i = 0; i < *count; i++)
		if (points[i].offset == offset || points[i].row == row)
			return;
	points[(*count)++] = (struct gt_probe_point){ .offset = offset, .row = row };
}

/*
 * The tracked functions that a library exports, and those that register callbacks; `points` has
 * room for all.
 */
static size_t find_points(int fd, uint64_t size, enum gt_api api, struct gt_probe_point *points)
{
	Elf *elf = elf_version(EV_CURRENT) == EV_NONE || !gt_elf_is_bounded(fd) ?
			   NULL :
			   elf_begin(fd, ELF_C_READ_MMAP, NULL);
	Elf_Scn *section = NULL;
	size_t count = 0;

	while (elf && (section = elf_nextscn(elf, section))) {
		GElf_Shdr head;
		Elf_Data *data;

		if (!gelf_getshdr(section, &head) || head.sh_type != SHT_DYNSYM ||
		    !head.sh_entsize || !(data = elf_getdata(section, NULL)))
			continue;
		for (size_t i = 0; i < head.sh_size / head.sh_entsize; i++) {
			const char *name;
			uint64_t offset;
			GElf_Sym symbol;
			uint16_t row;

			if (!gelf_getsym(data, (int)i, &symbol) || symbol.st_shndx == SHN_UNDEF ||
			    GELF_ST_TYPE(symbol.st_info) != STT_FUNC)
				continue;
			name = elf_strptr(elf, head.sh_link, symbol.st_name);
			row = name ? gt_plan_registration(api, name) : GT_FN_NONE;
			if (name && !row)
				row = row_of(api, name);
			if (row != GT_FN_NONE && offset_of(elf, size, symbol.st_value, &offset))
				add_point(points, &count, offset, row);
		}
	}
	elf_end(elf);
	return count;
}

/* Probes a file that is not in the list. */
static int probe(struct gt_libraries *l, int fd, const struct stat *st, const char *path,
		 uint32_t pid, struct gt_error *error)
{
	int api = gt_library_api(path), e = 0;
	struct gt_probe_point *points;
	size_t count;

	l->probed++;
	points = gt_alloc((GT_FN_COUNT + GT_PLAN_REGISTRATIONS) * sizeof *points);
	count = find_points(fd, (uint64_t)st->st_size, (enum gt_api)api, points);
	if (count && l->probes)
		e = gt_probes_attach(l->probes, fd, path, points, count, error);
	free(points);
	if (e && !*l->refusal.text)
		l->refusal = *error;
	GT_GROW(l->list, l->count, l->room);
	l->list[l->count++] = (struct gt_library){ .dev = st->st_dev,
						   .ino = st->st_ino,
						   .found_in = pid,
						   .api = (enum gt_api)api,
						   .path = gt_strdup(path),
						   .functions = e ? 0 : count,
						   .is_refused = e };
	return e;
}

static bool is_known(const struct gt_libraries *l, const struct stat *st)
{
	for (size_t i = 0; i < l->count; i++)
		if (l->list[i].dev == st->st_dev && l->list[i].ino == st->st_ino)
			return true;
	return false;
}

/* How many libraries a process has had probed. */
static size_t found_in(const struct gt_libraries *l, uint32_t pid)
{
	size_t count = 0;

	for (size_t i = 0; pid && i < l->count; i++)
		count += l->list[i].found_in == pid;
	return count;
}

static bool has_probed_enough(const struct gt_libraries *l)
{
	return l->pause_at && l->probed >= l->pause_at;
}

/* A file that may have to be probed; each is tried only once. 1: there is no room for it. */
static int add(struct gt_libraries *l, int fd, const char *path, uint32_t pid,
	       struct gt_error *error)
{
	struct stat st;

	if (fstat(fd, &st) || !S_ISREG(st.st_mode) || is_known(l, &st))
		return 0;
	if (l->count >= GT_LIBRARIES_MAX)
		return 1;
	if (has_probed_enough(l)) {
		l->is_unfinished = true;
		return 0;
	}
	return probe(l, fd, &st, path, pid, error);
}

static bool is_wanted(const struct gt_libraries *l, const char *path)
{
	int api = gt_library_api(path);

	return api >= 0 && !l->unwanted[api];
}

static bool has_path(const struct gt_libraries *l, const char *path)
{
	for (size_t i = 0; i < l->count; i++)
		if (!strcmp(l->list[i].path, path))
			return true;
	return false;
}

static void note_dropped(struct gt_libraries *l, uint32_t pid, size_t count)
{
	size_t i = 0;

	while (i < l->dropped_count && l->dropped[i].pid != pid)
		i++;
	if (!count)
		return;
	if (i == GT_LIBRARIES_DROPPED) {
		l->has_more_dropped = true;
		return;
	}
	if (i == l->dropped_count)
		l->dropped[l->dropped_count++] =
			(struct gt_dropped_libraries){ .pid = pid,
						       .is_full = l->count >= GT_LIBRARIES_MAX };
	if (count > l->dropped[i].count)
		l->dropped[i].count = count;
}

/*
 * One of a process's mappings. 1: it is dropped. Once a process has as many as it may, its files
 * are not even opened: there may be tens of thousands, and they are looked at each time it maps one
 * more.
 */
static int add_mapped(struct gt_libraries *l, const struct gt_mapping *m, uint32_t pid,
		      size_t *opened, struct gt_error *error)
{
	int fd, e;

	if (*opened >= OPENED_MAX || found_in(l, pid) >= GT_LIBRARIES_OF_PROCESS)
		return !has_path(l, m->path);
	++*opened;
	fd = gt_mapping_open(m, pid);
	if (fd < 0)
		return 0;
	e = add(l, fd, m->path, pid, error);
	close(fd);
	return e;
}

int gt_libraries_scan(struct gt_libraries *l, uint32_t pid, struct gt_error *error)
{
	struct gt_mappings maps;
	struct gt_error unused;
	size_t known = l->count, dropped = 0, opened = 0;
	const char *last = "";
	int found = 0, e = gt_mappings_read(&maps, pid);

	l->is_unfinished = false;
	if (e)
		return gt_error_set(
			error, e, "cannot read the mappings of process %u: %s%s", pid, strerror(-e),
			e == -EACCES || e == -EPERM ?
				"; this root user may not: attach from where the process "
				"was started, outside its sandbox or container" :
				"");
	for (size_t i = 0; i < maps.count && !l->is_unfinished; i++) {
		const struct gt_mapping *m = &maps.list[i];
		int added;

		if (!m->is_code || gt_library_api(m->path) < 0)
			continue;
		found++;
		/* the pieces of one file lie next to each other */
		if (!is_wanted(l, m->path) || !strcmp(m->path, last))
			continue;
		last = m->path;
		added = add_mapped(l, m, pid, &opened, e ? &unused : error);
		dropped += added > 0;
		e = added < 0 && !e ? added : e;
	}
	note_dropped(l, pid, dropped);
	gt_mappings_fini(&maps);
	if (l->is_settled ? l->count > known || dropped : found > 0)
		note_early(l, pid);
	return e < 0 ? e : found;
}

static void try_folder(struct gt_libraries *l, const char *folder)
{
	struct gt_error kept;

	for (int api = 0; api < GT_API_COUNT; api++) {
		char path[PATH_MAX];
		int fd;

		snprintf(path, sizeof path, "%.3000s/%s.1", *folder ? folder : ".",
			 gt_api_libraries[api]);
		fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
		if (fd < 0)
			continue;
		if (is_wanted(l, path))
			add(l, fd, path, 0, &kept);
		close(fd);
	}
}

void gt_libraries_installed(struct gt_libraries *l, const char *path)
{
	char *list = gt_strdup(path ? path : ""), *rest = list, *folder;

	while (*list && (folder = strsep(&rest, ":")))
		try_folder(l, folder);
	free(list);
	for (size_t i = 0; i < sizeof folders / sizeof *folders; i++)
		try_folder(l, folders[i]);
}

static void add_to_queue(struct gt_libraries *l, uint32_t pid)
{
	GT_GROW(l->queue, l->queue_count, l->queue_room);
	l->queue[l->queue_count++] = pid;
}

void gt_libraries_queue(struct gt_libraries *l, uint32_t pid)
{
	for (size_t i = 0; i < l->queue_count; i++)
		if (l->queue[i] == pid)
			return;
	add_to_queue(l, pid);
}

void gt_libraries_queue_all(struct gt_libraries *l)
{
	DIR *proc = opendir("/proc");
	struct dirent *entry;

	l->queue_count = 0;
	while (proc && (entry = readdir(proc)))
		if (isdigit((unsigned char)entry->d_name[0]))
			add_to_queue(l, (uint32_t)atoi(entry->d_name));
	if (proc)
		closedir(proc);
}

void gt_libraries_scan_queued(struct gt_libraries *l, gt_scanned_fn *scanned, void *context)
{
	size_t count = l->queue_count, i = 0;
	struct gt_error unused;

	l->pause_at = l->probed + PROBED_AT_ONCE;
	while (i < count && i < SCANNED_AT_ONCE && !has_probed_enough(l)) {
		uint32_t pid = l->queue[i++];
		size_t known = l->count;

		/* it may have ended, be a kernel thread, or be off limits */
		gt_libraries_scan(l, pid, &unused);
		scanned(context, pid, known);
		if (l->is_unfinished)
			add_to_queue(l, pid);
	}
	l->pause_at = 0;
	l->queue_count -= i;
	if (i)
		memmove(l->queue, l->queue + i, l->queue_count * sizeof *l->queue);
}

void gt_libraries_everywhere(struct gt_libraries *l)
{
	struct gt_error unused;

	gt_libraries_queue_all(l);
	for (size_t i = 0; i < l->queue_count; i++)
		gt_libraries_scan(l, l->queue[i], &unused);
	l->queue_count = 0;
}
