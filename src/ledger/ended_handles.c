/* SPDX-License-Identifier: MIT */
/* ended_handles.c - handles that ended a while ago, with the lifetime that each had. */
#include "ledger/ended_handles.h"

#include <stdlib.h>

#include "base/mem.h"

enum { ENDED_MAX = GT_ENDED_MAX, FIRST_HEADS = 1024, HEADS_EACH = 4, CACHE_LINE = 64 };

_Static_assert(sizeof(struct gt_ended_handle) == CACHE_LINE, "an end touches one line of the list");

void gt_ended_handles_fini(struct gt_ended_handles *ended)
{
	free(ended->memory);
	free(ended->heads);
	*ended = (struct gt_ended_handles){ 0 };
}

static inline uint32_t *head_of(const struct gt_ended_handles *ended, uint64_t hash)
{
	return &ended->heads[hash & (ended->head_count - 1)];
}

static void forget(struct gt_ended_handles *ended, uint32_t index)
{
	uint32_t *link = head_of(ended, gt_entry_hash(&ended->list[index].entry));

	while (*link && *link != index + 1)
		link = &ended->list[*link - 1].next;
	if (*link)
		*link = ended->list[index].next;
}

static inline struct gt_ended_handle *find(const struct gt_ended_handles *ended, uint64_t hash,
					   uint32_t process, enum gt_kind kind, uint64_t handle)
{
	if (!ended->list)
		return NULL;
	for (uint32_t i = *head_of(ended, hash); i; i = ended->list[i - 1].next) {
		struct gt_ended_handle *d = &ended->list[i - 1];

		if (d->entry.handle == handle && d->entry.process == process &&
		    gt_kinds[gt_entry_kind(&d->entry)].family == gt_kinds[kind].family)
			return d;
	}
	return NULL;
}

const struct gt_ended_handle *gt_ended_handles_find(struct gt_ended_handles *ended,
						    const struct gt_event *event, uint32_t process)
{
	gt_ended_handles_add_recent(ended);
	return find(ended, gt_event_hash(event, process), process,
		    (enum gt_kind)gt_functions[event->function].kind, event->handle);
}

static void link_in(struct gt_ended_handles *ended, uint32_t index, uint64_t hash)
{
	uint32_t *head = head_of(ended, hash);

	ended->list[index].next = *head;
	*head = index + 1;
}

/* Makes room for as many more handles as there are recent ends. */
static void reserve(struct gt_ended_handles *ended)
{
	size_t wanted = ended->count + ended->recent_count, room = ended->head_count;

	if (!ended->list) {
		ended->memory = gt_alloc((ENDED_MAX + 1) * sizeof *ended->list);
		ended->list = (void *)(((uintptr_t)ended->memory + CACHE_LINE - 1) &
				       ~(uintptr_t)(CACHE_LINE - 1));
		room = FIRST_HEADS;
	}
	/* few share a head: the way to the second in a chain is one that nobody fetched before */
	while (room < HEADS_EACH * wanted && room < HEADS_EACH * ENDED_MAX)
		room *= 2;
	if (room == ended->head_count)
		return;
	free(ended->heads);
	ended->heads = gt_alloc(room * sizeof *ended->heads);
	ended->head_count = room;
	/* in the first round of the ring alone: there are all heads before its end */
	for (size_t i = 0; i < ended->count; i++)
		link_in(ended, (uint32_t)i, gt_entry_hash(&ended->list[i].entry));
}

static void add(struct gt_ended_handles *ended, const struct gt_recent_end *end)
{
	struct gt_ended_handle *d = find(ended, end->hash, end->entry.process,
					 gt_entry_kind(&end->entry), end->entry.handle);
	uint32_t index;

	/* a reused handle is remembered once, however often it ends */
	if (!d) {
		index = (uint32_t)(ended->count++ % ENDED_MAX);
		if (ended->count > ENDED_MAX)
			forget(ended, index);
		d = &ended->list[index];
		link_in(ended, index, end->hash);
	}
	d->entry = end->entry;
	d->ended_stack = end->ended_stack;
	d->ended_ns = end->ended_ns;
}

void gt_ended_handles_add_recent(struct gt_ended_handles *ended)
{
	if (!ended->recent_count)
		return;
	reserve(ended);
	for (size_t i = 0; i < ended->recent_count; i++)
		__builtin_prefetch(head_of(ended, ended->recent[i].hash), 1);
	for (size_t i = 0; i < ended->recent_count; i++) {
		uint32_t index = *head_of(ended, ended->recent[i].hash);

		if (index)
			__builtin_prefetch(&ended->list[index - 1], 1);
	}
	for (size_t i = 0; i < ended->recent_count; i++)
		add(ended, &ended->recent[i]);
	ended->recent_count = 0;
}

void gt_ended_handles_forget(struct gt_ended_handles *ended,
			     bool (*is_gone)(const void *context, uint16_t process),
			     const void *context)
{
	size_t used;

	gt_ended_handles_add_recent(ended);
	used = ended->count < ENDED_MAX ? ended->count : ENDED_MAX;
	for (size_t i = 0; i < used; i++) {
		struct gt_entry *e = &ended->list[i].entry;

		if (!is_gone(context, e->process))
			continue;
		forget(ended, (uint32_t)i);
		/* in no chain: forgotten again when its place is needed, which then finds nothing
		 */
		e->process = UINT16_MAX;
	}
}
