/* SPDX-License-Identifier: MIT */
/* lifetimes.c - every birth and end that an event causes, and what keeps a resource alive. */
#include "ledger/lifetimes.h"

#include <stdlib.h>

#include "base/mem.h"

enum { PAGE = 4096 };

/* Entries that end together. */
struct leaving {
	const struct gt_entry *owner; /* that takes them along */
	const struct gt_event *event; /* or that names their range */
	struct gt_entry *entries;
	size_t count, room;
};

static bool is_within(const struct gt_entry *entry, const struct gt_event *event)
{
	return gt_kinds[gt_entry_kind(entry)].family ==
		       gt_kinds[gt_functions[event->function].kind].family &&
	       entry->handle >= event->handle && entry->handle - event->handle < event->size;
}

static bool collect_leaving(void *context, const struct gt_entry *entry)
{
	struct leaving *list = context;

	if (list->owner ? gt_live_goes_with(entry, list->owner) : is_within(entry, list->event)) {
		GT_GROW(list->entries, list->count, list->room);
		list->entries[list->count++] = *entry;
	}
	return true;
}

static void end(struct gt_live *l, const struct gt_live_observer *f, const struct gt_entry *entry,
		enum gt_ended_by by)
{
	gt_live_remove(l, entry);
	f->ended(f->context, entry, l->changed_slot, by);
}

/* Ends everything that `owner` takes along. */
static void take_along(struct gt_live *l, const struct gt_live_observer *f,
		       const struct gt_entry *owner)
{
	struct leaving list = { .owner = owner };

	gt_live_each_of(l, owner->process, collect_leaving, &list);
	for (size_t i = 0; i < list.count; i++)
		end(l, f, &list.entries[i], GT_ENDED_BY_OWNER);
	free(list.entries);
}

/* Each holder counts as a reference. */
static void take_hold(struct gt_live *l, const struct gt_entry *entry)
{
	struct gt_entry *held = gt_entry_holds(entry) ? gt_live_held_by(l, entry) : NULL;

	if (held)
		held->refs++;
}

static void let_go(struct gt_live *l, const struct gt_live_observer *f, const struct gt_entry *gone)
{
	struct gt_entry *held = gt_entry_holds(gone) ? gt_live_held_by(l, gone) : NULL, copy;

	if (!held || --held->refs)
		return;
	copy = *held;
	end(l, f, &copy, GT_ENDED_BY_HOLDER);
}

/* Ranges begin at pages: where there are fewer of them than living entries, looks at each page. */
static bool collect_by_page(const struct gt_live *l, const struct gt_event *event, uint16_t process,
			    struct leaving *list)
{
	enum gt_kind kind = (enum gt_kind)gt_functions[event->function].kind;
	uint64_t pages = event->size / PAGE + 1;

	if (process >= l->arena_count || pages >= l->arenas[process].count)
		return false;
	for (uint64_t at = 0; at < event->size; at += PAGE) {
		const struct gt_entry *entry = gt_live_find(l, process, kind, event->handle + at);

		if (entry)
			collect_leaving(list, entry);
	}
	return true;
}

/* Ends the ranges that a call released, where some of them are not known. */
static void end_within(struct gt_live *l, const struct gt_live_observer *f,
		       const struct gt_event *event, uint16_t process)
{
	struct leaving list = { .event = event };

	/* a damaged record may have as many such calls as there are living entries */
	if (!collect_by_page(l, event, process, &list))
		gt_live_each_of(l, process, collect_leaving, &list);
	for (size_t i = 0; i < list.count; i++) {
		end(l, f, &list.entries[i], GT_ENDED_BY_CALL);
		let_go(l, f, &list.entries[i]);
	}
	free(list.entries);
}

/* Ends the ranges after `first` that the same call released. */
static void end_behind(struct gt_live *l, const struct gt_live_observer *f,
		       const struct gt_event *event, const struct gt_entry *first)
{
	uint64_t covered = first->size;

	while (covered < event->size) {
		const struct gt_entry *next = gt_live_find(l, first->process, gt_entry_kind(first),
							   first->handle + covered);
		struct gt_entry gone;

		if (!next || !next->size) {
			end_within(l, f, event, first->process);
			return;
		}
		gone = *next;
		covered += gone.size;
		end(l, f, &gone, GT_ENDED_BY_CALL);
		let_go(l, f, &gone);
	}
}

void gt_live_end_rest(struct gt_live *l, const struct gt_event *event, uint16_t process,
		      const struct gt_live_observer *f)
{
	struct gt_entry unknown = gt_live_entry_of(event, process);

	if (gt_kinds[gt_entry_kind(&unknown)].habits & GT_TAKES)
		take_along(l, f, &unknown);
	if (gt_kinds[gt_entry_kind(&unknown)].habits & GT_RANGED)
		end_within(l, f, event, process);
}

struct gt_entry *gt_live_revive(struct gt_live *l, const struct gt_entry *entry)
{
	struct gt_entry *revived = gt_memory_check(gt_live_add(l, entry));

	take_hold(l, revived);
	return revived;
}

enum gt_change gt_live_apply_all(struct gt_live *l, const struct gt_event *event, uint16_t process,
				 const struct gt_live_observer *f, struct gt_entry **entry)
{
	struct gt_entry *unwanted, gone;
	enum gt_change change;
	uint32_t slot;

	if (!entry)
		entry = &unwanted;
	change = gt_live_apply(l, event, process, entry, &gone);
	switch (change) {
	case GT_CHANGE_BORN:
		take_hold(l, *entry);
		f->born(f->context, *entry, l->changed_slot);
		break;
	case GT_CHANGE_REPLACED:
		slot = gt_live_slot(l, *entry);
		/* hold first: both may map the same memory */
		take_hold(l, *entry);
		f->ended(f->context, &gone, slot, GT_ENDED_BY_CREATION);
		f->born(f->context, *entry, slot);
		let_go(l, f, &gone);
		break;
	case GT_CHANGE_ENDED:
		f->ended(f->context, &gone, l->changed_slot, GT_ENDED_BY_CALL);
		let_go(l, f, &gone);
		if (gt_kinds[gt_entry_kind(&gone)].habits & GT_TAKES)
			take_along(l, f, &gone);
		if (gt_kinds[gt_entry_kind(&gone)].habits & GT_RANGED && gone.size)
			end_behind(l, f, event, &gone);
		break;
	case GT_CHANGE_NO_MEMORY:
		gt_memory_check(NULL); /* ends the tool */
		break;
	case GT_CHANGE_NONE:
	case GT_CHANGE_RETAINED:
	case GT_CHANGE_RELEASED:
	case GT_CHANGE_UNKNOWN: break;
	}
	return change;
}

void gt_references_fini(struct gt_references *r)
{
	free(r->holders);
	free(r->retain_stacks);
	free(r->revived);
}

void gt_references_born(struct gt_references *r, const struct gt_live *l,
			const struct gt_entry *entry, uint32_t slot)
{
	const struct gt_entry *held = gt_live_held_by(l, entry);
	uint32_t held_slot;

	if (slot < r->holder_size)
		r->holders[slot] = 0;
	if (slot < r->revived_size)
		r->revived[slot] = false;
	if (!held)
		return;
	held_slot = gt_live_slot(l, held);
	GT_REACH(r->holders, r->holder_size, held_slot);
	r->holders[held_slot]++;
}

void gt_references_ended(struct gt_references *r, const struct gt_live *l,
			 const struct gt_entry *entry)
{
	const struct gt_entry *held = gt_live_held_by(l, entry);

	/* in a damaged recording, with wrong times, it may have none */
	if (held && gt_references_holders(r, l, held))
		r->holders[gt_live_slot(l, held)]--;
}

void gt_references_retained(struct gt_references *r, const struct gt_live *l,
			    const struct gt_entry *entry, uint32_t stack)
{
	uint32_t slot = gt_live_slot(l, entry);

	GT_REACH(r->retain_stacks, r->retain_size, slot);
	r->retain_stacks[slot] = stack;
}

void gt_references_revived(struct gt_references *r, const struct gt_live *l,
			   const struct gt_entry *entry, uint32_t stack)
{
	uint32_t slot = gt_live_slot(l, entry);

	gt_references_retained(r, l, entry, stack);
	GT_REACH(r->revived, r->revived_size, slot);
	r->revived[slot] = true;
}

uint32_t gt_references_holders(const struct gt_references *r, const struct gt_live *l,
			       const struct gt_entry *entry)
{
	uint32_t slot;

	if (!r->holder_size) /* most recordings have no holders: skip the look-up */
		return 0;
	slot = gt_live_slot(l, entry);
	return slot < r->holder_size ? r->holders[slot] : 0;
}

uint32_t gt_references_own(const struct gt_references *r, const struct gt_live *l,
			   const struct gt_entry *entry)
{
	return entry->refs - gt_references_holders(r, l, entry);
}

bool gt_references_lack(const struct gt_references *r, const struct gt_live *l,
			const struct gt_event *event, uint16_t process)
{
	const struct gt_function *fn = &gt_functions[event->function];
	const struct gt_entry *entry;

	if (event->failed || event->unfinished || !gt_function_ends(fn))
		return false;
	entry = gt_live_find(l, process, (enum gt_kind)fn->kind, event->handle);
	return entry && !gt_references_own(r, l, entry);
}

uint32_t gt_references_retain_stack(const struct gt_references *r, const struct gt_live *l,
				    const struct gt_entry *entry)
{
	uint32_t slot = r->retain_size ? gt_live_slot(l, entry) : 0;
	bool is_revived = slot < r->revived_size && r->revived[slot];

	return gt_references_own(r, l, entry) > !is_revived && slot < r->retain_size ?
		       r->retain_stacks[slot] :
		       0;
}
