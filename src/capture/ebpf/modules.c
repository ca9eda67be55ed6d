/* SPDX-License-Identifier: MIT */
/* modules.c - what a traced process has mapped where, told to its trace as it becomes known. */
#include "capture/ebpf/modules.h"

#include <stdlib.h>

#include "base/mem.h"
#include "capture/ebpf/mapped_libraries.h"

/* Nothing of a process lies below and above: the kernel keeps them free of mappings. */
#define LOWEST  0x10000ull
#define HIGHEST 0x00ffffffffffffffull

void gt_modules_fini(struct gt_modules *m)
{
	free(m->list);
	free(m->areas);
	*m = (struct gt_modules){ 0 };
}

static struct gt_mapped *find(const struct gt_modules *m, const struct gt_image *image,
			      uint64_t start)
{
	for (size_t i = 0; i < m->count; i++)
		if (m->list[i].image == image && m->list[i].start == start)
			return &m->list[i];
	return NULL;
}

static bool has_memory(uint32_t pid)
{
	struct gt_mappings maps;
	int e = gt_mappings_read(&maps, pid);

	gt_mappings_fini(&maps);
	return !e;
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

bool gt_modules_look(struct gt_modules *m, struct gt_images *images, uint32_t pid)
{
	struct gt_mappings maps;
	bool moved = false;
	size_t before = m->count;

	m->is_stale = false;
	m->is_gone = gt_mappings_read(&maps, pid);
	if (m->is_gone) {
		if (!images->heard)
			return false;
		/* gone: what is known of it holds, and what was heard besides */
		before = 0;
		gt_heard_of(&maps, images->heard, pid);
	} else {
		take_areas(m, &maps);
	}
	for (size_t i = 0; i < before; i++)
		m->list[i].gone = true;
	for (size_t i = 0; i < maps.count; i++) {
		const struct gt_mapping *at = &maps.list[i];
		struct gt_image *image = at->is_code ? gt_images_get(images, at, pid) : NULL;
		struct gt_mapped *known;
		uint64_t bias;

		if (!image)
			continue;
		bias = gt_image_bias(image, at);
		known = find(m, image, bias + image->low);
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
	for (size_t i = 0; i < before; i++)
		moved |= m->list[i].gone;
	gt_mappings_fini(&maps);
	/* a process that ended while we looked has shown only a part: what was known holds */
	if (moved && !has_memory(pid)) {
		for (size_t i = 0; i < before; i++)
			m->list[i].gone = false;
		moved = false;
	}
	return moved;
}

void gt_modules_inherit(struct gt_modules *m, const struct gt_modules *parent)
{
	for (size_t i = 0; i < parent->count; i++) {
		if (parent->list[i].gone)
			continue;
		GT_GROW(m->list, m->count, m->room);
		m->list[m->count] = parent->list[i];
		m->list[m->count++].told = false;
	}
}

const struct gt_mapped *gt_modules_find(const struct gt_modules *m, uint64_t address)
{
	for (size_t i = 0; i < m->count; i++)
		if (!m->list[i].gone && address - m->list[i].start < m->list[i].size)
			return &m->list[i];
	return NULL;
}

void gt_modules_tell(struct gt_modules *m, struct gt_writer *w, uint32_t pid)
{
	size_t kept = 0;

	for (size_t i = 0; i < m->count; i++)
		if (m->list[i].gone && m->list[i].told)
			gt_writer_unload(w, m->list[i].number);
	for (size_t i = 0; i < m->count; i++)
		if (!m->list[i].gone)
			m->list[kept++] = m->list[i];
	m->count = kept;
	for (size_t i = 0; i < m->count; i++) {
		struct gt_mapped *at = &m->list[i];

		if (at->told)
			continue;
		at->number = m->next_number++;
		at->told = true;
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
