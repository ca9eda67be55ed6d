/* SPDX-License-Identifier: MIT */
/* recorders.c - the recorder of `gputrack run` in the processes that are followed. */
#include "capture/ebpf/recorders.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <gelf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/files.h"
#include "base/text.h"
#include "event/tap_state.h"

#define NAME "libgputrack.so"

enum { POINTS = 3 };

/* What a recorder's file says. */
struct found {
	struct gt_probe_point points[POINTS];
	size_t count;
	uint64_t state;
};

/* The segment of the file that an address lies in. */
static bool find_segment(Elf *elf, uint64_t address, GElf_Phdr *head)
{
	size_t count = 0;

	elf_getphdrnum(elf, &count);
	for (size_t i = 0; i < count; i++)
		if (gelf_getphdr(elf, (int)i, head) && head->p_type == PT_LOAD &&
		    address - head->p_vaddr < head->p_memsz)
			return true;
	return false;
}

static void take_symbol(struct found *f, Elf *elf, const char *name, const GElf_Sym *symbol)
{
	static const struct {
		const char *name;
		uint16_t cookie;
	} taps[POINTS] = {
		{ "gt_tap_opened", GT_PROBE_TAP_OPENED },
		{ "gt_tap_begin", GT_PROBE_TAP_BEGIN },
		{ "gt_tap_call", GT_PROBE_TAP_CALL },
	};
	GElf_Phdr head;

	if (!strcmp(name, "gt_tap_state"))
		f->state = symbol->st_value;
	for (size_t i = 0; i < POINTS && f->count < POINTS; i++)
		if (!strcmp(name, taps[i].name) && find_segment(elf, symbol->st_value, &head))
			f->points[f->count++] =
				(struct gt_probe_point){ .offset = symbol->st_value - head.p_vaddr +
								   head.p_offset,
							 .row = taps[i].cookie };
}

static void read_symbols(struct found *f, Elf *elf)
{
	Elf_Scn *section = NULL;

	while ((section = elf_nextscn(elf, section))) {
		GElf_Shdr head;
		Elf_Data *data;
		GElf_Sym symbol;

		if (!gelf_getshdr(section, &head) || head.sh_type != SHT_DYNSYM ||
		    !head.sh_entsize || !(data = elf_getdata(section, NULL)))
			continue;
		for (size_t i = 0; i < head.sh_size / head.sh_entsize; i++) {
			const char *name;

			if (!gelf_getsym(data, (int)i, &symbol) || symbol.st_shndx == SHN_UNDEF)
				continue;
			name = elf_strptr(elf, head.sh_link, symbol.st_name);
			if (name)
				take_symbol(f, elf, name, &symbol);
		}
	}
}

/* The file's entry, probed if it is new; NULL: it cannot be, or there is no room for it. */
static const struct gt_recorder_file *add(struct gt_recorders *r, int fd, const char *path)
{
	struct gt_recorder_file *file;
	struct gt_error unused;
	struct found f = { 0 };
	struct stat st;
	Elf *elf;

	if (fstat(fd, &st) || !S_ISREG(st.st_mode))
		return NULL;
	for (size_t i = 0; i < r->count; i++)
		if (r->files[i].dev == st.st_dev && r->files[i].ino == st.st_ino)
			return &r->files[i];
	if (r->count == GT_RECORDERS_MAX || elf_version(EV_CURRENT) == EV_NONE ||
	    !gt_elf_is_bounded(fd))
		return NULL;
	elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
	if (elf)
		read_symbols(&f, elf);
	elf_end(elf);
	file = &r->files[r->count++];
	*file = (struct gt_recorder_file){ .dev = st.st_dev, .ino = st.st_ino };
	/* one of another version, or one that cannot be probed: returns are probed, as elsewhere */
	if (f.count == POINTS && f.state &&
	    !gt_probes_attach(r->probes, fd, path, f.points, f.count, &unused))
		file->state = f.state;
	return file;
}

void gt_recorders_installed(struct gt_recorders *r, const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

	if (fd < 0)
		return;
	add(r, fd, path);
	close(fd);
}

/* Where a file is loaded, by the segment that a mapping shows. */
static bool find_bias(int fd, const struct gt_mapping *m, uint64_t *bias)
{
	Elf *elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
	bool found = false;
	size_t count = 0;

	if (elf)
		elf_getphdrnum(elf, &count);
	for (size_t i = 0; i < count && !found; i++) {
		GElf_Phdr head;

		if (!gelf_getphdr(elf, (int)i, &head) || head.p_type != PT_LOAD ||
		    (head.p_offset & ~UINT64_C(4095)) != m->offset)
			continue;
		*bias = m->start - (head.p_vaddr & ~UINT64_C(4095));
		found = head.p_flags & PF_X;
	}
	elf_end(elf);
	return found;
}

static void ask(struct gt_recorders *r, uint32_t pid, uint64_t address)
{
	struct gt_tap_state state;
	char path[64];
	int fd;

	snprintf(path, sizeof path, "/proc/%u/mem", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return;
	if (pread(fd, &state, sizeof state, (off_t)address) == sizeof state &&
	    state.table == gt_functions_digest() && state.doors)
		gt_probes_tapped(r->probes, pid, (uint32_t)state.doors);
	close(fd);
}

void gt_recorders_scan(struct gt_recorders *r, uint32_t pid)
{
	struct gt_mappings maps;

	if (gt_mappings_read(&maps, pid))
		return;
	for (size_t i = 0; i < maps.count; i++) {
		const struct gt_mapping *m = &maps.list[i];
		const struct gt_recorder_file *file;
		uint64_t bias;
		int fd;

		if (!m->is_code || !gt_text_begins(gt_path_name(m->path), NAME))
			continue;
		fd = gt_mapping_open(m, pid);
		if (fd < 0)
			continue;
		file = add(r, fd, m->path);
		if (file && file->state && find_bias(fd, m, &bias))
			ask(r, pid, bias + file->state);
		close(fd);
	}
	gt_mappings_fini(&maps);
}

bool gt_recorder_is_likely(const char *path)
{
	return gt_text_begins(gt_path_name(path), NAME);
}

void gt_recorders_hear(struct gt_recorders *r, uint32_t pid, const struct gt_mapping *m)
{
	for (size_t i = 0; i < r->count; i++)
		if (r->files[i].ino == m->inode)
			return;
	gt_recorders_scan(r, pid);
}

void gt_recorders_everywhere(struct gt_recorders *r)
{
	DIR *proc = opendir("/proc");
	struct dirent *entry;

	while (proc && (entry = readdir(proc)))
		if (isdigit((unsigned char)entry->d_name[0]))
			gt_recorders_scan(r, (uint32_t)atoi(entry->d_name));
	if (proc)
		closedir(proc);
}
