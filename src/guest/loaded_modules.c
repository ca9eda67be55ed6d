/* SPDX-License-Identifier: MIT */
/* loaded_modules.c - the modules of this process: where they are, what they export. */
#include "guest/loaded_modules.h"

#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/guest_file.h"
#include "base/table_memory.h"
#include "guest/fork_guard.h"

/* Modules in the trace; guarded by the writer's lock, which is held in gt_modules_define. */
struct defined {
	uint64_t start, size;
	uint32_t number;
};

static struct defined *defined;
static size_t defined_count, defined_room;
static uint32_t next_number;
static _Atomic uint64_t adds_seen, subs_seen;
static _Atomic uint64_t subs_reported; /* by gt_modules_unloaded */

struct counters {
	uint64_t adds, subs;
};

static int read_counters(struct dl_phdr_info *info, size_t size, void *context)
{
	struct counters *c = context;

	(void)size;
	c->adds = info->dlpi_adds;
	c->subs = info->dlpi_subs;
	return 1;
}

/* False when the loader's lock may be held for ever. */
static bool iterate_modules(int (*fn)(struct dl_phdr_info *, size_t, void *), void *context)
{
	_Atomic uint32_t *guard = gt_fork_guard_enter();

	if (!guard)
		return false;
	dl_iterate_phdr(fn, context);
	gt_fork_guard_leave(guard);
	return true;
}

bool gt_modules_unloaded(void)
{
	struct counters now = { 0 };

	return iterate_modules(read_counters, &now) &&
	       atomic_exchange(&subs_reported, now.subs) != now.subs;
}

void gt_modules_restart(void)
{
	defined_count = 0;
	next_number = 0;
	atomic_store(&adds_seen, 0);
}

static void read_build_id(const struct dl_phdr_info *info, const ElfW(Phdr) * note,
			  struct gt_module *m)
{
	const char *at = (const char *)(info->dlpi_addr + note->p_vaddr), *end = at + note->p_memsz;

	while (end - at >= (ptrdiff_t)sizeof(ElfW(Nhdr))) {
		const ElfW(Nhdr) *n = (const ElfW(Nhdr) *)at;
		size_t name = (n->n_namesz + 3) & ~(size_t)3, desc = (n->n_descsz + 3) & ~(size_t)3;

		if (name + desc > (size_t)(end - at) - sizeof *n)
			return;
		if (n->n_type == NT_GNU_BUILD_ID && n->n_namesz == 4 && !memcmp(n + 1, "GNU", 4) &&
		    n->n_descsz <= 64) {
			m->build_id = (const uint8_t *)(n + 1) + name;
			m->build_id_size = n->n_descsz;
			return;
		}
		at += sizeof *n + name + desc;
	}
}

/* Set where the program was started through its loader, as in `ld.so ./app`. */
static char loaded_program[PATH_MAX];

static int first_headers(struct dl_phdr_info *info, size_t size, void *context)
{
	(void)size;
	*(uint64_t *)context = (uint64_t)(uintptr_t)info->dlpi_phdr;
	return 1;
}

/* The file of the mapping that contains an address; false in a line of another one. */
static bool read_mapping(const char *line, uint64_t address, char path[PATH_MAX])
{
	char *at;
	uint64_t begin = strtoull(line, &at, 16), end;
	const char *name = strchr(line, '/');

	end = *at == '-' ? strtoull(at + 1, NULL, 16) : 0;
	if (address < begin || address >= end)
		return false;
	if (name)
		strncpy(path, name, PATH_MAX - 1);
	return true;
}

/* Then /proc/self/exe is the loader, and the kernel did not load another one for the program. */
__attribute__((constructor)) static void find_loaded_program(void)
{
	static char text[2 * PATH_MAX];
	uint64_t address = 0;
	size_t used = 0;
	ssize_t n;
	int fd;

	if (getauxval(AT_BASE) || !dl_iterate_phdr(first_headers, &address))
		return;
	fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
	while (fd >= 0 && (n = read(fd, text + used, sizeof text - 1 - used)) > 0) {
		char *line = text, *end;

		text[used += (size_t)n] = '\0';
		for (; (end = strchr(line, '\n')); line = end + 1) {
			*end = '\0';
			if (read_mapping(line, address, loaded_program))
				goto close_file;
		}
		used -= (size_t)(line - text);
		memmove(text, line, used);
	}
close_file:
	if (fd >= 0)
		close(fd);
}

void gt_modules_program(char *path)
{
	ssize_t n;

	if (loaded_program[0]) {
		memcpy(path, loaded_program, sizeof loaded_program);
		return;
	}
	n = readlink("/proc/self/exe", path, PATH_MAX - 1);
	path[n > 0 ? n : 0] = '\0';
}

static struct gt_real_path work; /* guarded by the writer's lock, too */

/* The absolute path of a module's file. The main program comes without a name. */
static __attribute__((noinline)) void find_path(const struct dl_phdr_info *info,
						struct gt_module *m)
{
	bool is_found;

	m->path = work.path;
	if (info->dlpi_name[0]) {
		is_found = gt_real_path_find(&work, info->dlpi_name);
		if (!is_found)
			m->path = info->dlpi_name;
	} else {
		gt_modules_program(work.path);
		is_found = work.path[0] == '/' && !stat(work.path, &work.status);
	}
	if (is_found) {
		m->file_size = (uint64_t)work.status.st_size;
		m->mtime_ns = (int64_t)work.status.st_mtim.tv_sec * 1000000000 +
			      work.status.st_mtim.tv_nsec;
	}
}

static bool is_defined(uint64_t start, uint64_t size)
{
	for (size_t i = 0; i < defined_count; i++)
		if (defined[i].start == start && defined[i].size == size)
			return true;
	return false;
}

static bool add_defined(uint64_t start, uint64_t size, uint32_t number)
{
	if (defined_count == defined_room) {
		size_t room = defined_room ? defined_room * 2 : 64;
		struct defined *more = gt_table_resize(defined, room * sizeof *defined);

		if (!more)
			return false;
		defined = more;
		defined_room = room;
	}
	defined[defined_count++] = (struct defined){ start, size, number };
	return true;
}

static int define_module(struct dl_phdr_info *info, size_t info_size, void *context)
{
	struct gt_module m = { .bias = info->dlpi_addr };
	uint64_t low = UINT64_MAX, high = 0;

	(void)info_size;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];

		if (p->p_type == PT_NOTE && !m.build_id)
			read_build_id(info, p, &m);
		if (p->p_type != PT_LOAD)
			continue;
		low = p->p_vaddr < low ? p->p_vaddr : low;
		high = p->p_vaddr + p->p_memsz > high ? p->p_vaddr + p->p_memsz : high;
	}
	if (low >= high)
		return 0;
	m.start = info->dlpi_addr + low;
	m.size = high - low;
	if (is_defined(m.start, m.size))
		return 0;
	find_path(info, &m);
	if (add_defined(m.start, m.size, next_number))
		gt_writer_module(context, next_number++, &m);
	return 0;
}

void gt_modules_define(struct gt_writer *w, void *unused)
{
	struct counters now = { 0 };

	(void)unused;
	if (!iterate_modules(read_counters, &now) ||
	    (now.adds == atomic_load(&adds_seen) && now.subs == atomic_load(&subs_seen)))
		return;
	/* a new library may lie where an unloaded one did: define all of them again */
	if (now.subs != atomic_load(&subs_seen)) {
		for (size_t i = 0; i < defined_count; i++)
			gt_writer_unload(w, defined[i].number);
		defined_count = 0;
	}
	work.folder[0] = '\0'; /* it may lead elsewhere by now */
	if (!iterate_modules(define_module, w))
		return;
	atomic_store(&adds_seen, now.adds);
	atomic_store(&subs_seen, now.subs);
}

/* A search for symbols, through one module after another. */
struct search {
	const char *const *names;
	void **found;
	size_t count;
	unsigned long long before, adds;
};

/* The tables of a module by which symbols are found. */
struct tables {
	uintptr_t base;
	const ElfW(Sym) * symbols;
	const char *texts;
	const uint32_t *gnu_hash, *hash; /* one of them suffices */
};

/* The loader adds the base to the addresses in the dynamic section, unless that is read-only. */
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

/* Layout: bucket count, first symbol, filter words, filter shift; filter; buckets; chains. */
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

static void *find_symbol(const struct tables *t, const char *name)
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
			s->found[i] = find_symbol(&t, s->names[i]);
	return 0;
}

bool gt_modules_find_symbols(const char *const *names, void **found, size_t count,
			     unsigned long long *adds)
{
	struct search s = { .names = names, .found = found, .count = count, .before = *adds };

	memset(found, 0, count * sizeof *found);
	dl_iterate_phdr(search_object, &s);
	if (s.adds == *adds)
		return false;
	*adds = s.adds;
	return true;
}
