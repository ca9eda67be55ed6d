/* SPDX-License-Identifier: MIT */
/* elf_file.c - ELF files that a recording names: opened safely, and their functions. */
#include "symbol/elf_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <elfutils/libdwelf.h>
#include <gelf.h>
#include <libelf.h>
#include <zlib.h>

#include "base/files.h"
#include "base/mem.h"

int gt_elf_open(const char *path, struct stat *status)
{
	int fd;

	/* before the open, which can have side effects on a device */
	if (stat(path, status) < 0)
		return -errno;
	if (!S_ISREG(status->st_mode))
		return -EINVAL;
	fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
	if (fd < 0)
		return -errno;
	/* again: the path may name another file by now */
	if (fstat(fd, status) == 0 && S_ISREG(status->st_mode))
		return fd;
	close(fd);
	return -EINVAL;
}

static bool fits(uint64_t offset, uint64_t size, const struct stat *status)
{
	uint64_t file_bytes = status->st_size;

	return offset <= file_bytes && size <= file_bytes - offset;
}

/* A truncated copy lacks its end, which is where the section headers are. */
static bool is_whole(Elf *elf, const struct stat *status)
{
	size_t sections, segments;
	GElf_Ehdr header;

	if (elf_kind(elf) != ELF_K_ELF || !gelf_getehdr(elf, &header))
		return false;
	/* dwz marks its files as relocatable */
	if (header.e_type != ET_EXEC && header.e_type != ET_DYN && header.e_type != ET_REL)
		return false;
	if (elf_getshdrnum(elf, &sections) < 0 || elf_getphdrnum(elf, &segments) < 0)
		return false;
	/* libelf shows a table that lies past the end as an empty one */
	if ((header.e_shoff && !sections) || (header.e_phoff && !segments))
		return false;
	return fits(header.e_shoff, (uint64_t)sections * header.e_shentsize, status) &&
	       fits(header.e_phoff, (uint64_t)segments * header.e_phentsize, status);
}

static Elf *begin(int fd)
{
	elf_version(EV_CURRENT);
	return gt_elf_is_bounded(fd) ? elf_begin(fd, ELF_C_READ_MMAP, NULL) : NULL;
}

int gt_elf_check(int fd, const struct stat *status)
{
	Elf *elf = begin(fd);
	bool whole = elf && is_whole(elf, status);

	elf_end(elf);
	return whole ? 0 : -ENOEXEC;
}

bool gt_elf_has_build_id(int fd, const uint8_t *id, size_t id_size)
{
	Elf *elf = begin(fd);
	const void *found;
	ssize_t size = elf ? dwelf_elf_gnu_build_id(elf, &found) : 0;
	bool same = size > 0 && (size_t)size == id_size && memcmp(found, id, id_size) == 0;

	elf_end(elf);
	return same;
}

static void look_at_section(struct gt_elf_contents *out, Elf *elf, size_t names, Elf_Scn *section)
{
	GElf_Shdr header;
	const char *name =
		gelf_getshdr(section, &header) ? elf_strptr(elf, names, header.sh_name) : NULL;

	if (!name || header.sh_type == SHT_NOBITS)
		return;
	out->has_code |= (header.sh_flags & SHF_EXECINSTR) != 0;
	out->has_names |= header.sh_type == SHT_SYMTAB;
	out->has_debug |= !strcmp(name, ".debug_info") || !strcmp(name, ".zdebug_info");
}

bool gt_elf_look(struct gt_elf_contents *out, int fd)
{
	Elf *elf = begin(fd);
	Elf_Scn *section = NULL;
	const void *id;
	ssize_t size = elf ? dwelf_elf_gnu_build_id(elf, &id) : 0;
	size_t names;

	*out = (struct gt_elf_contents){ .build_id_size = 0 };
	if (size > 0 && (size_t)size <= sizeof(out->build_id)) {
		memcpy(out->build_id, id, size);
		out->build_id_size = size;
		while (elf_getshdrstrndx(elf, &names) == 0 && (section = elf_nextscn(elf, section)))
			look_at_section(out, elf, names, section);
	}
	elf_end(elf);
	return out->build_id_size > 0;
}

int gt_elf_checksum(uint32_t *out, int fd)
{
	unsigned char buffer[64 * 1024];
	uLong sum = 0;
	off_t at = 0;
	ssize_t got;

	while ((got = pread(fd, buffer, sizeof(buffer), at)) > 0) {
		sum = crc32(sum, buffer, (uInt)got);
		at += got;
	}
	if (got < 0)
		return -errno;
	*out = (uint32_t)sum;
	return 0;
}

/* One entry of the table as libdwfl hands it out. */
struct entry {
	const char *name;
	GElf_Sym symbol;
	GElf_Addr address;
	GElf_Word section;
	Elf *elf;
	Dwarf_Addr bias;
};

static bool get_entry(struct entry *e, Dwfl_Module *module, int i)
{
	e->name = dwfl_module_getsym_info(module, i, &e->symbol, &e->address, &e->section, &e->elf,
					  &e->bias);
	return e->name && e->name[0] && e->elf;
}

static bool get_section(GElf_Shdr *header, const struct entry *e)
{
	Elf_Scn *section = elf_getscn(e->elf, e->section);

	return section && gelf_getshdr(section, header);
}

static bool is_function(const struct entry *e)
{
	GElf_Shdr section;

	if (e->section == SHN_UNDEF)
		return false;
	switch (GELF_ST_TYPE(e->symbol.st_info)) {
	case STT_FUNC:
	case STT_GNU_IFUNC: return true;
	case STT_NOTYPE:
		/* written in assembly; "$x" marks where Arm code begins */
		return e->name[0] != '$' && e->name[0] != '.' && get_section(&section, e) &&
		       (section.sh_flags & SHF_EXECINSTR);
	default: return false;
	}
}

/* Of several names for one address, prefer the one a reader knows: malloc, not __libc_malloc. */
static uint32_t rank_of(const struct entry *e)
{
	uint32_t rank = e->name[0] != '_';

	switch (GELF_ST_BIND(e->symbol.st_info)) {
	case STB_GLOBAL: return rank + 4;
	case STB_WEAK: return rank + 2;
	default: return rank;
	}
}

static void add(struct gt_elf_symbols *symbols, const char *name, const struct gt_span *span)
{
	struct gt_span own = *span;

	GT_GROW(symbols->names, symbols->count, symbols->capacity);
	own.index = symbols->count;
	symbols->names[symbols->count++] = name;
	gt_spans_add(&symbols->spans, &own);
}

static void add_sized(struct gt_elf_symbols *symbols, Dwfl_Module *module, int count)
{
	struct entry e;

	for (int i = 1; i < count; i++) {
		struct gt_span span;

		if (!get_entry(&e, module, i) || !e.symbol.st_size || !is_function(&e))
			continue;
		span = (struct gt_span){ .start = e.address, .rank = rank_of(&e) };
		if (!__builtin_add_overflow(e.address, e.symbol.st_size, &span.end))
			add(symbols, e.name, &span);
	}
}

/* Symbols without a size extend to the next function, and only fill gaps. */
static void add_unsized(struct gt_elf_symbols *symbols, Dwfl_Module *module, int count)
{
	struct gt_elf_symbols labels = { .count = 0 };
	GElf_Shdr section;
	struct entry e;

	for (int i = 1; i < count; i++) {
		uint64_t end, next;

		if (!get_entry(&e, module, i) || e.symbol.st_size || !is_function(&e))
			continue;
		if (!get_section(&section, &e) || gt_spans_find(&symbols->spans, e.address))
			continue;
		end = section.sh_addr + section.sh_size + e.bias;
		next = gt_spans_next(&symbols->spans, e.address);
		add(&labels, e.name,
		    &(struct gt_span){
			    .start = e.address,
			    .end = end < next ? end : next,
			    .rank = rank_of(&e),
		    });
	}
	for (size_t i = 0; i < labels.spans.count; i++) {
		const struct gt_span *span = &labels.spans.list[i];

		add(symbols, labels.names[span->index], span);
	}
	gt_elf_symbols_fini(&labels);
}

void gt_elf_symbols_load(struct gt_elf_symbols *symbols, Dwfl_Module *module)
{
	int count = dwfl_module_getsymtab(module);

	add_sized(symbols, module, count);
	gt_spans_sort(&symbols->spans);
	add_unsized(symbols, module, count);
	gt_spans_sort(&symbols->spans);
}

const char *gt_elf_symbols_find(const struct gt_elf_symbols *symbols, uint64_t address)
{
	const struct gt_span *span = gt_spans_find(&symbols->spans, address);

	return span ? symbols->names[span->index] : NULL;
}

void gt_elf_symbols_fini(struct gt_elf_symbols *symbols)
{
	gt_spans_fini(&symbols->spans);
	free(symbols->names);
	memset(symbols, 0, sizeof(*symbols));
}
