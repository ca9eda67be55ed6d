/* SPDX-License-Identifier: MIT */
/* live.c - the living resources: an entry each, and the rule by which events change them. */
#include "ledger/live.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/table_memory.h"

enum {
	CHUNK = GT_LIVE_CHUNK,
	FIRST_INDEX = 64,
	BATCH = 16,      /* chunks that are allocated together, once there are as many */
	BATCH_PART = 32, /* or this part of all chunks, once that is more */
	AHEAD = 16,      /* positions of the index that are fetched before they are needed */
};

/* The tag of the same entry one position farther from where its hash starts. */
static inline uint8_t farther(uint8_t tag)
{
	return (uint8_t)(tag + ((tag & GT_TAG_FAR) != GT_TAG_FAR));
}

/* Two devices may each use one address; an event that does not know its device matches either. */
static bool same_place(uint16_t a, uint16_t b)
{
	return a == b || !a || !b;
}

/* How far the entry at a position is from where its hash starts. */
static inline size_t distance_at(const struct gt_live *l, size_t i)
{
	size_t distance = l->tags[i] & GT_TAG_FAR;

	return distance < GT_TAG_FAR ?
		       distance :
		       (i - gt_entry_hash(gt_live_at(l, l->index[i] - 1))) & l->mask;
}

static inline bool is_handle(const struct gt_entry *e, uint16_t process, enum gt_kind kind,
			     uint64_t handle, uint16_t place)
{
	return e->handle == handle && e->process == process && same_place(e->place, place) &&
	       gt_kinds[gt_entry_kind(e)].family == gt_kinds[kind].family;
}

/*
 * True if the handle with this hash is in the index: at `*at`. Otherwise that is where it belongs.
 * Entries lie in the order in which their hashes start, so that a search ends at the first one that
 * starts behind it.
 */
static inline bool probe_hash(const struct gt_live *l, uint64_t hash, uint16_t process,
			      enum gt_kind kind, uint64_t handle, uint16_t place, size_t *at)
{
	uint8_t tag = gt_live_tag(hash, 0);
	size_t i = hash & l->mask;
	bool is_there = false;

	for (; l->tags[i] && (l->tags[i] & GT_TAG_FAR) >= (tag & GT_TAG_FAR);
	     i = (i + 1) & l->mask, tag = farther(tag)) {
		is_there = l->tags[i] == tag &&
			   is_handle(gt_live_at(l, l->index[i] - 1), process, kind, handle, place);
		if (is_there || ((tag & GT_TAG_FAR) == GT_TAG_FAR &&
				 distance_at(l, i) < ((i - hash) & l->mask)))
			break;
	}
	*at = i;
	return is_there;
}

static bool probe(const struct gt_live *l, uint16_t process, enum gt_kind kind, uint64_t handle,
		  uint16_t place, size_t *at)
{
	return probe_hash(l, gt_handle_hash(process, kind, handle), process, kind, handle, place,
			  at);
}

/* Puts a slot to a position of the index; the entries from there on move by one. */
static inline void put_at(struct gt_live *l, size_t at, uint64_t hash, uint32_t slot)
{
	size_t free = at;

	while (l->tags[free])
		free = (free + 1) & l->mask;
	while (free != at) {
		size_t before = (free - 1) & l->mask;

		l->index[free] = l->index[before];
		l->tags[free] = farther(l->tags[before]);
		free = before;
	}
	l->index[at] = slot + 1;
	l->tags[at] = gt_live_tag(hash, (at - hash) & l->mask);
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
		__builtin_prefetch(&l->index[hashes[count] & l->mask], 1);
		__builtin_prefetch(&l->tags[hashes[count] & l->mask], 1);
		count++;
	}
	for (size_t i = 0; i < count; i++) {
		size_t at = hashes[i] & l->mask;

		while (l->tags[at] && distance_at(l, at) >= ((at - hashes[i]) & l->mask))
			at = (at + 1) & l->mask;
		put_at(l, at, hashes[i], slots[i]);
	}
}

static int grow_index(struct gt_live *l)
{
	size_t size = l->index ? (l->mask + 1) * 2 : FIRST_INDEX;
	uint32_t *index = gt_table_alloc(size * sizeof *index);
	uint8_t *tags = gt_table_alloc(size);

	if (!index || !tags) {
		gt_table_free(index);
		gt_table_free(tags);
		return -ENOMEM;
	}
	gt_table_free(l->index);
	gt_table_free(l->tags);
	l->index = index;
	l->tags = tags;
	l->mask = size - 1;
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

/*
 * How many chunks the next allocation is of. The traced process's heap is measured: a few large
 * allocations disturb it less than many.
 */
static size_t batch_after(size_t chunk_count)
{
	if (chunk_count < BATCH)
		return 1;
	return chunk_count / BATCH_PART > BATCH ? chunk_count / BATCH_PART : BATCH;
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

/* Takes a chunk of free entries; a free entry has no function. */
static int take_chunk(struct gt_live *l, struct gt_live_arena *arena)
{
	uint32_t chunk;

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

static int take_slot(struct gt_live *l, uint16_t process, uint32_t *slot)
{
	struct gt_live_arena *arena = arena_of(l, process);

	if (!arena || (!arena->free_slot && !arena->left && take_chunk(l, arena)))
		return -ENOMEM;
	if (arena->free_slot) {
		*slot = arena->free_slot - 1;
		arena->free_slot = gt_live_at(l, *slot)->refs;
	} else {
		*slot = arena->fresh++;
		arena->left--;
		l->slots_used++;
	}
	arena->count++;
	return 0;
}

/* The process has no entries left: its chunks are free for others, as processes come and go. */
static void release_chunks(struct gt_live *l, struct gt_live_arena *arena)
{
	while (arena->chunk) {
		uint32_t chunk = arena->chunk - 1;

		arena->chunk = l->next_chunk[chunk];
		l->next_chunk[chunk] = l->free_chunk;
		l->free_chunk = chunk + 1;
	}
	*arena = (struct gt_live_arena){ 0 };
}

static void give_slot(struct gt_live *l, uint32_t slot)
{
	struct gt_entry *entry = gt_live_at(l, slot);
	struct gt_live_arena *arena = &l->arenas[entry->process];

	entry->refs = arena->free_slot;
	entry->function = GT_FN_NONE;
	arena->free_slot = slot + 1;
	if (!--arena->count)
		release_chunks(l, arena);
}

static bool is_full(const struct gt_live *l)
{
	return !l->index || (l->count + 1) * 8 > (l->mask + 1) * 7;
}

/* Puts an entry to its position in the index, which is not full. */
static struct gt_entry *put(struct gt_live *l, const struct gt_entry *entry, uint64_t hash,
			    size_t i)
{
	struct gt_entry *e;
	uint32_t slot;

	if (take_slot(l, entry->process, &slot))
		return NULL;
	e = gt_live_at(l, slot);
	*e = *entry;
	put_at(l, i, hash, slot);
	l->count++;
	l->changed_slot = slot;
	return e;
}

struct gt_entry *gt_live_add(struct gt_live *l, const struct gt_entry *entry)
{
	uint64_t hash = gt_entry_hash(entry);
	size_t i;

	if (is_full(l) && grow_index(l))
		return NULL;
	probe_hash(l, hash, entry->process, gt_entry_kind(entry), entry->handle, entry->place, &i);
	return put(l, entry, hash, i);
}

/* Closes the gap: the entries behind it move by one, up to one that is where its hash starts. */
static void unlink_index(struct gt_live *l, size_t gap)
{
	for (size_t i = (gap + 1) & l->mask; l->tags[i] & GT_TAG_FAR; i = (i + 1) & l->mask) {
		size_t distance = distance_at(l, i) - 1;

		l->index[gap] = l->index[i];
		l->tags[gap] = (uint8_t)((l->tags[i] & ~GT_TAG_FAR) |
					 (distance < GT_TAG_FAR ? distance : GT_TAG_FAR));
		gap = i;
	}
	l->index[gap] = 0;
	l->tags[gap] = 0;
}

void gt_live_remove_at(struct gt_live *l, size_t i)
{
	uint32_t slot = l->index[i] - 1;

	unlink_index(l, i);
	give_slot(l, slot);
	l->count--;
	l->changed_slot = slot;
}

static struct gt_entry *find_at(const struct gt_live *l, uint16_t process, enum gt_kind kind,
				uint64_t handle, uint16_t place)
{
	size_t i;

	if (!l->index || !probe(l, process, kind, handle, place, &i))
		return NULL;
	return gt_live_at(l, l->index[i] - 1);
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
		       l->index[i] - 1 :
		       UINT32_MAX;
}

size_t gt_live_slots(const struct gt_live *l)
{
	return l->chunk_count * CHUNK;
}

struct gt_entry gt_live_entry_of(const struct gt_event *e, uint16_t process)
{
	return (struct gt_entry){ .handle = e->handle,
				  .size = e->size,
				  .owner = e->owner,
				  .time_ns = e->time_ns,
				  .stack = e->stack,
				  .tid = e->tid,
				  .refs = 1,
				  .function = e->function,
				  .place = e->place < 64 ? e->place : 0,
				  .process = process };
}

struct gt_entry *gt_live_bear(struct gt_live *l, const struct gt_event *e, uint16_t process,
			      uint64_t hash)
{
	struct gt_entry fresh = gt_live_entry_of(e, process);
	size_t i;

	if (is_full(l) ||
	    probe_hash(l, hash, process, gt_entry_kind(&fresh), e->handle, fresh.place, &i))
		return NULL;
	return put(l, &fresh, hash, i);
}

struct gt_entry *gt_live_seek(const struct gt_live *l, const struct gt_event *e, uint16_t process,
			      uint64_t hash, size_t *at)
{
	enum gt_kind kind = (enum gt_kind)gt_functions[e->function].kind;
	uint16_t place = e->place < 64 ? e->place : 0;

	if (!l->index || !probe_hash(l, hash, process, kind, e->handle, place, at))
		return NULL;
	return gt_live_at(l, l->index[*at] - 1);
}

static enum gt_change create(struct gt_live *l, const struct gt_event *e, uint16_t process,
			     struct gt_entry **entry, struct gt_entry *gone)
{
	enum gt_kind kind = (enum gt_kind)gt_functions[e->function].kind;
	bool has_room = !is_full(l) || !grow_index(l);
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
	bool is_there = l->index && probe(l, process, kind, e->handle, place, &i);

	/* profilers name the device that is current, which need not be the block's */
	if (place && l->index && !is_there)
		is_there = probe(l, process, kind, e->handle, 0, &i);
	if (!is_there)
		return gt_kinds[kind].habits & GT_BORROWED ? GT_CHANGE_NONE : GT_CHANGE_UNKNOWN;
	*entry = gt_live_at(l, l->index[i] - 1);
	if (!whole && (*entry)->refs > 1) {
		(*entry)->refs--;
		return GT_CHANGE_RELEASED;
	}
	if (gone)
		*gone = **entry;
	*entry = NULL;
	gt_live_remove_at(l, i);
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
		gt_live_remove_at(l, i);
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
	       (l->index ? (l->mask + 1) * (sizeof *l->index + sizeof *l->tags) : 0);
}

void gt_live_fini(struct gt_live *l)
{
	for (size_t i = 0; i < l->chunk_count; i += batch_after(i))
		gt_table_free(l->chunks[i]);
	gt_table_free(l->chunks);
	gt_table_free(l->next_chunk);
	gt_table_free(l->arenas);
	gt_table_free(l->index);
	gt_table_free(l->tags);
	*l = (struct gt_live){ 0 };
}
