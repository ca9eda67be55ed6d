/* SPDX-License-Identifier: MIT */
/* own_modules.c - tells the trace which executables and libraries are mapped where. */
#include "guest/own_modules.h"

#include <elf.h>
#include <limits.h>
#include <link.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "guest/foreign.h"

/* Defined modules; guarded by the writer's lock, under which gt_modules_define runs. */
struct known {
	uint64_t start, size;
	uint32_t number;
};

static struct known *known;
static size_t known_count, known_room;
static uint32_t next_number;
static _Atomic uint64_t adds_seen, subs_seen;
static _Atomic uint64_t subs_told; /* by gt_modules_unloaded */

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

/* False where the loader cannot be asked. */
static bool ask_loader(int (*fn)(struct dl_phdr_info *, size_t, void *), void *context)
{
	_Atomic uint32_t *place = gt_foreign_enter();

	if (!place)
		return false;
	dl_iterate_phdr(fn, context);
	gt_foreign_leave(place);
	return true;
}

bool gt_modules_unloaded(void)
{
	struct counters now = { 0 };

	return ask_loader(read_counters, &now) && atomic_exchange(&subs_told, now.subs) != now.subs;
}

void gt_modules_restart(void)
{
	known_count = 0;
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

/* The file behind a loaded object, absolute. The main program has no name of its own. */
static void find_file(const struct dl_phdr_info *info, struct gt_module *m, char path[PATH_MAX])
{
	struct stat st;
	ssize_t n;

	if (!info->dlpi_name[0]) {
		n = readlink("/proc/self/exe", path, PATH_MAX - 1);
		path[n > 0 ? n : 0] = '\0';
	} else if (!realpath(info->dlpi_name, path)) {
		strncpy(path, info->dlpi_name, PATH_MAX - 1);
		path[PATH_MAX - 1] = '\0';
	}
	m->path = path;
	if (path[0] == '/' && !stat(path, &st)) {
		m->file_size = (uint64_t)st.st_size;
		m->mtime_ns = (int64_t)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec;
	}
}

static bool is_known(uint64_t start, uint64_t size)
{
	for (size_t i = 0; i < known_count; i++)
		if (known[i].start == start && known[i].size == size)
			return true;
	return false;
}

static bool remember(uint64_t start, uint64_t size, uint32_t number)
{
	if (known_count == known_room) {
		size_t room = known_room ? known_room * 2 : 64;
		struct known *more = realloc(known, room * sizeof *known);

		if (!more)
			return false;
		known = more;
		known_room = room;
	}
	known[known_count++] = (struct known){ start, size, number };
	return true;
}

static int visit(struct dl_phdr_info *info, size_t info_size, void *context)
{
	struct gt_module m = { .bias = info->dlpi_addr };
	uint64_t low = UINT64_MAX, high = 0;
	char path[PATH_MAX];

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
	if (is_known(m.start, m.size))
		return 0;
	find_file(info, &m, path);
	if (remember(m.start, m.size, next_number))
		gt_writer_module(context, next_number++, &m);
	return 0;
}

void gt_modules_define(struct gt_writer *w, void *unused)
{
	struct counters now = { 0 };

	(void)unused;
	if (!ask_loader(read_counters, &now) ||
	    (now.adds == atomic_load(&adds_seen) && now.subs == atomic_load(&subs_seen)))
		return;
	/* another library may lie where an unloaded one did: all are told anew */
	if (now.subs != atomic_load(&subs_seen)) {
		for (size_t i = 0; i < known_count; i++)
			gt_writer_unload(w, known[i].number);
		known_count = 0;
	}
	if (!ask_loader(visit, w))
		return;
	atomic_store(&adds_seen, now.adds);
	atomic_store(&subs_seen, now.subs);
}
