/* SPDX-License-Identifier: MIT */
/* mapwatch.c - the mappings of code by any process, from perf's records, and their history. */
#include "capture/ebpf/mapwatch.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/text.h"

enum {
	PAGES_LEAST = 32, /* of a processor's ring … */
	PAGES_MOST = 128,
	PAGES_ALL = 1024, /* … and of all together, if that many suffice */
	RECORD_MAX = 8192,
};

struct gt_mapwatch_cpu {
	int fd;
	size_t pages; /* of the ring: a power of two */
	struct perf_event_mmap_page *head;
};

/* PERF_RECORD_MMAP2, up to its path. */
struct mapped {
	struct perf_event_header head;
	uint32_t pid, tid;
	uint64_t address, size, offset;
	uint32_t major, minor;
	uint64_t inode, generation;
	uint32_t rights, flags;
	char path[];
};

static size_t page_size(void)
{
	return (size_t)sysconf(_SC_PAGESIZE);
}

static int open_cpu(struct gt_mapwatch_cpu *c, int cpu)
{
	/* clang-format off */
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE, .size = sizeof attr, .config = PERF_COUNT_SW_DUMMY,
		.sample_period = 1, .mmap = 1, .mmap2 = 1, .watermark = 1,
		.wakeup_watermark = (uint32_t)(c->pages / 2 * page_size()), .exclude_kernel = 1,
	};
	/* clang-format on */
	void *at;

	c->fd = (int)syscall(SYS_perf_event_open, &attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);
	if (c->fd < 0)
		return -errno;
	at = mmap(NULL, (c->pages + 1) * page_size(), PROT_READ | PROT_WRITE, MAP_SHARED, c->fd, 0);
	if (at == MAP_FAILED) {
		int e = -errno;

		close(c->fd);
		return e;
	}
	c->head = at;
	return 0;
}

int gt_mapwatch_open(struct gt_mapwatch *w)
{
	long cpus = sysconf(_SC_NPROCESSORS_CONF);
	size_t pages = PAGES_MOST;
	int e = 0;

	while (pages > PAGES_LEAST && pages * (size_t)cpus > PAGES_ALL)
		pages /= 2;

	*w = (struct gt_mapwatch){ .cpus = gt_alloc((size_t)cpus * sizeof *w->cpus) };
	for (int i = 0; i < cpus; i++) {
		w->cpus[w->count].pages = pages;
		e = open_cpu(&w->cpus[w->count], i);
		/* a processor that is switched off has no events */
		if (e == -ENODEV || e == -ENXIO)
			continue;
		if (e) {
			gt_mapwatch_close(w);
			return e;
		}
		w->count++;
	}
	return 0;
}

void gt_mapwatch_close(struct gt_mapwatch *w)
{
	for (size_t i = 0; i < w->count; i++) {
		munmap(w->cpus[i].head, (w->cpus[i].pages + 1) * page_size());
		close(w->cpus[i].fd);
	}
	free(w->cpus);
	*w = (struct gt_mapwatch){ 0 };
}

/* Copies bytes of the ring, which may wrap around. */
static void copy_out(const struct gt_mapwatch_cpu *c, uint64_t at, void *to, size_t size)
{
	const uint8_t *data = (const uint8_t *)c->head + page_size();
	size_t ring = c->pages * page_size(), offset = at % ring, first = ring - offset;

	if (first > size)
		first = size;
	memcpy(to, data + offset, first);
	memcpy((uint8_t *)to + first, data, size - first);
}

static bool drain_cpu(struct gt_mapwatch_cpu *c, gt_mapwatch_fn *each, void *context)
{
	uint64_t end = __atomic_load_n(&c->head->data_head, __ATOMIC_ACQUIRE);
	uint64_t at = c->head->data_tail, record[RECORD_MAX / 8 + 1];
	bool whole = true;

	while (at < end) {
		struct perf_event_header head;
		struct mapped *m = (struct mapped *)record;

		copy_out(c, at, &head, sizeof head);
		if (head.size < sizeof head)
			break;
		whole &= head.type != PERF_RECORD_LOST;
		if (head.type == PERF_RECORD_MMAP2 && head.size > sizeof *m &&
		    head.size <= RECORD_MAX) {
			copy_out(c, at, record, head.size);
			((char *)record)[head.size] = '\0';
			each(context, m->pid,
			     &(struct gt_mapping){ .start = m->address,
						   .end = m->address + m->size,
						   .offset = m->offset,
						   .is_code = true,
						   .is_past = true,
						   .inode = m->inode,
						   .path = m->path });
		}
		at += head.size;
	}
	__atomic_store_n(&c->head->data_tail, end, __ATOMIC_RELEASE);
	return whole;
}

bool gt_mapwatch_drain(struct gt_mapwatch *w, gt_mapwatch_fn *each, void *context)
{
	bool whole = true;

	for (size_t i = 0; i < w->count; i++)
		whole &= drain_cpu(&w->cpus[i], each, context);
	return whole;
}

void gt_map_history_fini(struct gt_map_history *h)
{
	for (size_t i = 0; i < GT_MAP_HISTORY_MAX; i++)
		free(h->list[i].mapping.path);
	*h = (struct gt_map_history){ 0 };
}

void gt_map_history_add(struct gt_map_history *h, uint32_t pid, const struct gt_mapping *m)
{
	struct gt_past_mapping *at = &h->list[h->next++ % GT_MAP_HISTORY_MAX];

	free(at->mapping.path);
	at->pid = pid;
	at->mapping = *m;
	at->mapping.path = gt_strdup(m->path);
}

static bool is_over_another(const struct gt_mappings *all, const struct gt_mapping *m)
{
	for (size_t i = 0; i < all->count; i++)
		if (m->start < all->list[i].end && all->list[i].start < m->end)
			return true;
	return false;
}

void gt_map_history_of(struct gt_mappings *out, const struct gt_map_history *h, uint32_t pid)
{
	*out = (struct gt_mappings){ 0 };
	for (size_t i = h->next; i-- > 0 && h->next - i <= GT_MAP_HISTORY_MAX;) {
		const struct gt_past_mapping *at = &h->list[i % GT_MAP_HISTORY_MAX];

		/* older: a library that was unloaded, or what the process was before an exec */
		if (at->pid != pid || is_over_another(out, &at->mapping))
			continue;
		GT_GROW(out->list, out->count, out->room);
		out->list[out->count] = at->mapping;
		out->list[out->count++].path = gt_strdup(at->mapping.path);
	}
}

const char *gt_map_history_program(const struct gt_map_history *h, uint32_t pid)
{
	const char *program = NULL;
	bool is_next = false;

	for (size_t i = h->next; i-- > 0 && h->next - i <= GT_MAP_HISTORY_MAX;) {
		const struct gt_past_mapping *at = &h->list[i % GT_MAP_HISTORY_MAX];

		if (at->pid != pid)
			continue;
		program = at->mapping.path;
		/* the kernel maps the program, then its loader, which maps the rest */
		if (is_next)
			break;
		is_next = gt_text_begins(gt_path_name(program), "ld-") ||
			  gt_text_begins(gt_path_name(program), "ld.so");
	}
	return program;
}
