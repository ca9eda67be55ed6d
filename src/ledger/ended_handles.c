/* SPDX-License-Identifier: MIT */
/* ended_handles.c - handles that ended a while ago, with the lifetime that each had. */
#include "ledger/ended_handles.h"

#include <stdlib.h>

#include "base/mem.h"

enum { ENDED_MAX = GT_ENDED_MAX };

void gt_ended_handles_fini(struct gt_ended_handles *ended)
{
	free(ended->list);
	free(ended->heads);
	*ended = (struct gt_ended_handles){ 0 };
}

static void forget(struct gt_ended_handles *ended, uint32_t index)
{
	uint32_t *link = &ended->heads[gt_entry_hash(&ended->list[index].entry) % ENDED_MAX];

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
	for (uint32_t i = ended->heads[hash % ENDED_MAX]; i; i = ended->list[i - 1].next) {
		struct gt_ended_handle *d = &ended->list[i - 1];

		if (d->entry.handle == handle && d->entry.process == process &&
		    gt_kinds[gt_entry_kind(&d->entry)].family == gt_kinds[kind].family)
			return d;
	}
	return NULL;
}

const struct gt_ended_handle *gt_ended_handles_find(const struct gt_ended_handles *ended,
						    const struct gt_event *event, uint32_t process)
{
	return find(ended, gt_event_hash(event, process), process,
		    (enum gt_kind)gt_functions[event->function].kind, event->handle);
}

void gt_ended_handles_add(struct gt_ended_handles *ended, const struct gt_entry *entry,
			  uint64_t hash, const struct gt_event *event)
{
	struct gt_ended_handle *d =
		find(ended, hash, entry->process, gt_entry_kind(entry), entry->handle);
	uint32_t index, *head;

	/* a reused handle is remembered once, however often it ends */
	if (!d) {
		if (!ended->list) {
			ended->list = gt_alloc(ENDED_MAX * sizeof *ended->list);
			ended->heads = gt_alloc(ENDED_MAX * sizeof *ended->heads);
		}
		index = (uint32_t)(ended->count++ % ENDED_MAX);
		if (ended->count > ENDED_MAX)
			forget(ended, index);
		d = &ended->list[index];
		head = &ended->heads[hash % ENDED_MAX];
		d->next = *head;
		*head = index + 1;
	}
	d->entry = *entry;
	d->ended_stack = event->stack;
	d->ended_ns = event->time_ns;
}

void gt_ended_handles_forget(struct gt_ended_handles *ended,
			     bool (*is_gone)(const void *context, uint16_t process),
			     const void *context)
{
	size_t used = ended->count < ENDED_MAX ? ended->count : ENDED_MAX;

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
