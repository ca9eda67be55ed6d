/* SPDX-License-Identifier: MIT */
/* board.c - what processes hold right now, for the live screen and the live table. */
#include "ledger/board.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/containers.h"
#include "base/mem.h"
#include "ledger/lifetimes.h"

enum {
	CLASSES = 1 + 64 * 8, /* class 0: no bytes of its own */
	CLASS_WORDS = CLASSES / 64 + 1,
	LINKS = 4096,   /* per page */
	LOOKED_AT = 64, /* entries of a class that are compared to find the biggest */
};

/* Neighbours of a slot in its list: slot + 1, 0 for none. */
struct link {
	uint32_t next, before;
};

/* One list per size class, the oldest first. */
struct gt_board_lists {
	uint32_t first[CLASSES], last[CLASSES]; /* slot + 1 */
	uint64_t used[CLASS_WORDS];             /* a bit for each list that is not empty */
};

struct gt_board {
	struct gt_live live;
	struct link **links;
	size_t link_pages;
	struct gt_board_process *processes;
	size_t process_count, process_room;
	struct gt_board_site *sites;
	size_t site_count, site_room;
	struct gt_intern *site_keys; /* numbers the sites */
	uint64_t tick_ns;
	uint64_t bytes, peak_bytes; /* of all running processes */
};

struct gt_board *gt_board_new(void)
{
	struct gt_board *b = gt_alloc(sizeof *b);

	b->site_keys = gt_intern_new();
	return b;
}

void gt_board_free(struct gt_board *b)
{
	if (!b)
		return;
	for (size_t i = 0; i < b->process_count; i++)
		free(b->processes[i].lists);
	for (size_t i = 0; i < b->link_pages; i++)
		free(b->links[i]);
	gt_live_fini(&b->live);
	free(b->links);
	free(b->processes);
	free(b->sites);
	gt_intern_free(b->site_keys);
	free(b);
}

uint16_t gt_board_add(struct gt_board *b, uint32_t pid, const char *name, uint64_t start_ns)
{
	struct gt_board_process *p;

	if (b->process_count == GT_BOARD_PROCESSES_MAX)
		return GT_BOARD_ALL;
	GT_GROW(b->processes, b->process_count, b->process_room);
	p = &b->processes[b->process_count];
	*p = (struct gt_board_process){ .pid = pid, .start_ns = start_ns };
	p->lists = gt_alloc(sizeof *p->lists);
	snprintf(p->name, sizeof p->name, "%s", name);
	return (uint16_t)b->process_count++;
}

void gt_board_rename(struct gt_board *b, uint16_t process, const char *name)
{
	snprintf(b->processes[process].name, sizeof b->processes[process].name, "%s", name);
}

static struct link *link_at(struct gt_board *b, uint32_t slot)
{
	while (slot / LINKS >= b->link_pages) {
		b->links = gt_realloc(b->links, (b->link_pages + 1) * sizeof *b->links);
		b->links[b->link_pages++] = gt_alloc(LINKS * sizeof **b->links);
	}
	return &b->links[slot / LINKS][slot % LINKS];
}

/* By the exponent and the three bits after the leading one. */
static unsigned class_of(uint64_t bytes)
{
	unsigned exponent;

	if (!bytes)
		return 0;
	exponent = 63u - (unsigned)__builtin_clzll(bytes);
	return 1 + exponent * 8 +
	       (unsigned)((exponent >= 3 ? bytes >> (exponent - 3) : bytes << (3 - exponent)) & 7);
}

static void enlist(struct gt_board *b, const struct gt_entry *e, uint32_t slot)
{
	struct gt_board_lists *l = b->processes[e->process].lists;
	unsigned class = class_of(gt_entry_bytes(e));
	struct link *link = link_at(b, slot);

	*link = (struct link){ .before = l->last[class] };
	if (l->last[class])
		link_at(b, l->last[class] - 1)->next = slot + 1;
	else
		l->first[class] = slot + 1;
	l->last[class] = slot + 1;
	l->used[class / 64] |= UINT64_C(1) << class % 64;
}

static void delist(struct gt_board *b, const struct gt_entry *e, uint32_t slot)
{
	struct gt_board_lists *l = b->processes[e->process].lists;
	unsigned class = class_of(gt_entry_bytes(e));
	struct link link = *link_at(b, slot);

	if (link.before)
		link_at(b, link.before - 1)->next = link.next;
	else
		l->first[class] = link.next;
	if (link.next)
		link_at(b, link.next - 1)->before = link.before;
	else
		l->last[class] = link.before;
	if (!l->first[class])
		l->used[class / 64] &= ~(UINT64_C(1) << class % 64);
}

static struct gt_board_site *site_of(struct gt_board *b, const struct gt_entry *e)
{
	const struct gt_function *fn = &gt_functions[e->function];
	uint64_t key = (uint64_t)e->process << 48 | (uint64_t)e->stack << 16 |
		       (uint64_t)fn->api << 8 | fn->kind;
	size_t site = gt_intern(b->site_keys, &key, sizeof key);

	if (site == b->site_count) {
		GT_GROW(b->sites, b->site_count, b->site_room);
		b->sites[b->site_count++] = (struct gt_board_site){ .stack = e->stack,
								    .process = e->process,
								    .api = fn->api,
								    .kind = fn->kind,
								    .function = e->function };
	}
	return &b->sites[site];
}

static void born(void *board, const struct gt_entry *e, uint32_t slot)
{
	struct gt_board *b = board;
	struct gt_board_process *p = &b->processes[e->process];
	struct gt_board_site *s = site_of(b, e);
	uint64_t bytes = gt_entry_bytes(e);

	enlist(b, e, slot);
	p->created++;
	p->live++;
	p->bytes += bytes;
	if (gt_kind_on_device(gt_entry_kind(e)))
		p->device_bytes += bytes;
	if (p->bytes > p->peak_bytes)
		p->peak_bytes = p->bytes;
	b->bytes += bytes;
	if (b->bytes > b->peak_bytes)
		b->peak_bytes = b->bytes;
	s->created++;
	s->live++;
	s->bytes += bytes;
	s->bytes_created += bytes;
}

static void ended(void *board, const struct gt_entry *e, uint32_t slot, enum gt_ended_by by)
{
	struct gt_board *b = board;
	struct gt_board_process *p = &b->processes[e->process];
	struct gt_board_site *s = site_of(b, e);
	uint64_t bytes = gt_entry_bytes(e);

	(void)by;
	delist(b, e, slot);
	p->ended++;
	p->live--;
	p->bytes -= bytes;
	b->bytes -= bytes;
	if (gt_kind_on_device(gt_entry_kind(e)))
		p->device_bytes -= bytes;
	s->live--;
	s->bytes -= bytes;
}

void gt_board_apply(struct gt_board *b, const struct gt_event *event, uint16_t process)
{
	const struct gt_live_observer observer = { .born = born, .ended = ended, .context = b };
	struct gt_board_process *p = &b->processes[process];

	if (p->end_ns)
		return;
	p->failed += event->failed;
	if (gt_live_apply_all(&b->live, event, process, &observer, NULL) == GT_CHANGE_UNKNOWN)
		p->before += gt_function_ends(&gt_functions[event->function]);
}

void gt_board_end(struct gt_board *b, uint16_t process, uint64_t end_ns)
{
	struct gt_board_process *p = &b->processes[process];

	if (p->end_ns)
		return;
	p->end_ns = end_ns ? end_ns : 1;
	b->bytes -= p->bytes;
	for (unsigned class = 0; class < CLASSES; class ++)
		for (uint32_t slot = p->lists->first[class], next; slot; slot = next) {
			struct gt_entry e = *gt_live_at(&b->live, slot - 1);

			next = link_at(b, slot - 1)->next;
			gt_live_remove(&b->live, &e);
		}
	free(p->lists);
	p->lists = NULL;
	p->created_rate = p->ended_rate = 0;
}

void gt_board_lose(struct gt_board *b, uint16_t process, uint64_t events)
{
	b->processes[process].lost += events;
}

static void remember(struct gt_recent *h, uint64_t value)
{
	h->values[h->count++ % GT_BOARD_HISTORY] = value;
}

void gt_board_tick(struct gt_board *b, uint64_t now_ns)
{
	double seconds =
		b->tick_ns && now_ns > b->tick_ns ? (double)(now_ns - b->tick_ns) / 1e9 : 0;

	for (size_t i = 0; i < b->process_count; i++) {
		struct gt_board_process *p = &b->processes[i];

		if (p->end_ns)
			continue;
		p->created_rate = seconds ? (double)(p->created - p->created_then) / seconds : 0;
		p->ended_rate = seconds ? (double)(p->ended - p->ended_then) / seconds : 0;
		p->created_then = p->created;
		p->ended_then = p->ended;
		remember(&p->history, p->bytes);
	}
	for (size_t i = 0; i < b->site_count; i++) {
		struct gt_board_site *s = &b->sites[i];
		uint64_t now = gt_kind_has_bytes((enum gt_kind)s->kind) ? s->bytes : s->live;

		s->created_rate = seconds ? (double)(s->created - s->created_then) / seconds : 0;
		s->growth = seconds ? ((double)now - (double)s->measure_then) / seconds : 0;
		s->created_then = s->created;
		s->measure_then = now;
		remember(&s->history, now);
	}
	b->tick_ns = now_ns;
}

size_t gt_board_process_count(const struct gt_board *b)
{
	return b->process_count;
}

const struct gt_board_process *gt_board_process(const struct gt_board *b, uint16_t process)
{
	return &b->processes[process];
}

struct gt_board_process gt_board_total(const struct gt_board *b)
{
	struct gt_board_process sum = { .bytes = b->bytes, .peak_bytes = b->peak_bytes };

	for (size_t i = 0; i < b->process_count; i++) {
		const struct gt_board_process *p = &b->processes[i];

		if (!p->end_ns) {
			sum.live += p->live;
			sum.device_bytes += p->device_bytes;
		}
		sum.created += p->created;
		sum.ended += p->ended;
		sum.failed += p->failed;
		sum.before += p->before;
		sum.lost += p->lost;
		sum.created_rate += p->created_rate;
		sum.ended_rate += p->ended_rate;
	}
	return sum;
}

static double weight(const struct gt_board_site *s, enum gt_board_order order)
{
	switch (order) {
	case GT_BOARD_BY_BYTES: return (double)s->bytes;
	case GT_BOARD_BY_LIVE: return (double)s->live;
	case GT_BOARD_BY_RATE: return s->created_rate;
	case GT_BOARD_BY_GROWTH: return s->growth;
	}
	return 0;
}

/* More weight first; then more objects, then the one seen first. */
static bool goes_before(const struct gt_board_site *a, const struct gt_board_site *b,
			enum gt_board_order order)
{
	double x = weight(a, order), y = weight(b, order);

	if (x > y || y > x)
		return x > y;
	return a->live != b->live ? a->live > b->live : a < b;
}

size_t gt_board_sites(const struct gt_board *b, uint16_t process, enum gt_board_order order,
		      const struct gt_board_site **out, size_t most)
{
	size_t count = 0;

	for (size_t i = 0; i < b->site_count && most; i++) {
		const struct gt_board_site *s = &b->sites[i];
		size_t at;

		if (!s->live || (process != GT_BOARD_ALL && s->process != process) ||
		    (process == GT_BOARD_ALL && b->processes[s->process].end_ns))
			continue;
		if (count == most && !goes_before(s, out[count - 1], order))
			continue;
		if (count < most)
			count++;
		for (at = count - 1; at && goes_before(s, out[at - 1], order); at--)
			out[at] = out[at - 1];
		out[at] = s;
	}
	return count;
}

/* Keeps `out` in order, the biggest first. */
static size_t keep(const struct gt_entry **out, size_t count, size_t most, const struct gt_entry *e)
{
	size_t at;

	if (count == most && gt_entry_bytes(out[count - 1]) >= gt_entry_bytes(e))
		return count;
	if (count < most)
		count++;
	for (at = count - 1; at && gt_entry_bytes(out[at - 1]) < gt_entry_bytes(e); at--)
		out[at] = out[at - 1];
	out[at] = e;
	return count;
}

size_t gt_board_biggest(const struct gt_board *b, uint16_t process, const struct gt_entry **out,
			size_t most)
{
	const struct gt_board_lists *l = b->processes[process].lists;
	size_t count = 0;

	for (unsigned class = CLASSES - 1; l && most && class && count < most; class --) {
		uint32_t slot = l->first[class];

		for (size_t i = 0; slot && i < LOOKED_AT + most; i++) {
			count = keep(out, count, most, gt_live_at(&b->live, slot - 1));
			slot = b->links[(slot - 1) / LINKS][(slot - 1) % LINKS].next;
		}
	}
	return count;
}

const struct gt_entry *gt_board_oldest(const struct gt_board *b, uint16_t process)
{
	const struct gt_board_lists *l = b->processes[process].lists;
	const struct gt_entry *oldest = NULL;

	for (unsigned class = 1; l && class < CLASSES; class ++) {
		const struct gt_entry *e;

		if (!(l->used[class / 64] >> class % 64 & 1))
			continue;
		e = gt_live_at(&b->live, l->first[class] - 1);
		if (!oldest || e->time_ns < oldest->time_ns)
			oldest = e;
	}
	return !oldest && l && l->first[0] ? gt_live_at(&b->live, l->first[0] - 1) : oldest;
}

size_t gt_board_bytes(const struct gt_board *b, size_t *entries)
{
	*entries = b->live.count;
	return gt_live_bytes(&b->live) +
	       b->link_pages * (LINKS * sizeof **b->links + sizeof *b->links);
}
