/* SPDX-License-Identifier: MIT */
/* loaded.c - what the objects of this process export, found without the loader's help. */
#include "guest/loaded.h"

#include <link.h>
#include <stdint.h>
#include <string.h>

struct search {
	const char *const *names;
	void **found;
	size_t count;
	unsigned long long before, adds;
};

/* The tables of an object that names are found by. */
struct tables {
	uintptr_t base;
	const ElfW(Sym) * symbols;
	const char *texts;
	const uint32_t *gnu_hash, *hash; /* one of the two is enough */
};

/* The loader has added the base to most of these numbers, but not to those it cannot write. */
static const void *table_at(uintptr_t base, ElfW(Addr) address)
{
	return (const void *)(address < base ? base + address : address);
}

static bool read_tables(struct tables *t, const struct dl_phdr_info *info)
{
	const ElfW(Dyn) *d = NULL;

	*t = (struct tables){ .base = info->dlpi_addr };
	for (int i = 0; i < info->dlpi_phnum; i++)
		if (info->dlpi_phdr[i].p_type == PT_DYNAMIC)
			d = (const void *)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
	for (; d && d->d_tag != DT_NULL; d++) {
		const void *table = table_at(t->base, d->d_un.d_ptr);

		switch (d->d_tag) {
		case DT_SYMTAB: t->symbols = table; break;
		case DT_STRTAB: t->texts = table; break;
		case DT_GNU_HASH: t->gnu_hash = table; break;
		case DT_HASH: t->hash = table; break;
		default: break;
		}
	}
	return t->symbols && t->texts && (t->gnu_hash || t->hash);
}

static void *address_of(const struct tables *t, uint32_t number, const char *name)
{
	const ElfW(Sym) *s = &t->symbols[number];
	unsigned type = ELF64_ST_TYPE(s->st_info);

	return s->st_shndx != SHN_UNDEF && (type == STT_FUNC || type == STT_OBJECT) &&
			       !strcmp(t->texts + s->st_name, name) ?
		       (void *)(t->base + s->st_value) :
		       NULL;
}

static uint32_t gnu_hash_of(const char *name)
{
	uint32_t hash = 5381;

	for (; *name; name++)
		hash = hash * 33 + (unsigned char)*name;
	return hash;
}

/* Words: buckets, first symbol, filter's words, filter's shift; the filter; buckets; chains. */
static void *find_by_gnu_hash(const struct tables *t, const char *name)
{
	enum { BITS = sizeof(ElfW(Addr)) * 8 };
	const uint32_t *h = t->gnu_hash;
	const ElfW(Addr) *filter = (const void *)(h + 4);
	const uint32_t *buckets = (const void *)(filter + h[2]), *chains = buckets + h[0];
	uint32_t hash = gnu_hash_of(name), i;
	ElfW(Addr) word;

	if (!h[0] || !h[2])
		return NULL;
	word = filter[hash / BITS % h[2]];
	if (!(word >> hash % BITS & word >> (hash >> h[3]) % BITS & 1))
		return NULL;
	i = buckets[hash % h[0]];
	for (; i >= h[1]; i++) {
		uint32_t other = chains[i - h[1]];
		void *address = (other | 1) == (hash | 1) ? address_of(t, i, name) : NULL;

		/* the lowest bit ends the chain */
		if (address || other & 1)
			return address;
	}
	return NULL;
}

static void *find_in(const struct tables *t, const char *name)
{
	void *address = NULL;

	if (t->gnu_hash)
		return find_by_gnu_hash(t, name);
	for (uint32_t i = 1; i < t->hash[1] && !address; i++)
		address = address_of(t, i, name);
	return address;
}

static int search_object(struct dl_phdr_info *info, size_t size, void *context)
{
	struct search *s = context;
	struct tables t;

	(void)size;
	s->adds = info->dlpi_adds;
	if (s->adds == s->before)
		return 1;
	if (!read_tables(&t, info))
		return 0;
	for (size_t i = 0; i < s->count; i++)
		if (!s->found[i])
			s->found[i] = find_in(&t, s->names[i]);
	return 0;
}

bool gt_loaded_find(const char *const *names, void **found, size_t count, unsigned long long *adds)
{
	struct search s = { .names = names, .found = found, .count = count, .before = *adds };

	memset(found, 0, count * sizeof *found);
	dl_iterate_phdr(search_object, &s);
	if (s.adds == *adds)
		return false;
	*adds = s.adds;
	return true;
}
