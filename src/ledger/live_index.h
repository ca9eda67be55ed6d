/* SPDX-License-Identifier: MIT */
/*
 * live_index.h - the index of the living resources: finds, adds and removes an entry by its hash.
 *
 * An open-addressing hash table of buckets, each of which is one line of the cache: with many
 * resources, an event waits for that line and the entry's, and for nothing else. A bucket has a tag
 * of each entry's hash, and all tags are compared at once. An entry whose bucket is full goes to
 * the next one with room. Each bucket counts the entries that passed it, so a search knows where to
 * end, and no entry moves when another is removed. For live.c, and for the ledger, which does this
 * for every event.
 */
#pragma once

#include <errno.h>

#include "ledger/live.h"

enum {
	GT_BUCKET_SLOTS = 12,
	GT_BUCKET_SHIFT = 4,  /* a position: the bucket's number, then the place within it */
	GT_BUCKET_BYTES = 64, /* a line of the cache */
};

struct gt_live_bucket {
	uint8_t tags[GT_BUCKET_SLOTS]; /* 0: free */
	uint32_t passed;               /* entries that lie further on because it was full */
	uint32_t slots[GT_BUCKET_SLOTS];
};

_Static_assert(sizeof(struct gt_live_bucket) == GT_BUCKET_BYTES, "a line of the cache");
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
	       "gt_live_places numbers bytes from the lowest");

/* The upper bits of a hash, never 0. The bucket comes from the lower half. */
static inline uint8_t gt_live_tag(uint64_t hash)
{
	uint8_t bits = (uint8_t)(hash >> 56);

	return (uint8_t)(bits + !bits);
}

static inline size_t gt_live_first_bucket(const struct gt_live *l, uint64_t hash)
{
	return (hash & UINT32_MAX) * l->bucket_count >> 32;
}

static inline size_t gt_live_next_bucket(const struct gt_live *l, size_t bucket)
{
	return bucket + 1 < l->bucket_count ? bucket + 1 : 0;
}

/* The places of a bucket with this tag, a bit for each; gt_live_place_of decodes the lowest. */
static inline uint64_t gt_live_places(const struct gt_live_bucket *b, uint8_t tag)
{
	typedef uint8_t bytes __attribute__((vector_size(16)));
	bytes tags, equal;
	uint64_t half[2];

	memcpy(&tags, b, sizeof tags);
	equal = (bytes)(tags == (bytes){ 0 } + tag);
	memcpy(half, &equal, sizeof half);
	/* bit 0 of each byte for the first eight places, bit 1 for the four after them */
	return (half[0] & UINT64_C(0x0101010101010101)) | (half[1] & 0x02020202);
}

static inline size_t gt_live_place_of(uint64_t places)
{
	unsigned int bit = (unsigned int)__builtin_ctzll(places);

	return bit / 8 + bit % 8 * 8;
}

static inline size_t gt_live_position(size_t bucket, size_t place)
{
	return bucket << GT_BUCKET_SHIFT | place;
}

static inline uint32_t gt_live_slot_at(const struct gt_live *l, size_t at)
{
	return l->buckets[at >> GT_BUCKET_SHIFT].slots[at % (1 << GT_BUCKET_SHIFT)];
}

/* True if the position is not free, and the slot's. */
static inline bool gt_live_is_slot_at(const struct gt_live *l, size_t at, uint32_t slot)
{
	return l->buckets[at >> GT_BUCKET_SHIFT].tags[at % (1 << GT_BUCKET_SHIFT)] &&
	       gt_live_slot_at(l, at) == slot;
}

/* Two devices may each use one address; an event that does not know its device matches either. */
static inline bool gt_live_is_handle(const struct gt_entry *e, uint16_t process, enum gt_kind kind,
				     uint64_t handle, uint16_t place)
{
	return e->handle == handle && e->process == process &&
	       (e->place == place || !e->place || !place) &&
	       gt_kinds[gt_entry_kind(e)].family == gt_kinds[kind].family;
}

/* Finds a handle in one bucket. */
static inline bool gt_live_is_in(const struct gt_live *l, size_t bucket, uint64_t hash,
				 uint16_t process, enum gt_kind kind, uint64_t handle,
				 uint16_t place, size_t *at)
{
	uint64_t places = gt_live_places(&l->buckets[bucket], gt_live_tag(hash));

	for (; places; places &= places - 1) {
		*at = gt_live_position(bucket, gt_live_place_of(places));
		if (gt_live_is_handle(gt_live_at(l, gt_live_slot_at(l, *at)), process, kind, handle,
				      place))
			return true;
	}
	return false;
}

/*
 * True if the handle with this hash is in the index, which is not full: at `*at`. Otherwise that is
 * where it belongs.
 */
bool gt_live_probe(const struct gt_live *l, uint64_t hash, uint16_t process, enum gt_kind kind,
		   uint64_t handle, uint16_t place, size_t *at);

/* Puts a slot at a free position that gt_live_probe found for its hash. */
static inline void gt_live_put_at(struct gt_live *l, size_t at, uint64_t hash, uint32_t slot)
{
	size_t bucket = gt_live_first_bucket(l, hash), place = at % (1 << GT_BUCKET_SHIFT);

	for (; bucket != at >> GT_BUCKET_SHIFT; bucket = gt_live_next_bucket(l, bucket))
		l->buckets[bucket].passed++;
	l->buckets[bucket].tags[place] = gt_live_tag(hash);
	l->buckets[bucket].slots[place] = slot;
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
	return l->count == l->index_room;
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
	const struct gt_live_bucket *b;
	uint64_t free_places;
	size_t at;

	if (gt_live_is_full(l))
		return NULL;
	b = &l->buckets[gt_live_first_bucket(l, hash)];
	free_places = gt_live_places(b, 0);
	/* the usual case: its bucket has room, no such tag, and was never passed */
	if (free_places && !b->passed && !gt_live_places(b, gt_live_tag(hash)))
		at = gt_live_position((size_t)(b - l->buckets), gt_live_place_of(free_places));
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

	if (!l->buckets)
		return NULL;
	return gt_live_is_in(l, gt_live_first_bucket(l, hash), hash, process, kind, e->handle,
			     place, at) ||
			       gt_live_probe(l, hash, process, kind, e->handle, place, at) ?
		       gt_live_at(l, gt_live_slot_at(l, *at)) :
		       NULL;
}

/*
 * The entry at a position, with this hash, is gone. Its bytes but for `refs` and `function` stay as
 * they are until the next birth.
 */
static inline void gt_live_remove_at(struct gt_live *l, size_t at, uint64_t hash)
{
	size_t bucket = gt_live_first_bucket(l, hash);
	uint32_t slot = gt_live_slot_at(l, at);

	for (; bucket != at >> GT_BUCKET_SHIFT; bucket = gt_live_next_bucket(l, bucket))
		l->buckets[bucket].passed--;
	l->buckets[bucket].tags[at % (1 << GT_BUCKET_SHIFT)] = 0;
	gt_live_give_slot(l, slot);
	l->count--;
	l->changed_slot = slot;
}

/* Begins to fetch what it takes to find a handle by its hash. */
static inline __attribute__((always_inline)) void gt_live_prefetch(const struct gt_live *l,
								   uint64_t hash)
{
	if (l->buckets)
		__builtin_prefetch(&l->buckets[gt_live_first_bucket(l, hash)], 1);
}

/* Once the bucket has been fetched: begins to fetch the next one if a search would go on to it. */
static inline void gt_live_prefetch_more(const struct gt_live *l, uint64_t hash)
{
	size_t bucket = gt_live_first_bucket(l, hash);

	if (l->buckets && (l->buckets[bucket].passed || !gt_live_places(&l->buckets[bucket], 0)))
		__builtin_prefetch(&l->buckets[gt_live_next_bucket(l, bucket)], 1);
}

/* Where the entry of a hash probably is; GT_NO_SLOT: nowhere. */
struct gt_live_guess {
	size_t at;
	uint32_t slot;
};

#define GT_NO_SLOT  UINT32_MAX
#define GT_NO_GUESS ((struct gt_live_guess){ 0, GT_NO_SLOT })

static inline struct gt_live_guess gt_live_guess(const struct gt_live *l, uint64_t hash)
{
	size_t bucket = gt_live_first_bucket(l, hash), at;
	uint64_t places;

	if (!l->buckets)
		return GT_NO_GUESS;
	places = gt_live_places(&l->buckets[bucket], gt_live_tag(hash));
	if (!places && l->buckets[bucket].passed) {
		bucket = gt_live_next_bucket(l, bucket);
		places = gt_live_places(&l->buckets[bucket], gt_live_tag(hash));
	}
	if (!places)
		return GT_NO_GUESS;
	at = gt_live_position(bucket, gt_live_place_of(places));
	return (struct gt_live_guess){ at, gt_live_slot_at(l, at) };
}

/* As gt_live_seek, which it spares if the guess is still right. */
static inline struct gt_entry *gt_live_seek_guess(const struct gt_live *l, const struct gt_event *e,
						  uint16_t process, uint64_t hash,
						  const struct gt_live_guess *guess, size_t *at)
{
	*at = guess->at;
	if (guess->slot != GT_NO_SLOT && gt_live_is_slot_at(l, guess->at, guess->slot) &&
	    gt_live_is_handle(gt_live_at(l, guess->slot), process,
			      (enum gt_kind)gt_functions[e->function].kind, e->handle,
			      e->place < 64 ? e->place : 0))
		return gt_live_at(l, guess->slot);
	return gt_live_seek(l, e, process, hash, at);
}
