/* SPDX-License-Identifier: MIT */
/* python_image.c - the CPython in an executable or a library, by its exported symbols. */
#include "capture/ebpf/python_image.h"

#include <elf.h>
#include <string.h>
#include <unistd.h>

#include "base/machine.h"
#include "capture/ebpf/modules.h"

/* The file is foreign: every number in it is checked, and loops are bounded. */
enum { CHAIN_MAX = 4096, DYNAMIC_MAX = 512 };

struct symbols {
	const struct gt_image *image;
	int fd;
	uint64_t strings, table;         /* addresses */
	uint64_t bloom, buckets, chains; /* of the hash table */
	uint32_t bucket_count, first, bloom_words, bloom_shift;
};

/* Reads from where an address lies in the file. */
static bool read_at(const struct symbols *s, uint64_t address, void *to, size_t size)
{
	for (size_t i = 0; i < s->image->segment_count; i++) {
		const struct gt_segment *at = &s->image->segments[i];

		if (address >= at->address && address - at->address <= at->size &&
		    at->size - (address - at->address) >= size)
			return pread(s->fd, to, size,
				     (off_t)(at->offset + (address - at->address))) ==
			       (ssize_t)size;
	}
	return false;
}

static bool read_hash(struct symbols *s, uint64_t table)
{
	struct {
		uint32_t buckets, first, bloom_words, bloom_shift;
	} head;

	if (!read_at(s, table, &head, sizeof head) || !head.buckets || !head.bloom_words ||
	    head.bloom_words & (head.bloom_words - 1))
		return false;
	s->bucket_count = head.buckets;
	s->first = head.first;
	s->bloom_words = head.bloom_words;
	s->bloom_shift = head.bloom_shift & 31;
	s->bloom = table + sizeof head;
	s->buckets = s->bloom + (uint64_t)head.bloom_words * 8;
	s->chains = s->buckets + (uint64_t)head.buckets * 4;
	return true;
}

static bool open_symbols(struct symbols *s, const struct gt_image *image, int fd)
{
	Elf64_Dyn entries[DYNAMIC_MAX];
	uint64_t hash = 0;
	ssize_t size;

	*s = (struct symbols){ .image = image, .fd = fd };
	size = image->dynamic.size < sizeof entries ? (ssize_t)image->dynamic.size :
						      (ssize_t)sizeof entries;
	size = pread(fd, entries, (size_t)size, (off_t)image->dynamic.offset);
	for (ssize_t i = 0; i < size / (ssize_t)sizeof *entries; i++) {
		if (entries[i].d_tag == DT_NULL)
			break;
		if (entries[i].d_tag == DT_STRTAB)
			s->strings = entries[i].d_un.d_ptr;
		if (entries[i].d_tag == DT_SYMTAB)
			s->table = entries[i].d_un.d_ptr;
		if (entries[i].d_tag == DT_GNU_HASH)
			hash = entries[i].d_un.d_ptr;
	}
	return s->strings && s->table && hash && read_hash(s, hash);
}

static uint32_t hash_of(const char *name)
{
	uint32_t hash = 5381;

	while (*name)
		hash = hash * 33 + (unsigned char)*name++;
	return hash;
}

static bool is_named(const struct symbols *s, const Elf64_Sym *symbol, const char *name)
{
	char found[64];
	size_t size = strlen(name) + 1;

	return size <= sizeof found && read_at(s, s->strings + symbol->st_name, found, size) &&
	       !memcmp(found, name, size);
}

/* The address of a symbol that the file defines; 0: it does not. */
static uint64_t find_symbol(const struct symbols *s, const char *name)
{
	uint32_t hash = hash_of(name), index, value;
	uint64_t word;

	if (!read_at(s, s->bloom + 8 * ((hash / 64) & (s->bloom_words - 1)), &word, sizeof word) ||
	    !(word >> (hash & 63) & 1) || !(word >> (hash >> s->bloom_shift & 63) & 1) ||
	    !read_at(s, s->buckets + (uint64_t)(hash % s->bucket_count) * 4, &index,
		     sizeof index) ||
	    index < s->first)
		return 0;
	for (int i = 0; i < CHAIN_MAX; i++, index++) {
		Elf64_Sym symbol;

		if (!read_at(s, s->chains + (uint64_t)(index - s->first) * 4, &value, sizeof value))
			return 0;
		if ((value | 1) == (hash | 1) &&
		    read_at(s, s->table + (uint64_t)index * sizeof symbol, &symbol,
			    sizeof symbol) &&
		    symbol.st_shndx != SHN_UNDEF && is_named(s, &symbol, name))
			return symbol.st_value;
		if (value & 1)
			return 0;
	}
	return 0;
}

/* The minor version; 0: not of Python 3, or unknown. */
static unsigned version_of(const struct symbols *s)
{
	/* functions that a version was the first to have */
	static const struct {
		const char *name;
		unsigned minor;
	} signs[] = {
		{ "PyModule_AddObjectRef", 10 },
		{ "PyInterpreterState_Get", 9 },
		{ "PyCode_NewWithPosOnlyArgs", 8 },
	};
	uint64_t at = find_symbol(s, "Py_Version"), version; /* 3.11 */

	if (at)
		return read_at(s, at, &version, sizeof version) && version >> 24 == 3 ?
			       version >> 16 & 0xff :
			       0;
	for (size_t i = 0; i < sizeof signs / sizeof *signs; i++)
		if (find_symbol(s, signs[i].name))
			return signs[i].minor;
	return 0;
}

/*
 * glibc describes its own structures for debuggers: bits, number, offset; bytes. The thread pointer
 * points to the structure or, where GT_THREAD_IS_BEFORE, to its end.
 */
static int32_t read_specific(const struct symbols *s)
{
	uint64_t at = find_symbol(s, "_thread_db_pthread_specific");
	uint64_t size_at = find_symbol(s, "_thread_db_sizeof_pthread");
	uint32_t field[3], size = 0;

	if (GT_THREAD_IS_BEFORE && !(size_at && read_at(s, size_at, &size, sizeof size)))
		return 0;
	if (!at || !read_at(s, at, field, sizeof field) || field[2] >= 65536 || size >= 65536)
		return 0;
	return (int32_t)field[2] - (int32_t)size;
}

/* Modules in libraries call one of these when they are imported. */
static void find_entries(struct gt_python_image *p, const struct symbols *s)
{
	static const char *const names[] = { "PyModuleDef_Init", "PyModule_Create2" };

	for (size_t k = 0; k < 2; k++) {
		uint64_t at = find_symbol(s, names[k]);

		for (size_t i = 0; at && i < s->image->segment_count; i++) {
			const struct gt_segment *in = &s->image->segments[i];

			if (in->is_code && at - in->address < in->size) {
				p->entries[k].function = at;
				p->entries[k].offset = at - in->address + in->offset;
			}
		}
	}
}

static bool read_python(struct gt_python_image *p, const struct symbols *s)
{
	uint64_t published[GT_PYTHON_PUBLISHED];
	uint64_t function = find_symbol(s, "PyGILState_GetThisThreadState");

	p->runtime = find_symbol(s, "_PyRuntime");
	p->code_type = find_symbol(s, "PyCode_Type");
	if (!function || !p->runtime || !p->code_type)
		return false;
	for (size_t i = 0; i < s->image->segment_count; i++) {
		const struct gt_segment *at = &s->image->segments[i];

		if (at->is_code && function - at->address < at->size) {
			p->begin = at->address;
			p->end = at->address + at->size;
		}
	}
	/* up to 3.9 it is not in the file, and publishes nothing */
	if (!gt_python_layout_of(&p->layout, version_of(s),
				 read_at(s, p->runtime, published, sizeof published) ? published :
										       NULL))
		p->is_unsupported = true;
	find_entries(p, s);
	return true;
}

void gt_python_image_read(struct gt_image *image, int fd)
{
	struct gt_python_image *p = &image->python;
	struct symbols s;

	if (!open_symbols(&s, image, fd))
		return;
	p->specific = read_specific(&s);
	p->has_python = read_python(p, &s);
}

const struct gt_python_image *gt_python_find(const struct gt_modules *m, uint64_t *bias)
{
	for (size_t i = 0; i < m->count; i++) {
		const struct gt_python_image *p = &m->list[i].image->python;

		if (p->has_python && !p->is_unsupported && !m->list[i].gone) {
			*bias = m->list[i].bias;
			return p;
		}
	}
	return NULL;
}

static uint32_t highest(const uint16_t *offsets, size_t count)
{
	uint32_t most = 0;

	for (size_t i = 0; i < count; i++)
		if (offsets[i] > most)
			most = offsets[i];
	return (most & ~7u) + 8;
}

uint32_t gt_python_code_bytes(const struct gt_python_layout *l)
{
	return highest((const uint16_t[]){ l->file, l->name, l->lines, l->first_line }, 4);
}

bool gt_python_image_row(struct gt_probe_python *row, const struct gt_python_image *p,
			 uint64_t bias, int32_t specific)
{
	*row = (struct gt_probe_python){
		.runtime = p->runtime + bias,
		.code_type = p->code_type + bias,
		.specific = specific,
		.layout = p->layout,
	};
	row->frame_bytes = highest((const uint16_t[]){ p->layout.code, p->layout.previous,
						       p->layout.instruction, p->layout.owner },
				   4);
	row->code_bytes = gt_python_code_bytes(&p->layout);
	return row->frame_bytes <= GT_PYTHON_FRAME_WORDS * 8 &&
	       row->code_bytes <= GT_PYTHON_CODE_WORDS * 8;
}

bool gt_python_row(struct gt_probe_python *row, const struct gt_modules *m)
{
	uint64_t bias = 0;
	const struct gt_python_image *p = gt_python_find(m, &bias);
	int32_t specific = 0;

	for (size_t i = 0; i < m->count && !specific; i++)
		specific = m->list[i].gone ? 0 : m->list[i].image->python.specific;
	return p && (!p->layout.key || specific) && gt_python_image_row(row, p, bias, specific);
}
