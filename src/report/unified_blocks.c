/* SPDX-License-Identifier: MIT */
/* unified_blocks.c - the blocks of unified memory of a recording: what moved of each, how often. */
#include "report/unified_blocks.h"

#include <search.h>
#include <stdlib.h>

#include "base/mem.h"
#include "replay/replay.h"

enum {
	PAGE = 4096,
	CHUNK_MIN = 1 << 16,  /* the driver's smallest step */
	CHUNKS_MAX = 1 << 20, /* of a block; those of larger ones are larger */
	CHUNKS_ALL = 1 << 25, /* of all living blocks: beyond that nothing counts as returned */
	/* The driver moves 2 MiB at once at most: a move of more chunks is counted as a whole. */
	CHUNKS_MOVED = 1 << 12,
};

/* A block of a process, or a range of addresses to look for: those that overlap are equal. */
struct range {
	uint64_t first, last;
	uint16_t process;
	struct gt_unified_block *block; /* NULL: to look for */
};

static int compare(const void *x, const void *y)
{
	const struct range *a = x, *b = y;

	if (a->process != b->process)
		return a->process < b->process ? -1 : 1;
	return a->last < b->first ? -1 : a->first > b->last;
}

static bool is_unified(const struct gt_entry *e)
{
	enum gt_kind kind = gt_entry_kind(e);

	return gt_functions[e->function].api == GT_CUDA &&
	       (kind == GT_SHARED_MEMORY || kind == GT_STATIC_MANAGED);
}

static struct range range_of(const struct gt_entry *e)
{
	uint64_t last = e->handle + (e->size ? e->size - 1 : 0);

	return (struct range){ e->handle, last < e->handle ? UINT64_MAX : last, e->process, NULL };
}

static void drop_chunks(struct gt_unified *u, struct gt_unified_block *b)
{
	if (b->arrived)
		u->chunks_left += b->chunk_count;
	free(b->arrived);
	b->arrived = NULL;
}

/* A block that never moved need not be remembered by itself. */
static void add_still(struct gt_unified *u, const struct gt_entry *e)
{
	void **at = gt_map_at(&u->still_of, (uint64_t)e->stack << 16 | gt_entry_kind(e));
	struct gt_unified_still *still;

	if (!*at) {
		GT_GROW(u->still, u->still_count, u->still_room);
		u->still[u->still_count++] =
			(struct gt_unified_still){ .stack = e->stack, .function = e->function };
		*at = (void *)(uintptr_t)u->still_count;
	}
	still = &u->still[(uintptr_t)*at - 1];
	still->count++;
	still->bytes += e->size;
}

/* The block has ended; the tree no longer finds it. */
static void take_out(struct gt_unified *u, struct range *range, uint64_t time_ns)
{
	struct gt_unified_block *block = range->block;

	tdelete(range, &u->tree, compare);
	free(range);
	drop_chunks(u, block);
	block->end_ns = time_ns;
	if (gt_unified_moved(&block->moves))
		return;
	add_still(u, &block->entry);
	u->blocks[block->index] = u->blocks[--u->count];
	u->blocks[block->index]->index = block->index;
	free(block);
}

/* While the recording is read. */
struct reading {
	struct gt_unified *unified;
	uint64_t now_ns;
};

static void born(void *context, const struct gt_entry *entry, uint32_t slot)
{
	struct reading *reading = context;
	struct gt_unified *u = reading->unified;
	struct range key = range_of(entry), *range, **found;

	(void)slot;
	if (!is_unified(entry))
		return;
	/* the end of a block that overlaps it was not seen */
	while ((found = tfind(&key, &u->tree, compare)))
		take_out(u, *found, reading->now_ns);
	range = gt_alloc(sizeof *range);
	*range = key;
	range->block = gt_alloc(sizeof *range->block);
	*range->block = (struct gt_unified_block){ .entry = *entry, .index = u->count };
	gt_memory_check(tsearch(range, &u->tree, compare));
	GT_GROW(u->blocks, u->count, u->room);
	u->blocks[u->count++] = range->block;
}

static void ended(void *context, const struct gt_entry *entry, uint32_t slot, enum gt_ended_by by)
{
	struct reading *reading = context;
	struct range key = range_of(entry), **found;

	(void)slot;
	/* at the end of its process it is alive at the end */
	if (!is_unified(entry) || by == GT_ENDED_BY_PROCESS)
		return;
	found = tfind(&key, &reading->unified->tree, compare);
	if (found && (*found)->first == key.first)
		take_out(reading->unified, *found, reading->now_ns);
}

static void before_event(void *context, const struct gt_ledger *l, uint64_t time_ns)
{
	(void)l;
	((struct reading *)context)->now_ns = time_ns;
}

/* Bytes of the block in a chunk: at least a page, as less does not move. */
static uint64_t chunk_bytes(const struct gt_unified_block *b, uint64_t chunk)
{
	uint64_t left = b->entry.size - chunk * b->chunk_size;

	left = left < b->chunk_size ? left : b->chunk_size;
	return left < PAGE ? PAGE : left;
}

/* False if too much is followed already. */
static bool find_chunks(struct gt_unified *u, struct gt_unified_block *b)
{
	if (b->arrived)
		return true;
	for (b->chunk_size = CHUNK_MIN; b->entry.size / b->chunk_size >= CHUNKS_MAX;)
		b->chunk_size *= 2;
	b->chunk_count = (size_t)(b->entry.size / b->chunk_size) + 1;
	if (b->chunk_count > u->chunks_left)
		return false;
	u->chunks_left -= b->chunk_count;
	b->arrived = gt_alloc(b->chunk_count * sizeof *b->arrived);
	return true;
}

/* Bytes of a chunk have come to the device. */
static void add_arrival(struct gt_unified_block *b, uint64_t chunk, uint64_t bytes)
{
	uint64_t whole = chunk_bytes(b, chunk), before = b->arrived[chunk], after = before + bytes;

	b->arrived[chunk] = after;
	if (after > whole)
		b->moves.returned += after - (before > whole ? before : whole);
	if ((after + whole / 2) / whole > b->moves.times)
		b->moves.times = (after + whole / 2) / whole;
}

/* `bytes` of a block from `first` on; what lies around it counts as its nearest part. */
static void add_arrivals(struct gt_unified *u, struct gt_unified_block *b, uint64_t first,
			 uint64_t bytes)
{
	uint64_t offset = first > b->entry.handle ? first - b->entry.handle : 0, last;

	if (!find_chunks(u, b) || bytes / b->chunk_size > CHUNKS_MOVED)
		return;
	offset = offset < b->entry.size ? offset : b->entry.size ? b->entry.size - 1 : 0;
	last = b->entry.size ? (b->entry.size - 1) / b->chunk_size : 0;
	while (bytes) {
		uint64_t chunk = offset / b->chunk_size,
			 left = b->chunk_size - offset % b->chunk_size;

		left = left < bytes && chunk < last ? left : bytes;
		add_arrival(b, chunk, left);
		offset += left;
		bytes -= left;
	}
}

/* Part of a move. */
static void add_part(struct gt_unified *u, struct gt_unified_block *b, const struct gt_paging *p,
		     uint64_t first, uint64_t bytes)
{
	struct gt_unified_moves *m = b ? &b->moves : &u->unknown;

	m->amount[p->effect] += bytes;
	m->cause[p->cause] += bytes;
	m->count[p->effect]++;
	if (!b || p->effect != GT_PAGING_TO_DEVICE)
		return;
	u->total.returned -= b->moves.returned;
	add_arrivals(u, b, first, bytes);
	u->total.returned += b->moves.returned;
	if (b->moves.times > u->total.times)
		u->total.times = b->moves.times;
}

/* A range that moved, divided among its blocks: small ones share a page. */
static void divide(struct gt_unified *u, struct range range, struct gt_unified_block *nearest,
		   const struct gt_paging *p)
{
	for (;;) {
		struct range **found = tfind(&range, &u->tree, compare);
		struct gt_unified_block *b = found ? (*found)->block : nearest;
		uint64_t first =
			found && (*found)->first > range.first ? (*found)->first : range.first;
		uint64_t last = found && (*found)->last < range.last ? (*found)->last : range.last;

		if (first > range.first)
			divide(u, (struct range){ range.first, first - 1, range.process, NULL }, b,
			       p);
		add_part(u, b, p, first, last - first + 1);
		if (last == range.last)
			return;
		range.first = last + 1;
		nearest = b;
	}
}

static void take_paging(void *context, uint32_t process, const struct gt_paging *p)
{
	struct gt_unified *u = ((struct reading *)context)->unified;
	uint64_t last = p->address + (p->amount ? p->amount - 1 : 0);
	struct range range = { p->address, last, (uint16_t)process, NULL }, **found;
	bool is_fault = p->effect == GT_PAGING_CPU_FAULT || p->effect == GT_PAGING_GPU_FAULT;
	struct gt_unified_moves *moves;

	u->any = true;
	u->any_faults |= is_fault;
	if (!p->amount || last < p->address)
		return;
	u->total.amount[p->effect] += p->amount;
	u->total.count[p->effect]++;
	if (!is_fault) {
		u->total.cause[p->cause] += p->amount;
		divide(u, range, NULL, p);
		return;
	}
	/* a fault names its page */
	range.first = p->address & ~(uint64_t)(PAGE - 1);
	range.last = p->address | (PAGE - 1);
	found = tfind(&range, &u->tree, compare);
	moves = found ? &(*found)->block->moves : &u->unknown;
	moves->amount[p->effect] += p->amount;
}

uint64_t gt_unified_moved(const struct gt_unified_moves *m)
{
	return m->amount[GT_PAGING_TO_DEVICE] + m->amount[GT_PAGING_TO_HOST] +
	       m->amount[GT_PAGING_BETWEEN_DEVICES];
}

void gt_unified_add(struct gt_unified_moves *sum, const struct gt_unified_moves *one)
{
	for (int i = 0; i < GT_PAGING_EFFECTS; i++) {
		sum->amount[i] += one->amount[i];
		sum->count[i] += one->count[i];
	}
	for (int i = 0; i < GT_PAGING_CAUSES; i++)
		sum->cause[i] += one->cause[i];
	sum->returned += one->returned;
	if (one->times > sum->times)
		sum->times = one->times;
}

void gt_unified_init(struct gt_unified *u, const struct gt_view *v)
{
	struct reading reading = { .unified = u };
	struct gt_live_observer observer = { .born = born, .ended = ended, .context = &reading };

	*u = (struct gt_unified){ .chunks_left = CHUNKS_ALL };
	gt_ledger_free(gt_replay_run(v->recording, &(struct gt_replay){ .observer = &observer,
									.before = before_event,
									.paged = take_paging,
									.context = &reading,
									.tick = v->tick }));
	tdestroy(u->tree, free);
	u->tree = NULL;
}

void gt_unified_fini(struct gt_unified *u)
{
	for (size_t i = 0; i < u->count; i++) {
		free(u->blocks[i]->arrived);
		free(u->blocks[i]);
	}
	free(u->blocks);
	free(u->still);
	gt_map_fini(&u->still_of);
}
