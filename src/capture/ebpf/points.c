/* SPDX-License-Identifier: MIT */
/* points.c - where in a file the functions lie that are probed. */
#include "capture/ebpf/points.h"

#include <gelf.h>
#include <string.h>

#include "base/files.h"
#include "base/text.h"
#include "capture/ebpf/pool_calls.h"

/* Functions that a file must define to count as the library: fewer may be a program's wrappers. */
enum { SEVERAL = 4 };

/* How the names of the functions begin: programs have hundreds of thousands of others. */
static const char *const prefixes[GT_API_COUNT] = {
	[GT_CUDA] = "cu",
	[GT_LEVELZERO] = "ze",
	[GT_OPENCL] = "cl",
	[GT_PYTORCH] = "_ZN3c10",
	[GT_OWN_POOL] = "gputrack_pool_",
};

/* The row of a function of this API; GT_FN_NONE when it is not probed. */
static uint16_t row_of(enum gt_api api, const char *name)
{
	struct gt_plan plan;

	if (api == GT_PYTORCH)
		return (uint16_t)gt_pool_function(name);
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

/* One table of symbols. */
static void take_symbols(Elf *elf, Elf_Data *data, const GElf_Shdr *head, uint64_t size,
			 enum gt_api api, struct gt_probe_point *points, size_t *count)
{
	for (size_t i = 0; i < head->sh_size / head->sh_entsize; i++) {
		const char *name;
		uint64_t offset;
		GElf_Sym symbol;
		uint16_t row;

		if (!gelf_getsym(data, (int)i, &symbol) || symbol.st_shndx == SHN_UNDEF ||
		    GELF_ST_TYPE(symbol.st_info) != STT_FUNC)
			continue;
		name = elf_strptr(elf, head->sh_link, symbol.st_name);
		if (!name || !gt_text_begins(name, prefixes[api]))
			continue;
		row = gt_plan_unrecorded(api, name);
		if (!row)
			row = row_of(api, name);
		if (row != GT_FN_NONE && offset_of(elf, size, symbol.st_value, &offset))
			add_point(points, count, offset, row);
	}
}

size_t gt_points_find(int fd, uint64_t size, enum gt_api api, enum gt_point_symbols which,
		      struct gt_probe_point points[GT_POINTS_MAX])
{
	Elf *elf = elf_version(EV_CURRENT) == EV_NONE || !gt_elf_is_bounded(fd) ?
			   NULL :
			   elf_begin(fd, ELF_C_READ_MMAP, NULL);
	Elf_Scn *section = NULL;
	size_t count = 0;

	while (elf && (section = elf_nextscn(elf, section))) {
		GElf_Shdr head;
		Elf_Data *data;

		if (!gelf_getshdr(section, &head) ||
		    (head.sh_type != SHT_DYNSYM &&
		     (head.sh_type != SHT_SYMTAB || which != GT_POINTS_ALL)) ||
		    !head.sh_entsize || !(data = elf_getdata(section, NULL)))
			continue;
		take_symbols(elf, data, &head, size, api, points, &count);
	}
	elf_end(elf);
	return count;
}

int gt_points_api(int fd, uint64_t size)
{
	static struct gt_probe_point points[GT_POINTS_MAX];
	size_t most = SEVERAL - 1;
	int found = -1;

	for (int api = 0; api < GT_API_COUNT; api++) {
		size_t count = gt_points_find(fd, size, (enum gt_api)api, GT_POINTS_ALL, points);

		if (count > most) {
			most = count;
			found = api;
		}
	}
	return found;
}
