/* SPDX-License-Identifier: MIT */
/*
 * statics.c - finds the static variables of device code.
 *
 * A cubin is an ELF file. Its variables are the objects in the sections .nv.global, .nv.global.init
 * and .nv.constant3; a bit of st_other marks the managed ones. Code that nvcc embedded is a wrapper
 * that points to a fat binary: cubins for several chips, which have the same variables, so one of
 * them is enough. Where all are compressed, the smallest is unpacked.
 */
#include "capture/cuda/statics.h"

#include <elf.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>

#include "api/cuda_abi.h"
#include "capture/cuda/unpack.h"

enum {
	MANAGED = 4,
	SYMBOLS_MAX = 1 << 20,
	UNPACKED_MAX = 8 << 20,      /* of a cubin, */
	UNPACKED_ALL_MAX = 64 << 20, /* and of a process: it takes the program's time */
};

struct cubin {
	const char *bytes;
	size_t size;
};

/* `size` bytes at an offset; NULL when the file is too short. */
static const void *part(const struct cubin *c, uint64_t offset, uint64_t size)
{
	return offset <= c->size && size <= c->size - offset ? c->bytes + offset : NULL;
}

/* A string of a string table; "" when there is none. A valid table ends in a zero. */
static const char *text_at(const struct cubin *c, const Elf64_Shdr *table, uint32_t offset)
{
	const char *text =
		offset < table->sh_size ? part(c, table->sh_offset, table->sh_size) : NULL;

	return text && !text[table->sh_size - 1] ? text + offset : "";
}

static bool section_at(const struct cubin *c, const Elf64_Ehdr *head, unsigned index,
		       Elf64_Shdr *section)
{
	const void *at = index < head->e_shnum && head->e_shentsize >= sizeof *section ?
				 part(c, head->e_shoff + (uint64_t)index * head->e_shentsize,
				      sizeof *section) :
				 NULL;

	if (at)
		memcpy(section, at, sizeof *section);
	return at;
}

static bool holds_variables(const struct cubin *c, const Elf64_Ehdr *head, unsigned index)
{
	static const char *const sections[] = { ".nv.global", ".nv.global.init", ".nv.constant3" };
	Elf64_Shdr section, names;
	const char *name;

	if (!section_at(c, head, index, &section) || !section_at(c, head, head->e_shstrndx, &names))
		return false;
	name = text_at(c, &names, section.sh_name);
	for (size_t i = 0; i < sizeof sections / sizeof *sections; i++)
		if (!strcmp(name, sections[i]))
			return true;
	return false;
}

/* `left` limits the symbols read in all: a damaged file's tables may overlap. */
static void each_symbol(const struct cubin *c, const Elf64_Ehdr *head, const Elf64_Shdr *symbols,
			uint32_t *left, gt_cuda_variable_fn *each, void *context)
{
	uint64_t count = symbols->sh_size / sizeof(Elf64_Sym);
	Elf64_Shdr names;

	if (!section_at(c, head, symbols->sh_link, &names))
		return;
	for (uint64_t i = 0; i < count && *left; i++, --*left) {
		const void *at =
			part(c, symbols->sh_offset + i * sizeof(Elf64_Sym), sizeof(Elf64_Sym));
		Elf64_Sym symbol;

		if (!at)
			return;
		memcpy(&symbol, at, sizeof symbol);
		if (ELF64_ST_TYPE(symbol.st_info) == STT_OBJECT && symbol.st_size &&
		    holds_variables(c, head, symbol.st_shndx))
			each(context,
			     &(struct gt_cuda_variable){ .name = text_at(c, &names, symbol.st_name),
							 .index = (uint32_t)i,
							 .bytes = symbol.st_size,
							 .managed = symbol.st_other & MANAGED });
	}
}

void gt_cuda_variables(const void *bytes, size_t size, gt_cuda_variable_fn *each, void *context)
{
	struct cubin c = { bytes, size };
	uint32_t left = SYMBOLS_MAX;
	Elf64_Shdr section;
	Elf64_Ehdr head;

	if (!bytes || size < sizeof head)
		return;
	memcpy(&head, bytes, sizeof head);
	if (memcmp(head.e_ident, ELFMAG, SELFMAG) || head.e_ident[EI_CLASS] != ELFCLASS64)
		return;
	for (unsigned i = 0; section_at(&c, &head, i, &section); i++)
		if (section.sh_type == SHT_SYMTAB)
			each_symbol(&c, &head, &section, &left, each, context);
}

/* The header of a fat binary, and that of each entry; data of `bytes` follows the latter. */
struct fat_header {
	uint32_t magic;
	uint16_t version, size;
	uint64_t bytes;
};

struct fat_entry {
	uint16_t kind, attributes;
	uint32_t size;
	uint64_t bytes;
	uint32_t packed_bytes; /* 0: not compressed */
	uint32_t more[5];      /* address size, version, chip, where its name lies */
	uint64_t flags;
	uint64_t reserved;
	uint64_t unpacked_bytes;
};

enum { FAT_MAGIC = 0xba55ed50u, FAT_CUBIN = 2, FAT_LZ4 = 1 << 13, FAT_ZSTD = 1 << 15 };

static int64_t unpack(struct gt_zstd *work, char *to, const struct fat_entry *entry,
		      const char *data)
{
	return entry->flags & FAT_ZSTD ?
		       gt_zstd_unpack(work, to, entry->unpacked_bytes, data, entry->packed_bytes) :
		       gt_lz4_unpack(to, entry->unpacked_bytes, data, entry->packed_bytes);
}

static void packed_variables(const struct fat_entry *entry, const char *data,
			     gt_cuda_variable_fn *each, void *context)
{
	static _Atomic uint64_t unpacked;
	size_t room = gt_zstd_bytes + entry->unpacked_bytes;
	int64_t size;
	char *memory;

	if (atomic_fetch_add(&unpacked, entry->unpacked_bytes) > UNPACKED_ALL_MAX)
		return;
	memory = mmap(NULL, room, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (memory == MAP_FAILED)
		return;
	size = unpack((struct gt_zstd *)memory, memory + gt_zstd_bytes, entry, data);
	if (size > 0)
		gt_cuda_variables(memory + gt_zstd_bytes, (size_t)size, each, context);
	munmap(memory, room);
}

static bool can_unpack(const struct fat_entry *entry)
{
	return entry->size >= sizeof *entry && entry->flags & (FAT_LZ4 | FAT_ZSTD) &&
	       entry->packed_bytes <= entry->bytes && entry->unpacked_bytes <= UNPACKED_MAX;
}

static void fat_variables(const char *fat, gt_cuda_variable_fn *each, void *context)
{
	const size_t least = offsetof(struct fat_entry, more);
	struct fat_entry entry, best = { .unpacked_bytes = UINT64_MAX };
	const char *best_data = NULL;
	struct fat_header head;

	memcpy(&head, fat, sizeof head);
	for (uint64_t at = 0; at + least <= head.bytes; at += entry.size + entry.bytes) {
		const char *data = fat + head.size + at;

		memset(&entry, 0, sizeof entry);
		memcpy(&entry, data, head.bytes - at < sizeof entry ? least : sizeof entry);
		if (entry.size < least || entry.size > head.bytes - at ||
		    entry.bytes > head.bytes - at - entry.size)
			break;
		if (entry.kind != FAT_CUBIN)
			continue;
		if (!entry.packed_bytes) {
			gt_cuda_variables(data + entry.size, entry.bytes, each, context);
			return;
		}
		if (can_unpack(&entry) && entry.unpacked_bytes < best.unpacked_bytes) {
			best = entry;
			best_data = data + entry.size;
		}
	}
	if (best_data)
		packed_variables(&best, best_data, each, context);
}

/* The section headers are the end of a cubin as compilers write it. */
static uint64_t cubin_size(const char *bytes)
{
	Elf64_Ehdr head;

	memcpy(&head, bytes, sizeof head);
	return head.e_shoff + (uint64_t)head.e_shnum * head.e_shentsize;
}

void gt_cuda_file_variables(const void *bytes, size_t size, gt_cuda_variable_fn *each,
			    void *context)
{
	struct fat_header head = { 0 };

	memcpy(&head, bytes, size < sizeof head ? size : sizeof head);
	if (head.magic != FAT_MAGIC)
		gt_cuda_variables(bytes, size, each, context);
	else if (head.size >= sizeof head && head.size <= size && head.bytes <= size - head.size)
		fat_variables(bytes, each, context);
}

void gt_cuda_image_variables(const void *image, gt_cuda_variable_fn *each, void *context)
{
	struct {
		uint32_t magic, version;
		const char *data;
	} wrapper;
	uint32_t magic;

	memcpy(&magic, image, sizeof magic);
	if (magic == GT_CUDA_CODE_WRAPPER) {
		memcpy(&wrapper, image, sizeof wrapper);
		image = wrapper.data;
		if (!image)
			return;
		memcpy(&magic, image, sizeof magic);
	}
	if (magic == FAT_MAGIC)
		fat_variables(image, each, context);
	else if (!memcmp(&magic, ELFMAG, SELFMAG))
		gt_cuda_variables(image, cubin_size(image), each, context);
}
