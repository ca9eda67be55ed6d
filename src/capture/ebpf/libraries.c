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
	*l = (struct gt_libraries){ 0 };
}

bool gt_libraries_was_early(const struct gt_libraries *l, uint32_t pid)
{
	for (size_t i = 0; i < l->early_count; i++)
		if (l->early[i] == pid)
			return true;
	return false;
}

void gt_libraries_forget_early(struct gt_libraries *l, uint32_t pid)
{
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

/* The tracked functions that a library exports; `points` has room for every row. */
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
			row = name ? row_of(api, name) : GT_FN_NONE;
			if (row != GT_FN_NONE && offset_of(elf, size, symbol.st_value, &offset))
				add_point(points, &count, offset, row);
		}
	}
	elf_end(elf);
	return count;
}

/* Probes a file; each is tried only once. */
static int add(struct gt_libraries *l, int fd, const char *path, struct gt_error *error)
{
	int api = gt_library_api(path), e = 0;
	struct gt_probe_point *points;
	struct stat st;
	size_t count;

	if (api < 0 || l->unwanted[api] || fstat(fd, &st) || !S_ISREG(st.st_mode))
		return 0;
	for (size_t i = 0; i < l->count; i++)
		if (l->list[i].dev == st.st_dev && l->list[i].ino == st.st_ino)
			return 0;
	points = gt_alloc(GT_FN_COUNT * sizeof *points);
	count = find_points(fd, (uint64_t)st.st_size, (enum gt_api)api, points);
	if (count && l->probes)
		e = gt_probes_attach(l->probes, fd, path, points, count, error);
	free(points);
	if (e && !*l->refusal.text)
		l->refusal = *error;
	GT_GROW(l->list, l->count, l->room);
	l->list[l->count++] = (struct gt_library){ .dev = st.st_dev,
						   .ino = st.st_ino,
						   .api = (enum gt_api)api,
						   .path = gt_strdup(path),
						   .functions = e ? 0 : count,
						   .is_refused = e };
	return e;
}

int gt_libraries_scan(struct gt_libraries *l, uint32_t pid, struct gt_error *error)
{
	struct gt_mappings maps;
	struct gt_error unused;
	size_t known = l->count;
	int found = 0, e = gt_mappings_read(&maps, pid);

	if (e)
		return gt_error_set(
			error, e, "cannot read the mappings of process %u: %s%s", pid, strerror(-e),
			e == -EACCES || e == -EPERM ?
				"; this root user may not: attach from where the process "
				"was started, outside its sandbox or container" :
				"");
	for (size_t i = 0; i < maps.count; i++) {
		int fd, refused;

		if (!maps.list[i].is_code || gt_library_api(maps.list[i].path) < 0)
			continue;
		found++;
		fd = gt_mapping_open(&maps.list[i], pid);
		if (fd < 0)
			continue;
		refused = add(l, fd, maps.list[i].path, e ? &unused : error);
		e = e ? e : refused;
		close(fd);
	}
	gt_mappings_fini(&maps);
	if (l->is_settled ? l->count > known : found > 0)
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
		add(l, fd, path, &kept);
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

void gt_libraries_everywhere(struct gt_libraries *l)
{
	DIR *proc = opendir("/proc");
	struct gt_error unused;
	struct dirent *entry;

	/* a process may have ended, be a kernel thread, or be off limits */
	while (proc && (entry = readdir(proc)))
		if (isdigit((unsigned char)entry->d_name[0]))
			gt_libraries_scan(l, (uint32_t)atoi(entry->d_name), &unused);
	if (proc)
		closedir(proc);
}
