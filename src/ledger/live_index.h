/* SPDX-License-Identifier: MIT */
/*
 * live_index.h - the index of the living resources: finds, adds and removes an entry by its hash.
 *
 * Robin Hood hashing: entries lie in the order in which their hashes start, so that a search ends
 * at the first one that starts behind it. Beside each position lies a tag, and eight tags are
 * compared at once: how far an entry is from where its hash starts cannot be foreseen, and a branch
 * for each position would cost more than everything else here. For live.c, and for the ledger,
 * which does this for every event.
 */
#pragma once

#include <errno.h>

#include "ledger/live.h"

enum { GT_TAG_FAR = 15, GT_TAGS_AT_ONCE = 8 };

#define GT_TAG_BYTES  UINT64_C(0x0101010101010101)
#define GT_TAG_TOPS   (0x80 * GT_TAG_BYTES)
#define GT_TAG_COUNTS UINT64_C(0x0706050403020100) /* the distance of each of eight positions */

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "the first of eight tags is the lowest");

/*
 * Four bits of a hash, never 0, and four for the distance of its entry's position from where the
 * hash starts; GT_TAG_FAR: as far or farther. An entry can be moved without looking at it.
 */
static inline uint8_t gt_live_tag(uint64_t hash, size_t distance)
{
	return (uint8_t)((hash >> 60 ? hash >> 60 : 1) << 4 |
			 (distance < GT_TAG_FAR ? distance : GT_TAG_FAR));
}

/* The tag of the same entry one position farther from where its hash starts. */
static inline uint8_t gt_live_farther(uint8_t tag)
{
	return (uint8_t)(tag + ((tag & GT_TAG_FAR) != GT_TAG_FAR));
}

/* How far the entry at a position is from where its hash starts. */
static inline size_t gt_live_distance(const struct gt_live *l, size_t i)
{
	size_t distance = l->tags[i] & GT_TAG_FAR;

	return distance < GT_TAG_FAR ?
		       distance :
		       (i - gt_entry_hash(gt_live_at(l, l->index[i] - 1))) & l->mask;
}

/* Two devices may each use one address; an event that does not know its device matches either. */
static inline bool gt_live_is_handle(const struct gt_entry *e, uint16_t process, enum gt_kind kind,
				     uint64_t handle, uint16_t place)
{
	return e->handle == handle && e->process == process &&
	       (e->place == place || !e->place || !place) &&
	       gt_kinds[gt_entry_kind(e)].family == gt_kinds[kind].family;
}

/* The eight tags from where a hash starts; false where the table ends before. */
static inline bool gt_live_tags(const struct gt_live *l, uint64_t hash, uint64_t *tags)
{
	size_t start = hash & l->mask;

	if (start + GT_TAGS_AT_ONCE > l->mask)
		return false;
	memcpy(tags, l->tags + start, sizeof *tags);
	return true;
}

/* The top bits of those of eight bytes that are 0; none of them is 1. */
static inline uint64_t gt_live_zeroes(uint64_t bytes)
{
	return (bytes - GT_TAG_BYTES) & ~bytes & GT_TAG_TOPS;
}

/* … of those of eight tags that may be of an entry with this hash. */
static inline uint64_t gt_live_candidates(uint64_t tags, uint64_t hash)
{
	return gt_live_zeroes(tags ^ (gt_live_tag(hash, 0) * GT_TAG_BYTES + GT_TAG_COUNTS));
}

/* … of those of eight tags that a search for this hash does not go beyond. */
static inline uint64_t gt_live_stops(uint64_t tags)
{
	uint64_t distances = tags & GT_TAG_FAR * GT_TAG_BYTES;

	/* nearer to where their hashes start than they would be; the first may only be free */
	return (~((distances | GT_TAG_TOPS) - GT_TAG_COUNTS) & GT_TAG_TOPS) |
	       (tags & 0xff ? 0 : 0x80);
}

/*
 * True if the handle with this hash is in the index: at `*at`. Otherwise that is where it belongs.
 * One position after the other.
 */
bool gt_live_probe(const struct gt_live *l, uint64_t hash, uint16_t process, enum gt_kind kind,
		   uint64_t handle, uint16_t place, size_t *at);

/* Puts a slot to a position of the index; the entries from there on move by one. */
static inline void gt_live_put_at(struct gt_live *l, size_t at, uint64_t hash, uint32_t slot)
{
	size_t free = at;

	while (l->tags[free])
		free = (free + 1) & l->mask;
	while (free != at) {
		size_t before = (free - 1) & l->mask;

		l->index[free] = l->index[before];
		l->tags[free] = gt_live_farther(l->tags[before]);
		free = before;
	}
	l->index[at] = slot + 1;
	l->tags[at] = gt_live_tag(hash, (at - hash) & l->mask);
}

/* Gives the process free entries, if it has none; a free entry has no function. */
int gt_live_take_chunk(struct gt_live *l, uint16_t process);
/* The process has no entries left: its chunks are free for others, as processes come and go. */
void gt_live_release_chunks(struct gt_live *l, struct gt_live_arena *arena);

static inline int gt_live_take_slot(struct gt_live *l, uint16_t process, uint32_t *slot)
{
	struct gt_live_arena *arena;

	if (process >= l->arena_count ||
	    (!l->arenas[process].free_slot && !l->arenas[process].left))
		if (gt_live_take_chunk(l, process))
			return -ENOMEM;
	arena = &l->arenas[process];
	if (arena->free_slot) {
		*slot = arena->free_slot - 1;
		arena->free_slot = gt_live_at(l, *slot)->refs;
	} else {
		*slot = arena->fresh++;
		arena->left--;
		if (*slot >= l->slots_used)
			l->slots_used = *slot + 1;
	}
	arena->count++;
	return 0;
}

static inline void gt_live_give_slot(struct gt_live *l, uint32_t slot)
{
	struct gt_entry *entry = gt_live_at(l, slot);
	struct gt_live_arena *arena = &l->arenas[entry->process];

	entry->refs = arena->free_slot;
	entry->function = GT_FN_NONE;
	arena->free_slot = slot + 1;
	if (!--arena->count)
		gt_live_release_chunks(l, arena);
}

static inline bool gt_live_is_full(const struct gt_live *l)
{
	return !l->index || (l->count + 1) * 8 > (l->mask + 1) * 7;
}

/* Puts an entry to its position in the index, which is not full; NULL: out of memory. */
static inline struct gt_entry *gt_live_put(struct gt_live *l, const struct gt_entry *entry,
					   uint64_t hash, size_t at)
{
	struct gt_entry *e;
	uint32_t slot;

	if (gt_live_take_slot(l, entry->process, &slot))
		return NULL;
	e = gt_live_at(l, slot);
	*e = *entry;
	gt_live_put_at(l, at, hash, slot);
	l->count++;
	l->changed_slot = slot;
	return e;
}

/*
 * The usual cases of gt_live_apply, for callers that have the hash of the event's handle already.
 * The entry that the event gives birth to; NULL, and nothing is changed: there may be another with
 * its handle, or no memory.
 */
static inline struct gt_entry *gt_live_bear(struct gt_live *l, const struct gt_event *e,
					    uint16_t process, uint64_t hash)
{
	struct gt_entry fresh = gt_live_entry_of(e, process);
	uint64_t tags, stops;
	size_t at;

	if (gt_live_is_full(l))
		return NULL;
	stops = gt_live_tags(l, hash, &tags) ? gt_live_stops(tags) : 0;
	/* no candidate before the first stop: nothing has that handle */
	if (stops && !(gt_live_candidates(tags, hash) & (stops ^ (stops - 1)) >> 8))
		at = (hash & l->mask) + (size_t)__builtin_ctzll(stops) / 8;
	else if (gt_live_probe(l, hash, process, gt_entry_kind(&fresh), e->handle, fresh.place,
			       &at))
		return NULL;
	return gt_live_put(l, &fresh, hash, at);
}

/* The entry that the event names, and its position for gt_live_remove_at; NULL for none. */
static inline struct gt_entry *gt_live_seek(const struct gt_live *l, const struct gt_event *e,
					    uint16_t process, uint64_t hash, size_t *at)
{
	enum gt_kind kind = (enum gt_kind)gt_functions[e->function].kind;
	uint16_t place = e->place < 64 ? e->place : 0;
	uint64_t tags, candidates;
	struct gt_entry *entry;

	if (!l->index)
		return NULL;
	candidates = gt_live_tags(l, hash, &tags) ? gt_live_candidates(tags, hash) : 0;
	if (candidates) {
		*at = (hash & l->mask) + (size_t)__builtin_ctzll(candidates) / 8;
		entry = gt_live_at(l, l->index[*at] - 1);
		if (gt_live_is_handle(entry, process, kind, e->handle, place))
			return entry;
	}
	return gt_live_probe(l, hash, process, kind, e->handle, place, at) ?
		       gt_live_at(l, l->index[*at] - 1) :
		       NULL;
}

/* Closes the gap: the entries behind it move by one, up to one that is where its hash starts. */
static inline void gt_live_close_gap(struct gt_live *l, size_t gap)
{
	for (size_t i = (gap + 1) & l->mask; l->tags[i] & GT_TAG_FAR; i = (i + 1) & l->mask) {
		size_t distance = gt_live_distance(l, i) - 1;

		l->index[gap] = l->index[i];
		l->tags[gap] = (uint8_t)((l->tags[i] & ~GT_TAG_FAR) |
					 (distance < GT_TAG_FAR ? distance : GT_TAG_FAR));
		gap = i;
	}
	l->index[gap] = 0;
	l->tags[gap] = 0;
}

/* The entry's bytes but for `refs` and `function` stay as they are until the next birth. */
static inline void gt_live_remove_at(struct gt_live *l, size_t at)
{
	uint32_t slot = l->index[at] - 1;

	gt_live_close_gap(l, at);
	gt_live_give_slot(l, slot);
	l->count--;
	l->changed_slot = slot;
}

/* Begins to fetch what it takes to find a handle by its hash. */
static inline __attribute__((always_inline)) void gt_live_prefetch(const struct gt_live *l,
								   uint64_t hash)
{
	if (l->index) {
		__builtin_prefetch(&l->index[hash & l->mask], 1);
		__builtin_prefetch(&l->tags[hash & l->mask], 1);
	}
}

/* Where the entry of a hash probably is; GT_NO_SLOT: nowhere. */
struct gt_live_guess {
	uint32_t at, slot;
};

#define GT_NO_SLOT  UINT32_MAX
#define GT_NO_GUESS ((struct gt_live_guess){ 0, GT_NO_SLOT })

static inline struct gt_live_guess gt_live_guess(const struct gt_live *l, uint64_t hash)
{
	uint64_t tags, candidates;
	size_t at;

	if (!l->index || !gt_live_tags(l, hash, &tags))
		return GT_NO_GUESS;
	candidates = gt_live_candidates(tags, hash);
	if (!candidates)
		return GT_NO_GUESS;
	at = (hash & l->mask) + (size_t)__builtin_ctzll(candidates) / 8;
	return (struct gt_live_guess){ (uint32_t)at, l->index[at] - 1 };
}

/* As gt_live_seek, which it spares if the guess is still right. */
static inline struct gt_entry *gt_live_seek_guess(const struct gt_live *l, const struct gt_event *e,
						  uint16_t process, uint64_t hash,
						  const struct gt_live_guess *guess, size_t *at)
{
	*at = guess->at;
	if (guess->slot != GT_NO_SLOT && l->index[guess->at] == guess->slot + 1 &&
	    gt_live_is_handle(gt_live_at(l, guess->slot), process,
			      (enum gt_kind)gt_functions[e->function].kind, e->handle,
			      e->place < 64 ? e->place : 0))
		return gt_live_at(l, guess->slot);
	return gt_live_seek(l, e, process, hash, at);
}
