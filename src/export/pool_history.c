/* SPDX-License-Identifier: MIT */
/* pool_history.c - a recording's device memory as segments and blocks, for PyTorch's snapshots. */
#include "export/pool_history.h"

#include <stdlib.h>

#include "api/results.h"
#include "base/mem.h"
#include "replay/replay.h"

enum { UNIT = 512 };

/* What lives in a slot of the ledger. */
struct gt_pool_birth {
	uint64_t address;
	uint64_t size;   /* the ledger moves bytes from segments to blocks; this is the whole */
	uint32_t number; /* of the birth */
	uint16_t place;
	bool is_known;
};

static bool is_block(enum gt_kind kind)
{
	return gt_kinds[kind].habits & GT_POOLED;
}

/* Ranges of addresses that blocks of a pool may lie in. */
static bool has_addresses(enum gt_kind kind)
{
	return gt_kinds[kind].family == GT_DEVICE_MEMORY || kind == GT_HELD_MAPPING;
}

static bool is_device_memory(enum gt_kind kind)
{
	return gt_kind_on_device(kind) || kind == GT_HELD_MAPPING;
}

static size_t device_of(struct gt_pool_history *h, uint16_t process, uint16_t place)
{
	for (size_t i = 0; i < h->device_count; i++)
		if (h->devices[i].process == process && h->devices[i].place == place)
			return i;
	GT_GROW(h->devices, h->device_count, h->device_room);
	h->devices[h->device_count] = (struct gt_pool_device){ process, place, 0 };
	return h->device_count++;
}

/* Snapshots have signed addresses. */
static bool is_told(enum gt_pool_role role, const struct gt_pool_birth *birth)
{
	return role != GT_POOL_BEHIND && role != GT_POOL_NOTHING && birth->size &&
	       birth->size <= INT64_MAX && birth->address <= INT64_MAX - birth->size;
}

/*
 * Addresses. A snapshot is of one process, whose memory does not overlap: other processes' is moved
 * away, and handles that are no addresses get some of their own.
 */
#define PROCESS_ROOM ((uint64_t)1 << 48)
#define OWN_ROOM     ((uint64_t)1 << 62)

static bool is_taken(const struct gt_pool_history *h, uint16_t process, uint64_t address)
{
	uint32_t slot;

	if (!gt_ranges_find(&h->ranges[process], address, &slot) || !h->births[slot].is_known)
		return false;
	address += process * PROCESS_ROOM;
	return address - h->births[slot].address < h->births[slot].size;
}

static bool keeps_address(const struct gt_pool_history *h, const struct gt_entry *e)
{
	if (e->handle >= PROCESS_ROOM || e->size > PROCESS_ROOM - e->handle ||
	    e->process >= OWN_ROOM / PROCESS_ROOM)
		return false;
	return is_block(gt_entry_kind(e)) ||
	       (has_addresses(gt_entry_kind(e)) && !is_taken(h, e->process, e->handle) &&
		!is_taken(h, e->process, e->handle + e->size - 1));
}

/* A mapping is where its memory is. */
static uint16_t place_of(const struct gt_ledger *l, const struct gt_entry *entry)
{
	const struct gt_entry *held =
		gt_entry_kind(entry) == GT_HELD_MAPPING ? gt_live_held_by(&l->live, entry) : NULL;

	return held ? held->place : entry->place;
}

/* The same in each reading. */
static void note_birth(struct gt_pool_history *h, const struct gt_ledger *l,
		       const struct gt_entry *e, uint32_t slot)
{
	struct gt_pool_birth birth = { .size = e->size,
				       .number = (uint32_t)h->births_read++,
				       .place = place_of(l, e),
				       .is_known = true };

	GT_REACH(h->births, h->slot_room, slot);
	GT_REACH(h->ranges, h->range_count, e->process);
	if (keeps_address(h, e)) {
		birth.address = e->handle + e->process * PROCESS_ROOM;
		if (!is_block(gt_entry_kind(e)))
			gt_ranges_put(&h->ranges[e->process], e->handle, e->size, slot);
	} else {
		birth.address = OWN_ROOM + h->own_used;
		h->own_used += e->size < OWN_ROOM ? (e->size + UNIT - 1) / UNIT * UNIT : 0;
	}
	h->births[slot] = birth;
}

static void begin_reading(struct gt_pool_history *h)
{
	for (size_t i = 0; i < h->range_count; i++) {
		gt_ranges_fini(&h->ranges[i]);
		h->ranges[i] = (struct gt_ranges){ 0 };
	}
	for (size_t i = 0; i < h->slot_room; i++)
		h->births[i].is_known = false;
	h->births_read = h->own_used = 0;
}

/* The first reading: roles. */

struct roles {
	struct gt_pool_history *history;
	const struct gt_ledger *ledger;
};

/* Blocks lie in it. Returns the address after it. */
static uint64_t mark_segment(struct roles *r, uint16_t process, uint32_t slot)
{
	struct gt_pool_history *h = r->history;
	const struct gt_pool_birth *birth = &h->births[slot];
	const struct gt_entry *segment = gt_live_at(&r->ledger->live, slot), *behind = NULL;
	uint32_t other;

	h->roles[birth->number] = GT_POOL_SEGMENT;
	if (gt_entry_kind(segment) == GT_HELD_MAPPING)
		behind = gt_live_held_by(&r->ledger->live, segment);
	other = behind ? gt_live_slot(&r->ledger->live, behind) : UINT32_MAX;
	if (other < h->slot_room && h->births[other].is_known)
		h->roles[h->births[other].number] = GT_POOL_BEHIND;
	return birth->address - process * PROCESS_ROOM + birth->size;
}

/* A block may lie in several adjacent mappings. */
static void find_segments(struct roles *r, const struct gt_entry *block)
{
	struct gt_pool_history *h = r->history;
	uint64_t at = block->handle, end = block->handle + block->size;
	uint32_t slot;

	while (at < end && is_taken(h, block->process, at) &&
	       gt_ranges_find(&h->ranges[block->process], at, &slot) &&
	       h->roles[h->births[slot].number] != GT_POOL_BLOCK)
		at = mark_segment(r, block->process, slot);
}

static void first_born(void *context, const struct gt_entry *entry, uint32_t slot)
{
	struct roles *r = context;
	struct gt_pool_history *h = r->history;
	enum gt_kind kind = gt_entry_kind(entry);

	if (!is_device_memory(kind))
		return;
	note_birth(h, r->ledger, entry, slot);
	device_of(h, entry->process, h->births[slot].place);
	GT_REACH(h->roles, h->role_room, h->births[slot].number);
	h->roles[h->births[slot].number] = kind == GT_CACHED_MEMORY || kind == GT_OWN_SEGMENT ?
						   GT_POOL_SEGMENT :
					   is_block(kind)          ? GT_POOL_BLOCK :
					   kind == GT_HELD_MAPPING ? GT_POOL_NOTHING :
								     GT_POOL_PLAIN;
	if (is_block(kind))
		find_segments(r, entry);
}

static void forget_birth(struct gt_pool_history *h, uint32_t slot, enum gt_ended_by by)
{
	if (slot < h->slot_room && by != GT_ENDED_BY_PROCESS)
		h->births[slot].is_known = false;
}

static void first_ended(void *context, const struct gt_entry *entry, uint32_t slot,
			enum gt_ended_by by)
{
	struct roles *r = context;

	(void)entry;
	forget_birth(r->history, slot, by);
}

static void first_before(void *context, const struct gt_ledger *l, uint64_t time_ns)
{
	struct roles *r = context;

	(void)time_ns;
	r->ledger = l;
}

static bool add_rest(void *context, const struct gt_entry *entry)
{
	struct roles *r = context;
	struct gt_pool_history *h = r->history;
	uint32_t slot = gt_live_slot(&r->ledger->live, entry);
	const struct gt_pool_birth *birth = slot < h->slot_room ? &h->births[slot] : NULL;
	enum gt_pool_role role;

	if (!birth || !birth->is_known || !is_device_memory(gt_entry_kind(entry)))
		return true;
	role = h->roles[birth->number];
	if (!is_told(role, birth))
		return true;
	GT_GROW(h->rest, h->rest_count, h->rest_room);
	h->rest[h->rest_count++] = (struct gt_pool_rest){
		.address = birth->address,
		.size = birth->size,
		.stack = entry->stack,
		.device = (uint32_t)device_of(h, entry->process, birth->place),
		.role = role,
	};
	return true;
}

static int by_address(const void *a, const void *b)
{
	const struct gt_pool_rest *x = a, *y = b;

	if (x->device != y->device)
		return x->device < y->device ? -1 : 1;
	if (x->address != y->address)
		return x->address < y->address ? -1 : 1;
	if (x->role != y->role)
		return x->role < y->role ? -1 : 1;
	return (x->size > y->size) - (x->size < y->size);
}

/* The number that a device has in its name, "GPU 3: …", if no two devices would share one. */
static bool number_by_name(struct gt_pool_history *h)
{
	for (size_t i = 0; i < h->device_count; i++) {
		const char *name = gt_recording_place(h->export->recording, h->devices[i].place);

		if (sscanf(name, "GPU %u", &h->devices[i].number) != 1 ||
		    h->devices[i].number > h->device_count + 64)
			return false;
		for (size_t k = 0; k < i; k++)
			if (h->devices[k].number == h->devices[i].number)
				return false;
	}
	return true;
}

static void number_devices(struct gt_pool_history *h)
{
	if (number_by_name(h))
		return;
	for (size_t i = 0; i < h->device_count; i++)
		h->devices[i].number = (uint32_t)i;
}

static struct gt_ledger *replay(const struct gt_export *e, const struct gt_live_observer *observer,
				struct gt_replay *how)
{
	how->observer = observer;
	how->context = observer->context;
	how->out = e->out;
	how->tick = e->tick;
	return gt_replay_run(e->recording, how);
}

void gt_pool_history_init(struct gt_pool_history *h, const struct gt_export *e)
{
	struct roles r = { .history = h };
	struct gt_live_observer observer = { .born = first_born,
					     .ended = first_ended,
					     .context = &r };
	struct gt_ledger *l;

	*h = (struct gt_pool_history){ .export = e };
	r.ledger = l = replay(e, &observer, &(struct gt_replay){ .before = first_before });
	gt_live_each(&l->live, add_rest, &r);
	gt_ledger_free(l);
	if (h->rest_count)
		qsort(h->rest, h->rest_count, sizeof *h->rest, by_address);
	number_devices(h);
}

void gt_pool_history_fini(struct gt_pool_history *h)
{
	for (size_t i = 0; i < h->range_count; i++)
		gt_ranges_fini(&h->ranges[i]);
	free(h->ranges);
	free(h->births);
	free(h->roles);
	free(h->rest);
	free(h->devices);
}

/* Another reading, for one device. */

struct reading {
	struct gt_pool_history *history;
	const struct gt_pool_device *device;
	void (*each)(void *context, const struct gt_pool_event *event);
	void *context;
	const struct gt_ledger *ledger;
	uint64_t now_ns;
};

static void tell(const struct reading *r, enum gt_pool_event_type type,
		 const struct gt_entry *entry, const struct gt_pool_birth *birth)
{
	enum gt_pool_role role = r->history->roles[birth->number];

	if (entry->process != r->device->process || birth->place != r->device->place ||
	    !is_told(role, birth))
		return;
	r->each(r->context, &(struct gt_pool_event){ .type = type,
						     .role = role,
						     .address = birth->address,
						     .size = birth->size,
						     .time_ns = r->now_ns,
						     .stack = entry->stack });
}

static void born(void *context, const struct gt_entry *entry, uint32_t slot)
{
	struct reading *r = context;
	struct gt_pool_history *h = r->history;

	if (!is_device_memory(gt_entry_kind(entry)))
		return;
	note_birth(h, r->ledger, entry, slot);
	tell(r, GT_POOL_BORN, entry, &h->births[slot]);
}

static void ended(void *context, const struct gt_entry *entry, uint32_t slot, enum gt_ended_by by)
{
	struct reading *r = context;
	struct gt_pool_history *h = r->history;

	if (slot < h->slot_room && h->births[slot].is_known && by != GT_ENDED_BY_PROCESS)
		tell(r, GT_POOL_ENDED, entry, &h->births[slot]);
	forget_birth(h, slot, by);
}

static void before(void *context, const struct gt_ledger *l, uint64_t time_ns)
{
	struct reading *r = context;

	r->ledger = l;
	r->now_ns = time_ns;
}

/* The first device of a process has what nobody knows the device of. */
static bool is_on_device(const struct reading *r, const struct gt_event *event, uint32_t process)
{
	const struct gt_pool_device *first = r->history->devices;

	if (process != r->device->process)
		return false;
	if (event->place)
		return event->place == r->device->place;
	while (first->process != process)
		first++;
	return first == r->device;
}

static void look_for_shortage(void *context, const struct gt_ledger *l,
			      const struct gt_event *event, uint32_t process)
{
	struct reading *r = context;
	const struct gt_function *fn = &gt_functions[event->function];

	(void)l;
	if (!event->failed || fn->effect != GT_CREATE || !is_on_device(r, event, process) ||
	    !gt_result_is_out_of_memory(fn->api, event->result))
		return;
	r->each(r->context, &(struct gt_pool_event){ .type = GT_POOL_SHORTAGE,
						     .size = event->size,
						     .time_ns = event->time_ns,
						     .stack = event->stack });
}

void gt_pool_history_each(struct gt_pool_history *h, size_t device,
			  void (*each)(void *context, const struct gt_pool_event *event),
			  void *context)
{
	struct reading r = {
		.history = h, .device = &h->devices[device], .each = each, .context = context
	};
	struct gt_live_observer observer = { .born = born, .ended = ended, .context = &r };

	begin_reading(h);
	gt_ledger_free(replay(h->export, &observer,
			      &(struct gt_replay){ .before = before, .each = look_for_shortage }));
}
