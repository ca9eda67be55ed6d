/* SPDX-License-Identifier: MIT */
/* modules.c - the executables and libraries that processes have mapped, and where. */
#include "capture/ebpf/modules.h"

#include <elfutils/libdwelf.h>
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
#include "base/process.h"
#include "capture/ebpf/mapwatch.h"
#include "capture/ebpf/unwind.h"

static void image_free(struct gt_image *image)
{
	gt_unwind_table_free(image->unwind);
	if (image->fd >= 0)
		close(image->fd);
	free(image->name);
	free(image->path);
	free(image);
}

void gt_images_fini(struct gt_images *images)
{
	for (size_t i = 0; i < images->count; i++)
		image_free(images->list[i]);
	free(images->list);
	*images = (struct gt_images){ 0 };
}

static bool leads_to(const char *path, const struct gt_image *image)
{
	struct stat found;

	return !stat(path, &found) && found.st_dev == image->dev && found.st_ino == image->ino;
}

const char *gt_image_path(struct gt_image *image, uint32_t pid)
{
	char path[PATH_MAX];

	/* the same path for all processes, if possible: then their equal stacks are equal */
	if (image->path && leads_to(image->path, image))
		return image->path;
	snprintf(path, sizeof path, "/proc/%u/root%.4000s", pid, image->name);
	if (leads_to(path, image)) {
		free(image->path);
		image->path = gt_strdup(path);
	}
	return image->path ? image->path : image->name;
}

bool gt_image_is_reachable(const struct gt_image *image)
{
	return image->path && leads_to(image->path, image);
}

static void find_cfi(struct gt_image *image, Elf *elf)
{
	Elf_Scn *section = NULL;
	size_t names;

	if (elf_getshdrstrndx(elf, &names))
		return;
	while ((section = elf_nextscn(elf, section))) {
		const char *name;
		GElf_Shdr head;

		if (!gelf_getshdr(section, &head) || head.sh_type == SHT_NOBITS)
			continue;
		name = elf_strptr(elf, names, head.sh_name);
		if (name && !strcmp(name, ".eh_frame"))
			image->cfi = (struct gt_segment){ .offset = head.sh_offset,
							  .address = head.sh_addr,
							  .size = head.sh_size };
	}
}

static bool read_elf(struct gt_image *image, int fd)
{
	Elf *elf = gt_elf_is_bounded(fd) ? elf_begin(fd, ELF_C_READ_MMAP, NULL) : NULL;
	const void *id;
	size_t count = 0;
	ssize_t size;

	image->low = UINT64_MAX;
	if (!elf || elf_kind(elf) != ELF_K_ELF || elf_getphdrnum(elf, &count)) {
		elf_end(elf);
		return false;
	}
	for (size_t i = 0; i < count; i++) {
		GElf_Phdr head;

		if (!gelf_getphdr(elf, (int)i, &head))
			continue;
		if (head.p_type == PT_GNU_EH_FRAME)
			image->cfi_index = (struct gt_segment){ .offset = head.p_offset,
								.address = head.p_vaddr,
								.size = head.p_filesz };
		if (head.p_type == PT_DYNAMIC)
			image->dynamic = (struct gt_segment){ .offset = head.p_offset,
							      .address = head.p_vaddr,
							      .size = head.p_filesz };
		if (head.p_type != PT_LOAD)
			continue;
		if (head.p_vaddr < image->low)
			image->low = head.p_vaddr;
		if (head.p_vaddr + head.p_memsz > image->high)
			image->high = head.p_vaddr + head.p_memsz;
		if (image->segment_count < sizeof image->segments / sizeof *image->segments)
			image->segments[image->segment_count++] =
				(struct gt_segment){ .offset = head.p_offset,
						     .address = head.p_vaddr,
						     .size = head.p_filesz,
						     .is_code = head.p_flags & PF_X };
	}
	find_cfi(image, elf);
	size = dwelf_elf_gnu_build_id(elf, &id);
	if (size > 0 && (size_t)size <= sizeof image->build_id) {
		memcpy(image->build_id, id, (size_t)size);
		image->build_id_size = (size_t)size;
	}
	elf_end(elf);
	return image->low < image->high;
}

static int64_t mtime_of(const struct stat *st)
{
	return (int64_t)st->st_mtim.tv_sec * 1000000000 + st->st_mtim.tv_nsec;
}

static struct gt_image *image_new(const struct gt_mapping *m, uint32_t pid, int fd,
				  const struct stat *st)
{
	struct gt_image *image = gt_alloc(sizeof *image);

	image->fd = -1;
	image->dev = st->st_dev;
	image->ino = st->st_ino;
	image->file_size = (uint64_t)st->st_size;
	image->mtime_ns = mtime_of(st);
	if (!read_elf(image, fd)) {
		free(image);
		return NULL;
	}
	gt_python_image_read(image, fd);
	image->name = gt_strdup(m->path);
	/* the process's own path, if it leads to the same file from here */
	if (leads_to(m->path, image))
		image->path = gt_strdup(m->path);
	gt_image_path(image, pid);
	return image;
}

static bool is_of(const struct gt_image *image, const struct stat *st)
{
	return image->dev == st->st_dev && image->ino == st->st_ino &&
	       image->file_size == (uint64_t)st->st_size && image->mtime_ns == mtime_of(st);
}

/* For a file that nobody leads to any more: the newest one that was read at that path. */
static struct gt_image *find_past(const struct gt_images *images, const struct gt_mapping *m)
{
	for (size_t i = images->count; m->inode && i-- > 0;)
		if (images->list[i]->ino == m->inode && !strcmp(images->list[i]->name, m->path))
			return images->list[i];
	return NULL;
}

struct gt_image *gt_images_get(struct gt_images *images, const struct gt_mapping *m, uint32_t pid)
{
	int fd = gt_mapping_open(m, pid);
	struct gt_image *image = NULL;
	struct stat st;

	if (fd < 0)
		return find_past(images, m);
	if (!fstat(fd, &st) && S_ISREG(st.st_mode)) {
		for (size_t i = 0; i < images->count && !image; i++)
			if (is_of(images->list[i], &st))
				image = images->list[i];
		/* it was closed when no process had mapped it */
		if (image && image->fd < 0 && images->keep_open) {
			gt_unwind_forget(image);
			image->fd = fd;
			return image;
		}
		if (!image && images->count < GT_IMAGES_MAX) {
			elf_version(EV_CURRENT);
			image = image_new(m, pid, fd, &st);
			if (image) {
				GT_GROW(images->list, images->count, images->room);
				images->list[images->count++] = image;
				image->number = (uint32_t)images->count;
				if (images->keep_open || images->count <= GT_IMAGES_OPEN) {
					image->fd = fd;
					return image;
				}
			}
		}
	}
	close(fd);
	return image;
}

static bool overlap(const struct gt_mapping *m, const struct gt_segment *s)
{
	/* a mapping begins at the page in which its segment begins */
	return m->offset + (m->end - m->start) > s->offset && m->offset < s->offset + s->size;
}

uint64_t gt_image_bias(const struct gt_image *image, const struct gt_mapping *m)
{
	const struct gt_segment *found = NULL;

	/* lld's segments may share a page of the file, but none in memory */
	for (size_t i = 0; i < image->segment_count; i++) {
		const struct gt_segment *s = &image->segments[i];

		if (overlap(m, s) && (!found || (s->is_code && !found->is_code)))
			found = s;
	}
	return m->start - m->offset + (found ? found->offset - found->address : 0);
}

/* The kernel maps nothing of a process outside these. */
#define LOWEST  0x10000ull
#define HIGHEST 0x00ffffffffffffffull

void gt_modules_fini(struct gt_modules *m)
{
	free(m->list);
	free(m->areas);
	*m = (struct gt_modules){ 0 };
}

static struct gt_mapped *find_mapped(const struct gt_modules *m, const struct gt_image *image,
				     uint64_t start)
{
	for (size_t i = 0; i < m->count; i++)
		if (m->list[i].image == image && m->list[i].start == start)
			return &m->list[i];
	return NULL;
}

/* The kernel lists mappings by address. */
static void take_areas(struct gt_modules *m, const struct gt_mappings *maps)
{
	m->area_count = 0;
	for (size_t i = 0; i < maps->count; i++) {
		const struct gt_mapping *at = &maps->list[i];
		struct gt_area *last = m->area_count ? &m->areas[m->area_count - 1] : NULL;

		if (last && last->end == at->start && last->is_code == at->is_code) {
			last->end = at->end;
			continue;
		}
		GT_GROW(m->areas, m->area_count, m->area_room);
		m->areas[m->area_count++] = (struct gt_area){ .start = at->start,
							      .end = at->end,
							      .is_code = at->is_code };
	}
}

enum gt_ground gt_modules_ground(const struct gt_modules *m, uint64_t address)
{
	size_t low = 0, high = m->area_count;

	if (address < LOWEST || address > HIGHEST)
		return GT_GROUND_DATA;
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (address >= m->areas[middle].end)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == m->area_count || address < m->areas[low].start)
		return GT_GROUND_UNKNOWN;
	return m->areas[low].is_code ? GT_GROUND_CODE : GT_GROUND_DATA;
}

/* Adds the mappings of code that are not known, and unmarks those that are. */
static void take_code(struct gt_modules *m, struct gt_images *images, uint32_t pid,
		      const struct gt_mappings *maps)
{
	size_t looked = 0;

	for (size_t i = 0; i < maps->count; i++) {
		const struct gt_mapping *at = &maps->list[i];
		struct gt_image *image = NULL;
		struct gt_mapped *known;
		uint64_t bias;

		if (at->is_code && at->path[0] == '/' && looked++ < GT_MODULES_MAX)
			image = gt_images_get(images, at, pid);
		if (!image)
			continue;
		bias = gt_image_bias(image, at);
		known = find_mapped(m, image, bias + image->low);
		if (known) {
			known->gone = false;
			continue;
		}
		GT_GROW(m->list, m->count, m->room);
		m->list[m->count++] = (struct gt_mapped){ .start = bias + image->low,
							  .size = image->high - image->low,
							  .bias = bias,
							  .image = image };
	}
}

/* Of a process that has ended: known modules stay, and the mapping history adds to them. */
static void take_history(struct gt_modules *m, struct gt_images *images, uint32_t pid)
{
	struct gt_mappings maps;

	if (!images->history)
		return;
	if (images->catch_up)
		images->catch_up(images->context);
	gt_map_history_of(&maps, images->history, pid);
	take_code(m, images, pid, &maps);
	gt_mappings_fini(&maps);
}

static bool is_ending(uint32_t pid)
{
	struct gt_process_state state;

	return !gt_process_state_read(&state, pid) || state.is_ending;
}

bool gt_modules_look(struct gt_modules *m, struct gt_images *images, uint32_t pid)
{
	struct gt_mappings maps;
	size_t before = m->count, gone = 0;
	bool is_other;

	m->is_stale = false;
	m->looks++;
	m->is_gone = gt_mappings_read(&maps, pid);
	if (m->is_gone) {
		take_history(m, images, pid);
		return false;
	}
	take_areas(m, &maps);
	for (size_t i = 0; i < before; i++)
		m->list[i].gone = true;
	take_code(m, images, pid, &maps);
	gt_mappings_fini(&maps);
	for (size_t i = 0; i < before; i++)
		gone += m->list[i].gone;
	/* it runs another program, of which these calls are not */
	is_other = gone && gone == before;
	if (is_other) {
		m->count = before;
		m->area_count = 0;
		m->is_gone = true;
	}
	if (!is_other && !is_ending(pid))
		return gone;
	/* a process that ended meanwhile showed only a part: keep what was known */
	for (size_t i = 0; i < before; i++)
		m->list[i].gone = false;
	if (!is_other)
		take_history(m, images, pid);
	return false;
}

void gt_modules_inherit(struct gt_modules *m, const struct gt_modules *parent)
{
	for (size_t i = 0; i < parent->count; i++) {
		if (parent->list[i].gone)
			continue;
		GT_GROW(m->list, m->count, m->room);
		m->list[m->count] = parent->list[i];
		m->list[m->count++].is_defined = false;
	}
}

const struct gt_mapped *gt_modules_find(const struct gt_modules *m, uint64_t address)
{
	for (size_t i = 0; i < m->count; i++)
		if (!m->list[i].gone && address - m->list[i].start < m->list[i].size)
			return &m->list[i];
	return NULL;
}

void gt_modules_forget_gone(struct gt_modules *m, struct gt_writer *w)
{
	size_t kept = 0;

	for (size_t i = 0; i < m->count; i++) {
		if (!m->list[i].gone)
			m->list[kept++] = m->list[i];
		else if (m->list[i].is_defined && w)
			gt_writer_unload(w, m->list[i].number);
	}
	m->count = kept;
}

void gt_modules_write(struct gt_modules *m, struct gt_writer *w, uint32_t pid)
{
	gt_modules_forget_gone(m, w);
	for (size_t i = 0; i < m->count; i++) {
		struct gt_mapped *at = &m->list[i];

		if (at->is_defined)
			continue;
		at->number = m->next_number++;
		at->is_defined = true;
		gt_writer_module(w, at->number,
				 &(struct gt_module){ .start = at->start,
						      .size = at->size,
						      .bias = at->bias,
						      .path = gt_image_path(at->image, pid),
						      .build_id = at->image->build_id,
						      .build_id_size = at->image->build_id_size,
						      .file_size = at->image->file_size,
						      .mtime_ns = at->image->mtime_ns });
	}
}
