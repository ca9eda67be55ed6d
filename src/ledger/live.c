/* SPDX-License-Identifier: MIT */
/* live.c - the living resources: an entry each, and the rule by which events change them. */
#include "ledger/live_index.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/table_memory.h"

enum {
	CHUNK = GT_LIVE_CHUNK,
	FIRST_BUCKETS = 4,
	MANY_BUCKETS = 1 << 13, /* more do not fit into a core's cache */
	MOST_OF_FEW = 9,        /* entries of a bucket, on average: then the index grows */
	MOST_OF_MANY = 10,
	BATCH = 8,          /* chunks that are allocated together, once there are as many */
	BATCH_PART = 32,    /* or this part of all chunks, once that is more */
	BATCH_LARGE = 2048, /* or a multiple of this: such chunks fill large pages of 2 MiB */
	AHEAD = 16,         /* buckets that are fetched before they are needed */
};

bool gt_live_probe(const struct gt_live *l, uint64_t hash, uint16_t process, enum gt_kind kind,
		   uint64_t handle, uint16_t place, size_t *at)
{
	size_t bucket = gt_live_first_bucket(l, hash), found;
	bool has_room = false;

	for (size_t i = 0; i < l->bucket_count; i++, bucket = gt_live_next_bucket(l, bucket)) {
		const struct gt_live_bucket *b = &l->buckets[bucket];
		uint64_t free_places = gt_live_places(b, 0);

		if (gt_live_is_in(l, bucket, hash, process, kind, handle, place, &found)) {
			*at = found;
			return true;
		}
		if (!has_room && free_places)
			*at = gt_live_position(bucket, gt_live_place_of(free_places));
		has_room |= free_places != 0;
		/* the handle would have passed this bucket to lie further on */
		if (has_room && !b->passed)
			break;
	}
	return false;
}

static bool probe(const struct gt_live *l, uint16_t process, enum gt_kind kind, uint64_t handle,
		  uint16_t place, size_t *at)
{
	return gt_live_probe(l, gt_handle_hash(process, kind, handle), process, kind, handle, place,
			     at);
}

static void remove_at(struct gt_live *l, size_t at)
{
	gt_live_remove_at(l, at, gt_entry_hash(gt_live_at(l, gt_live_slot_at(l, at))));
}

/* Puts the entries of some slots into the index, in which they are not. */
static void index_slots(struct gt_live *l, size_t first, size_t end)
{
	uint64_t hashes[AHEAD];
	uint32_t slots[AHEAD];
	size_t count = 0;

	for (size_t slot = first; slot < end; slot++) {
		const struct gt_entry *e = gt_live_at(l, (uint32_t)slot);

		if (e->function == GT_FN_NONE)
			continue;
		slots[count] = (uint32_t)slot;
		hashes[count] = gt_entry_hash(e);
		gt_live_prefetch(l, hashes[count]);
		count++;
	}
	for (size_t i = 0; i < count; i++) {
		size_t bucket = gt_live_first_bucket(l, hashes[i]);
		uint64_t free_places;

		while (!(free_places = gt_live_places(&l->buckets[bucket], 0)))
			bucket = gt_live_next_bucket(l, bucket);
		gt_live_put_at(l, gt_live_position(bucket, gt_live_place_of(free_places)),
			       hashes[i], slots[i]);
	}
}

/*
 * While the index fits into the cache, searching full buckets costs more than memory does, so it
 * grows by halves and stays emptier. Beyond that, memory costs more, so it doubles.
 */
static size_t next_size(size_t count)
{
	if (!count)
		return FIRST_BUCKETS;
	if (count >= MANY_BUCKETS)
		return 2 * count;
	return count & (count - 1) ? count / 3 * 4 : count / 2 * 3;
}

static int grow_index(struct gt_live *l)
{
	size_t count = next_size(l->bucket_count);
	char *memory = gt_table_alloc(count * sizeof *l->buckets + GT_BUCKET_BYTES);

	if (!memory)
		return -ENOMEM;
	gt_table_free(l->bucket_memory);
	l->bucket_memory = memory;
	l->buckets = (void *)(memory + (-(uintptr_t)memory & (GT_BUCKET_BYTES - 1)));
	l->bucket_count = count;
	l->index_room = count * (count > MANY_BUCKETS ? MOST_OF_MANY : MOST_OF_FEW);
	/* as entries lie in memory: only the index is read at random, and that is known beforehand
	 */
	for (size_t slot = 0; slot < gt_live_slots(l); slot += AHEAD)
		index_slots(l, slot, slot + AHEAD);
	return 0;
}

static struct gt_live_arena *arena_of(struct gt_live *l, uint16_t process)
{
	if (process >= l->arena_count) {
		size_t count = process < 2 * l->arena_count ? 2 * l->arena_count : process + 1u;
		struct gt_live_arena *arenas = gt_table_resize(l->arenas, count * sizeof *arenas);

		if (!arenas)
			return NULL;
		memset(arenas + l->arena_count, 0, (count - l->arena_count) * sizeof *arenas);
		l->arenas = arenas;
		l->arena_count = count;
	}
	return &l->arenas[process];
}

static int grow_chunks(struct gt_live *l)
{
	size_t room = l->chunk_room ? 2 * l->chunk_room : BATCH;
	struct gt_entry **chunks = gt_table_resize(l->chunks, room * sizeof *chunks);
	uint32_t *next;

	if (!chunks)
		return -ENOMEM;
	l->chunks = chunks;
	next = gt_table_resize(l->next_chunk, room * sizeof *next);
	if (!next)
		return -ENOMEM;
	l->next_chunk = next;
	l->chunk_room = room;
	return 0;
}

_Static_assert((size_t)BATCH_LARGE *CHUNK * sizeof(struct gt_entry) % (2 << 20) == 0, "see there");

/*
 * How many chunks the next allocation is of. The traced process's heap is measured: a few large
 * allocations disturb it less than many.
 */
static size_t batch_after(size_t chunk_count)
{
	size_t part = chunk_count / BATCH_PART;

	if (chunk_count < BATCH)
		return 1;
	if (part >= BATCH_LARGE)
		return part - part % BATCH_LARGE;
	return part > BATCH ? part : BATCH;
}

static int add_chunks(struct gt_live *l)
{
	size_t count = batch_after(l->chunk_count);
	struct gt_entry *entries;

	/* room doubles: a batch always fits then */
	if (l->chunk_count + count > l->chunk_room && grow_chunks(l))
		return -ENOMEM;
	entries = gt_table_alloc(count * CHUNK * sizeof *entries);
	if (!entries)
		return -ENOMEM;
	for (size_t i = count; i-- > 0;) {
		l->chunks[l->chunk_count + i] = entries + i * CHUNK;
		l->next_chunk[l->chunk_count + i] = l->free_chunk;
		l->free_chunk = (uint32_t)(l->chunk_count + i) + 1;
	}
	l->chunk_count += count;
	return 0;
}

int gt_live_take_chunk(struct gt_live *l, uint16_t process)
{
	struct gt_live_arena *arena = arena_of(l, process);
	uint32_t chunk;

	if (!arena)
		return -ENOMEM;
	if (arena->free_slot || arena->left)
		return 0;
	if (!l->free_chunk && add_chunks(l))
		return -ENOMEM;
	chunk = l->free_chunk - 1;
	l->free_chunk = l->next_chunk[chunk];
	l->next_chunk[chunk] = arena->chunk;
	arena->chunk = chunk + 1;
	arena->fresh = chunk * CHUNK;
	arena->left = CHUNK;
	return 0;
}

/* The process has no entries left: its chunks are free for others, as processes come and go. */
void gt_live_release_chunks(struct gt_live *l, struct gt_live_arena *arena)
{
	while (arena->chunk) {
		uint32_t chunk = arena->chunk - 1;

		arena->chunk = l->next_chunk[chunk];
		l->next_chunk[chunk] = l->free_chunk;
		l->free_chunk = chunk + 1;
	}
	*arena = (struct gt_live_arena){ 0 };
}

struct gt_entry *gt_live_add(struct gt_live *l, const struct gt_entry *entry)
{
	uint64_t hash = gt_entry_hash(entry);
	size_t i;

	if (gt_live_is_full(l) && grow_index(l))
		return NULL;
	gt_live_probe(l, hash, entry->process, gt_entry_kind(entry), entry->handle, entry->place,
		      &i);
	return gt_live_put(l, entry, hash, i);
}

static struct gt_entry *find_at(const struct gt_live *l, uint16_t process, enum gt_kind kind,
				uint64_t handle, uint16_t place)
{
	size_t i;

	if (!l->buckets || !probe(l, process, kind, handle, place, &i))
		return NULL;
	return gt_live_at(l, gt_live_slot_at(l, i));
}

struct gt_entry *gt_live_find(const struct gt_live *l, uint16_t process, enum gt_kind kind,
			      uint64_t handle)
{
	return find_at(l, process, kind, handle, 0);
}

uint32_t gt_live_slot(const struct gt_live *l, const struct gt_entry *entry)
{
	size_t i;

	return probe(l, entry->process, gt_entry_kind(entry), entry->handle, entry->place, &i) ?
		       gt_live_slot_at(l, i) :
		       UINT32_MAX;
}

size_t gt_live_slots(const struct gt_live *l)
{
	return l->chunk_count * CHUNK;
}

static enum gt_change create(struct gt_live *l, const struct gt_event *e, uint16_t process,
			     struct gt_entry **entry, struct gt_entry *gone)
{
	enum gt_kind kind = (enum gt_kind)gt_functions[e->function].kind;
	bool has_room = !gt_live_is_full(l) || !grow_index(l);
	struct gt_entry *old;

	*entry = has_room ? gt_live_bear(l, e, process, gt_event_hash(e, process)) : NULL;
	if (*entry)
		return GT_CHANGE_BORN;
	old = find_at(l, process, kind, e->handle, e->place < 64 ? e->place : 0);
	if (!old)
		return GT_CHANGE_NO_MEMORY;
	*entry = old;
	/* the driver may give the handle of one that has died with its owner to another */
	if (gt_kinds[kind].habits & GT_BORROWED && !gt_live_is_orphan(l, old)) {
		old->refs++;
		return GT_CHANGE_RETAINED;
	}
	if (gone)
		*gone = *old;
	*old = gt_live_entry_of(e, process);
	return GT_CHANGE_REPLACED;
}

static enum gt_change end(struct gt_live *l, const struct gt_event *e, uint16_t process, bool whole,
			  struct gt_entry **entry, struct gt_entry *gone)
{
	enum gt_kind kind = (enum gt_kind)gt_functions[e->function].kind;
	uint16_t place = e->place < 64 ? e->place : 0;
	size_t i;
	bool is_there = l->buckets && probe(l, process, kind, e->handle, place, &i);

	/* profilers name the device that is current, which need not be the block's */
	if (place && l->buckets && !is_there)
		is_there = probe(l, process, kind, e->handle, 0, &i);
	if (!is_there)
		return gt_kinds[kind].habits & GT_BORROWED ? GT_CHANGE_NONE : GT_CHANGE_UNKNOWN;
	*entry = gt_live_at(l, gt_live_slot_at(l, i));
	if (!whole && (*entry)->refs > 1) {
		(*entry)->refs--;
		return GT_CHANGE_RELEASED;
	}
	if (gone)
		*gone = **entry;
	*entry = NULL;
	remove_at(l, i);
	return GT_CHANGE_ENDED;
}

static enum gt_change retain(struct gt_live *l, const struct gt_event *e, uint16_t process,
			     struct gt_entry **entry)
{
	enum gt_kind kind = (enum gt_kind)gt_functions[e->function].kind;

	*entry = gt_live_find(l, process, kind, e->handle);
	if (!*entry)
		return gt_kinds[kind].habits & GT_BORROWED ? GT_CHANGE_NONE : GT_CHANGE_UNKNOWN;
	(*entry)->refs++;
	return GT_CHANGE_RETAINED;
}

enum gt_change gt_live_apply(struct gt_live *l, const struct gt_event *event, uint16_t process,
			     struct gt_entry **entry, struct gt_entry *gone)
{
	struct gt_entry *unwanted;

	if (!entry)
		entry = &unwanted;
	*entry = NULL;
	if (event->failed || event->unfinished)
		return GT_CHANGE_NONE;
	switch ((enum gt_effect)gt_functions[event->function].effect) {
	case GT_CREATE: return create(l, event, process, entry, gone);
	case GT_RETAIN: return retain(l, event, process, entry);
	case GT_RELEASE: return end(l, event, process, false, entry, gone);
	case GT_DESTROY: return end(l, event, process, true, entry, gone);
	case GT_APPEND:
	case GT_EFFECT_COUNT: break;
	}
	return GT_CHANGE_NONE;
}

int gt_live_restore(struct gt_live *l, const struct gt_entry *gone, enum gt_change change)
{
	struct gt_entry *entry =
		find_at(l, gone->process, gt_entry_kind(gone), gone->handle, gone->place);

	if (entry) {
		entry->refs++;
		return 0;
	}
	if (change != GT_CHANGE_ENDED)
		return -ENOENT;
	return gt_live_add(l, gone) ? 0 : -ENOMEM;
}

/* In imports the owner is a number that never was a living entry. */
static bool dies_with_owner(const struct gt_entry *entry)
{
	return gt_kinds[gt_entry_kind(entry)].habits & GT_OWNED && entry->owner &&
	       gt_functions[entry->function].owner.from != GT_NONE;
}

const struct gt_entry *gt_live_owner_of(const struct gt_live *l, const struct gt_entry *entry)
{
	if (!dies_with_owner(entry))
		return NULL;
	/* the owner's kind is not recorded: any with that handle will do that is not younger */
	for (int kind = 0; kind < GT_KIND_COUNT; kind++) {
		const struct gt_entry *owner;

		if (gt_kinds[kind].family != kind || gt_kinds[kind].habits & GT_OWNED)
			continue;
		owner = gt_live_find(l, entry->process, (enum gt_kind)kind, entry->owner);
		if (owner && owner->time_ns <= entry->time_ns)
			return owner;
	}
	return NULL;
}

bool gt_live_is_orphan(const struct gt_live *l, const struct gt_entry *entry)
{
	return dies_with_owner(entry) && !gt_live_owner_of(l, entry);
}

bool gt_live_goes_with(const struct gt_entry *entry, const struct gt_entry *gone)
{
	/* what holds its owner may have one with the same number */
	return gt_kinds[gt_entry_kind(gone)].habits & GT_TAKES &&
	       !(gt_kinds[gt_entry_kind(entry)].habits & GT_HOLDS) &&
	       entry->owner == gone->handle && entry->process == gone->process &&
	       gt_functions[entry->function].api == gt_functions[gone->function].api;
}

struct gt_entry *gt_live_held_by(const struct gt_live *l, const struct gt_entry *entry)
{
	struct gt_entry *held;

	if (!gt_entry_holds(entry))
		return NULL;
	held = gt_live_find(l, entry->process, (enum gt_kind)gt_kinds[gt_entry_kind(entry)].holds,
			    entry->owner);
	/* a younger one only reuses the handle of what was held */
	return held && held->time_ns <= entry->time_ns ? held : NULL;
}

bool gt_live_may_hold(enum gt_kind kind, const struct gt_entry *held)
{
	return gt_kinds[kind].habits & GT_HOLDS &&
	       gt_kinds[kind].holds == gt_kinds[gt_entry_kind(held)].family;
}

void gt_live_remove(struct gt_live *l, const struct gt_entry *entry)
{
	size_t i;

	if (probe(l, entry->process, gt_entry_kind(entry), entry->handle, entry->place, &i))
		remove_at(l, i);
}

void gt_live_each(const struct gt_live *l,
		  bool (*each)(void *context, const struct gt_entry *entry), void *context)
{
	/* as they lie in memory: in the order of the index, each would be a cache miss */
	for (size_t chunk = 0; chunk < l->chunk_count; chunk++)
		for (size_t i = 0; i < CHUNK; i++) {
			const struct gt_entry *e = &l->chunks[chunk][i];

			if (e->function != GT_FN_NONE && !each(context, e))
				return;
		}
}

void gt_live_each_of(const struct gt_live *l, uint16_t process,
		     bool (*each)(void *context, const struct gt_entry *entry), void *context)
{
	uint32_t chunk = process < l->arena_count ? l->arenas[process].chunk : 0;

	for (; chunk; chunk = l->next_chunk[chunk - 1])
		for (size_t i = 0; i < CHUNK; i++) {
			const struct gt_entry *e = &l->chunks[chunk - 1][i];

			if (e->function != GT_FN_NONE && !each(context, e))
				return;
		}
}

size_t gt_live_bytes(const struct gt_live *l)
{
	return l->chunk_count * CHUNK * sizeof(struct gt_entry) +
	       l->chunk_room * (sizeof *l->chunks + sizeof *l->next_chunk) +
	       l->arena_count * sizeof *l->arenas +
	       (l->buckets ? l->bucket_count * sizeof *l->buckets + GT_BUCKET_BYTES : 0);
}

void gt_live_fini(struct gt_live *l)
{
	for (size_t i = 0; i < l->chunk_count; i += batch_after(i))
		gt_table_free(l->chunks[i]);
	gt_table_free(l->chunks);
	gt_table_free(l->next_chunk);
	gt_table_free(l->arenas);
	gt_table_free(l->bucket_memory);
	*l = (struct gt_live){ 0 };
}
