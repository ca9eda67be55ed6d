/* SPDX-License-Identifier: MIT */
/*
 * live.h - the living resources: an entry each, and the rule by which events change them.
 *
 * Serves the traced process and the reports. Allocates with malloc and reports failure to the
 * caller. Not locked; an entry's address is valid until the next change.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "event/event.h"

struct gt_entry {
	uint64_t handle, size, owner, time_ns;
	uint32_t stack, tid, refs;
	uint16_t function : 10, place : 6; /* more places than 63 are shown as unknown */
	uint16_t process;
};

_Static_assert(sizeof(struct gt_entry) == 48, "the price of a live handle");
_Static_assert(GT_FN_COUNT <= 1 << 10, "rows must fit gt_entry.function");

/* Each process has its own chunks of entries: these are found without walking all others. */
struct gt_live_arena {
	uint32_t chunk;       /* chunk + 1 of the newest, chained */
	uint32_t fresh, left; /* the newest chunk's first unused slot; how many are unused */
	uint32_t free_slot;   /* slot + 1 of the first free entry, chained through `refs` */
	uint32_t count;
};

struct gt_live_bucket;

/*
 * Entries are found through an open-addressing hash table of their slots. It is its own because a
 * live handle must cost at most 64 bytes with its entry, because running out of memory must be an
 * error code in the traced process, and because entries are removed without leaving tombstones.
 */
struct gt_live {
	struct gt_entry **chunks;
	uint32_t *next_chunk; /* by chunk: chunk + 1 of the one before it in its arena */
	size_t chunk_count, chunk_room;
	uint32_t free_chunk;          /* chunk + 1 of the first that no process uses */
	struct gt_live_arena *arenas; /* by process */
	size_t arena_count;
	struct gt_live_bucket *buckets; /* slots by hash, see live_index.h */
	void *bucket_memory;            /* that they lie in */
	size_t bucket_count;
	size_t index_room; /* entries before it has to grow */
	size_t count;
	uint32_t slots_used;   /* one more than the highest slot that was ever in use */
	uint32_t changed_slot; /* of the latest entry that was born or ended */
};

enum gt_change {
	GT_CHANGE_NONE, /* a failed call, an append, a borrowed handle */
	GT_CHANGE_BORN,
	GT_CHANGE_REPLACED, /* born under a handle that was still alive: its end was not seen */
	GT_CHANGE_RETAINED,
	GT_CHANGE_RELEASED, /* one reference less, still alive */
	GT_CHANGE_ENDED,
	GT_CHANGE_UNKNOWN, /* retained or ended something that is not alive here */
	GT_CHANGE_NO_MEMORY,
};

/* Zeroed is initialised. */
void gt_live_fini(struct gt_live *l);

/*
 * Applies an event. `*entry` is what it concerned: the living entry, or in `*gone` a copy of the
 * one that ended or was replaced. Both may be NULL.
 */
enum gt_change gt_live_apply(struct gt_live *l, const struct gt_event *event, uint16_t process,
			     struct gt_entry **entry, struct gt_entry *gone);

/* Undoes GT_CHANGE_ENDED (given its `gone`) or GT_CHANGE_RELEASED: the call turned out to fail. */
int gt_live_restore(struct gt_live *l, const struct gt_entry *gone, enum gt_change change);

/* The entry that an event gives birth to. */
static inline struct gt_entry gt_live_entry_of(const struct gt_event *e, uint16_t process)
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
/*
 * Adds an entry that no creation gives birth to: a retain has shown that its handle is alive.
 * Nothing else may live under that handle. NULL: out of memory.
 */
struct gt_entry *gt_live_add(struct gt_live *l, const struct gt_entry *entry);

/* The living owner with which an entry dies (GT_OWNED); NULL for none, and for other kinds. */
const struct gt_entry *gt_live_owner_of(const struct gt_live *l, const struct gt_entry *entry);
/* True for an entry that dies with its owner (GT_OWNED) and whose owner is no longer alive. */
bool gt_live_is_orphan(const struct gt_live *l, const struct gt_entry *entry);
/*
 * True when `gone` takes the entry along (GT_TAKES): it owned it. The owner's kind is not recorded,
 * its API is.
 */
bool gt_live_goes_with(const struct gt_entry *entry, const struct gt_entry *gone);
/* The entry that `entry` keeps alive (gt_entry_holds); NULL for none that is known. */
struct gt_entry *gt_live_held_by(const struct gt_live *l, const struct gt_entry *entry);
/* True when an entry of this kind may keep `held` alive. */
bool gt_live_may_hold(enum gt_kind kind, const struct gt_entry *held);
/* Ends an entry without an event. */
void gt_live_remove(struct gt_live *l, const struct gt_entry *entry);

struct gt_entry *gt_live_find(const struct gt_live *l, uint16_t process, enum gt_kind kind,
			      uint64_t handle);
/* An entry's slot, an index for side tables: small, and reused when the entry is gone. */
uint32_t gt_live_slot(const struct gt_live *l, const struct gt_entry *entry);

/* One more than the last slot. */
size_t gt_live_slots(const struct gt_live *l);

/* Calls `each` on every entry, in no order, until it returns false. */
void gt_live_each(const struct gt_live *l,
		  bool (*each)(void *context, const struct gt_entry *entry), void *context);
/* The same for the entries of one process, at a cost independent of the others. */
void gt_live_each_of(const struct gt_live *l, uint16_t process,
		     bool (*each)(void *context, const struct gt_entry *entry), void *context);
/* Bytes allocated for all entries, index included. */
size_t gt_live_bytes(const struct gt_live *l);

enum { GT_LIVE_CHUNK = 64 };

/* The entry of a slot; of one that is not in use, its function is GT_FN_NONE. */
static inline struct gt_entry *gt_live_at(const struct gt_live *l, uint32_t slot)
{
	return &l->chunks[slot / GT_LIVE_CHUNK][slot % GT_LIVE_CHUNK];
}

/* Kinds of one family share their handles: one release function serves them all. */
static inline uint64_t gt_handle_hash(uint16_t process, enum gt_kind kind, uint64_t handle)
{
	return gt_mix64(handle ^ (uint64_t)gt_kinds[kind].family << 56 ^ (uint64_t)process << 40);
}

/* The same of the handle that an event names. */
static inline uint64_t gt_event_hash(const struct gt_event *e, uint32_t process)
{
	return gt_handle_hash((uint16_t)process, (enum gt_kind)gt_functions[e->function].kind,
			      e->handle);
}

static inline enum gt_kind gt_entry_kind(const struct gt_entry *entry)
{
	return (enum gt_kind)gt_functions[entry->function].kind;
}

static inline uint64_t gt_entry_hash(const struct gt_entry *entry)
{
	return gt_handle_hash(entry->process, gt_entry_kind(entry), entry->handle);
}

/* True if the entry keeps another one alive. */
static inline bool gt_entry_holds(const struct gt_entry *entry)
{
	return gt_kinds[gt_entry_kind(entry)].habits & GT_HOLDS && entry->owner;
}

/* The entry's bytes; 0 for a view of other memory and for what is not memory. */
static inline uint64_t gt_entry_bytes(const struct gt_entry *entry)
{
	return gt_kind_has_bytes(gt_entry_kind(entry)) ? entry->size : 0;
}
