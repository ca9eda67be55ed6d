/* SPDX-License-Identifier: MIT */
/* ledger.c - replays a recording: totals by kind, call sites, the peak, leaks, mistakes. */
#include "ledger/ledger.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "ledger/account_sums.h"
#include "ledger/growing_sites.h"

struct gt_ledger *gt_ledger_new(void)
{
	struct gt_ledger *l = gt_alloc(sizeof *l);

	if (!gt_table_memory)
		gt_table_memory = &gt_large_tables;
	l->private = gt_alloc(sizeof *l->private);
	return l;
}

void gt_ledger_free(struct gt_ledger *l)
{
	if (!l)
		return;
	gt_growth_free(l->growth);
	gt_live_fini(&l->live);
	free(l->samples.series);
	gt_breakdown_fini(&l->breakdown);
	free(l->sites);
	free(l->phases);
	free(l->touched);
	free(l->redundant);
	free(l->interior);
	free(l->failures);
	for (size_t i = 0; i < l->shortage_count; i++)
		free(l->shortages[i].holders);
	free(l->shortages);
	free(l->last_calls);
	free(l->private->site_of);
	gt_references_fini(&l->private->references);
	gt_misuse_fini(&l->private->misuse);
	gt_addresses_fini(&l->private->addresses);
	gt_extents_fini(&l->private->extents);
	free(l->private->held);
	free(l->private);
	free(l);
}

void gt_ledger_forget_sites(struct gt_ledger *l)
{
	gt_growth_free(l->growth);
	l->growth = NULL;
	gt_live_fini(&l->live);
	l->live = (struct gt_live){ 0 };
	free(l->sites);
	l->sites = NULL;
	l->site_count = l->site_room = 0;
	memset(l->private->site_guesses, 0, sizeof l->private->site_guesses);
	for (size_t i = 0; i < l->shortage_count; i++)
		l->shortages[i].holder_count = 0;
	free(l->private->site_of);
	l->private->site_of = NULL;
	l->private->site_of_size = 0;
}

void gt_ledger_keep_sites(struct gt_ledger *l, const uint32_t *sites, size_t count)
{
	struct gt_site *kept = gt_alloc(count * sizeof *kept);

	for (size_t i = 0; i < count; i++)
		kept[i] = l->sites[sites[i]];
	gt_ledger_forget_sites(l);
	l->sites = kept;
	l->site_count = l->site_room = count;
}

uint32_t gt_ledger_holders(const struct gt_ledger *l, const struct gt_entry *entry)
{
	return gt_references_holders(&l->private->references, &l->live, entry);
}

uint32_t gt_ledger_references(const struct gt_ledger *l, const struct gt_entry *entry)
{
	return gt_references_own(&l->private->references, &l->live, entry);
}

uint32_t gt_ledger_retain_stack(const struct gt_ledger *l, const struct gt_entry *entry)
{
	return gt_references_retain_stack(&l->private->references, &l->live, entry);
}

const struct gt_extents *gt_ledger_extents(const struct gt_ledger *l)
{
	return &l->private->extents;
}

/* The living entry that an event is about; NULL for none. */
static struct gt_entry *entry_of(const struct gt_ledger *l, const struct gt_event *e,
				 uint32_t process)
{
	return gt_live_find(&l->live, (uint16_t)process,
			    (enum gt_kind)gt_functions[e->function].kind, e->handle);
}

static void count_freed(struct gt_freed *freed, const struct gt_entry *e)
{
	freed->count++;
	if (gt_kind_on_device(gt_entry_kind(e)))
		freed->device_bytes += gt_entry_bytes(e);
	else
		freed->host_bytes += gt_entry_bytes(e);
}

uint32_t gt_ledger_phase(const struct gt_ledger *l, const struct gt_entry *entry)
{
	uint32_t slot = l->phase_count ? gt_live_slot(&l->live, entry) : 0;

	return slot < l->phase_count ? l->phases[slot] : 0;
}

/* A table of its own: most recordings have no phases. */
static void set_phase(struct gt_ledger *l, uint32_t slot, uint32_t phase)
{
	if (phase)
		GT_REACH(l->phases, l->phase_count, slot);
	if (slot < l->phase_count)
		l->phases[slot] = phase;
}

/* Context of the observer below. */
struct applied {
	struct gt_ledger *ledger;
	const struct gt_event *event;
};

static void born(void *context, const struct gt_entry *entry, uint32_t slot)
{
	const struct applied *a = context;
	struct gt_ledger *l = a->ledger;
	struct gt_ledger_private *p = l->private;
	const struct gt_live_observer *f = l->observer;
	struct gt_entry *e = gt_live_at(&l->live, slot);

	if (p->references.holder_size || p->references.revived_size || gt_entry_holds(e))
		gt_references_born(&p->references, &l->live, e, slot);
	if (p->addresses.is_built)
		gt_addresses_born(&p->addresses, e);
	if (p->extents.is_built) {
		gt_account_recognise(l, e);
		gt_extents_born(&p->extents, &l->live, e);
	}
	if (gt_entry_is_pooled(e))
		gt_extents_block_born(&p->extents, &l->live, e, gt_account_move, l);
	set_phase(l, slot, a->event->phase);
	gt_account_birth(l, e, true);
	if (f)
		f->born(f->context, e, slot);
}

static void ended(void *context, const struct gt_entry *e, uint32_t slot, enum gt_ended_by by)
{
	const struct applied *a = context;
	struct gt_ledger *l = a->ledger;
	struct gt_ledger_private *p = l->private;

	if (gt_entry_holds(e))
		gt_references_ended(&p->references, &l->live, e);
	if (p->addresses.is_built)
		gt_addresses_ended(&p->addresses, e);
	if (p->extents.is_built)
		gt_extents_ended(&p->extents, e);
	gt_account_end(l, e, true);
	if (gt_entry_is_pooled(e))
		gt_extents_block_ended(&p->extents, &l->live, e, gt_account_move, l);
	switch (by) {
	case GT_ENDED_BY_CALL:
		/* a call that ends several ranges names the sum of their sizes */
		if (!(gt_kinds[gt_entry_kind(e)].habits & GT_RANGED))
			l->size_mismatches += a->event->size && a->event->size != e->size;
		gt_ended_handles_add(&p->misuse.ended, e, gt_entry_hash(e), a->event);
		break;
	case GT_ENDED_BY_HOLDER: /* already remembered, at the program's own release */ break;
	case GT_ENDED_BY_CREATION: l->replaced++; break;
	case GT_ENDED_BY_OWNER: count_freed(&l->freed, e); break;
	case GT_ENDED_BY_PROCESS: break;
	}
	if (l->observer)
		l->observer->ended(l->observer->context, e, slot, by);
}

/* The entry has one reference more; if it had none, only holders kept it alive. */
static void retained(struct gt_ledger *l, const struct gt_entry *entry, uint32_t stack)
{
	struct gt_references *r = &l->private->references;

	if (gt_ledger_references(l, entry) == 1)
		gt_references_revived(r, &l->live, entry, stack);
	else
		gt_references_retained(r, &l->live, entry, stack);
}

/*
 * A retain that succeeded shows that its handle is alive. Its last lifetime continues; without one,
 * a call that is not tracked created it. Neither is certain where a creation may be missing.
 */
static void revive(struct gt_ledger *l, const struct gt_event *event, uint32_t process,
		   const struct gt_live_observer *observer)
{
	const struct gt_ended_handle *before =
		gt_ended_handles_find(&l->private->misuse.ended, event, process);
	struct gt_references *references = &l->private->references;
	struct gt_entry entry = before ? before->entry : gt_live_entry_of(event, (uint16_t)process),
			*revived;
	uint32_t slot;

	if (gt_ledger_may_miss(l, process, before ? before->ended_ns : 0, event->time_ns))
		return;
	entry.refs = 1;
	revived = gt_live_revive(&l->live, &entry);
	slot = l->live.changed_slot;
	if (!before) {
		observer->born(observer->context, revived, slot);
		return;
	}
	gt_references_born(references, &l->live, revived, slot);
	gt_references_revived(references, &l->live, revived, event->stack);
	gt_addresses_born(&l->private->addresses, revived);
	set_phase(l, slot, event->phase);
	gt_account_revival(l, revived, event->time_ns);
	if (l->observer)
		l->observer->born(l->observer->context, revived, slot);
}

/*
 * The block that a free of an unknown address ends, where the API's drivers mean the block around
 * it. It may be another one if a free and an allocation may be missing.
 */
static const struct gt_entry *block_around(struct gt_ledger *l, const struct gt_event *event,
					   uint32_t process)
{
	const struct gt_entry *block;

	if (!gt_functions[event->function].handle.inside)
		return NULL;
	block = gt_addresses_find(&l->private->addresses, &l->live, event, (uint16_t)process);
	return block && !gt_ledger_may_miss(l, process, block->time_ns, event->time_ns) ? block :
											  NULL;
}

/* A call that ended something unknown: a block by an address inside it, or a mistake. */
static void end_unknown(struct gt_ledger *l, const struct gt_event *event, uint32_t process,
			const struct gt_live_observer *observer)
{
	const struct gt_entry *block = block_around(l, event, process);
	struct gt_event whole = *event;

	if (!block) {
		gt_misuse_unknown_handle(l, &l->private->misuse, event, process);
		return;
	}
	gt_misuse_interior(l, event, block);
	whole.handle = block->handle;
	gt_live_apply_all(&l->live, &whole, (uint16_t)process, observer, NULL);
}

/* True when the event ended something whose creation may be missing. */
static bool ends_unseen(const struct gt_ledger *l, const struct gt_event *event, uint32_t process)
{
	return gt_functions[event->function].effect == GT_DESTROY && !event->failed &&
	       !event->unfinished && gt_ledger_may_miss(l, process, 0, event->time_ns);
}

struct abandoned {
	const struct gt_ledger *ledger;
	struct gt_entry *blocks;
	size_t count, room;
};

static bool collect_abandoned(void *context, const struct gt_entry *entry)
{
	struct abandoned *a = context;

	if (gt_entry_is_pooled(entry) && gt_extents_lack(&a->ledger->private->extents, entry)) {
		GT_GROW(a->blocks, a->count, a->room);
		a->blocks[a->count++] = *entry;
	}
	return true;
}

/* Blocks of a pool do not outlive the memory that they lie in. */
static void end_abandoned(struct gt_ledger *l, uint32_t process,
			  const struct gt_live_observer *observer)
{
	struct abandoned a = { .ledger = l };

	gt_live_each_of(&l->live, (uint16_t)process, collect_abandoned, &a);
	gt_extents_forget(&l->private->extents);
	for (size_t i = 0; i < a.count; i++) {
		gt_live_remove(&l->live, &a.blocks[i]);
		observer->ended(observer->context, &a.blocks[i], l->live.changed_slot,
				GT_ENDED_BY_OWNER);
	}
	free(a.blocks);
}

/* Notes whether more is known than entries and their accounts: references, blocks, phases. */
static void note_what_is_known(struct gt_ledger *l)
{
	struct gt_ledger_private *p = l->private;

	p->knows_more = p->references.holder_size || p->references.revived_size ||
			p->addresses.is_built || p->extents.is_built || p->extents.abandoned ||
			l->phase_count;
}

static bool bear_plainly(struct gt_ledger *l, const struct gt_event *event, uint32_t process,
			 uint64_t hash)
{
	const struct gt_entry *entry = gt_live_bear(&l->live, event, (uint16_t)process, hash);

	if (!entry)
		return false;
	gt_account_birth(l, entry, false);
	if (l->observer)
		l->observer->born(l->observer->context, entry, l->live.changed_slot);
	return true;
}

static bool end_plainly(struct gt_ledger *l, const struct gt_event *event, uint32_t process,
			const struct gt_look *look)
{
	const unsigned int concerns_others = GT_HOLDS | GT_TAKES | GT_RANGED | GT_POOLED;
	bool releases = gt_functions[event->function].effect == GT_RELEASE;
	const struct gt_entry *entry;
	struct gt_entry gone;
	size_t at;

	entry = gt_live_seek_guess(&l->live, event, (uint16_t)process, look->hash, &look->entry,
				   &at);
	if (!entry || (releases && entry->refs > 1) ||
	    gt_kinds[gt_entry_kind(entry)].habits & concerns_others)
		return false;
	gt_account_end(l, entry, false);
	l->size_mismatches += event->size && event->size != entry->size;
	gt_ended_handles_add(&l->private->misuse.ended, entry, look->hash, event);
	if (!l->observer) {
		gt_live_remove_at(&l->live, at, look->hash);
		return true;
	}
	gone = *entry;
	gt_live_remove_at(&l->live, at, look->hash);
	l->observer->ended(l->observer->context, &gone, l->live.changed_slot, GT_ENDED_BY_CALL);
	return true;
}

/*
 * Most events are the birth or the end of one resource, and concern no other. False for all others:
 * nothing has changed, and apply_any does the same and everything else.
 */
static inline bool apply_plainly(struct gt_ledger *l, const struct gt_event *event,
				 uint32_t process, const struct gt_look *look)
{
	const struct gt_function *fn = &gt_functions[event->function];

	if (event->failed || event->unfinished || event->phase || l->private->knows_more)
		return false;
	if (fn->effect == GT_CREATE)
		return !(gt_kinds[fn->kind].habits & (GT_HOLDS | GT_POOLED)) &&
		       bear_plainly(l, event, process, look->hash);
	return gt_function_ends(fn) && end_plainly(l, event, process, look);
}

static __attribute__((noinline)) void apply_any(struct gt_ledger *l, const struct gt_event *event,
						uint32_t process)
{
	struct applied applied = { l, event };
	const struct gt_live_observer observer = { .born = born,
						   .ended = ended,
						   .context = &applied };
	struct gt_entry *entry;
	enum gt_change change;

	change = l->private->references.holder_size &&
				 gt_references_lack(&l->private->references, &l->live, event,
						    (uint16_t)process) ?
			 GT_CHANGE_UNKNOWN :
			 gt_live_apply_all(&l->live, event, (uint16_t)process, &observer, &entry);
	if ((change == GT_CHANGE_NONE || change == GT_CHANGE_UNKNOWN) &&
	    ends_unseen(l, event, process))
		gt_live_end_rest(&l->live, event, (uint16_t)process, &observer);
	switch (change) {
	case GT_CHANGE_NONE:
		if (event->failed || event->unfinished) {
			entry = entry_of(l, event, process);
			gt_misuse_failed_call(l, &l->private->misuse, event, process,
					      entry && gt_ledger_references(l, entry));
		}
		break;
	case GT_CHANGE_RETAINED: retained(l, entry, event->stack); break;
	case GT_CHANGE_UNKNOWN:
		if (gt_functions[event->function].effect == GT_RETAIN)
			revive(l, event, process, &observer);
		else
			end_unknown(l, event, process, &observer);
		break;
	case GT_CHANGE_RELEASED:
		if (!gt_ledger_references(l, entry))
			gt_ended_handles_add(&l->private->misuse.ended, entry, gt_entry_hash(entry),
					     event);
		break;
	case GT_CHANGE_REPLACED:
	case GT_CHANGE_BORN:
	case GT_CHANGE_ENDED:
	case GT_CHANGE_NO_MEMORY: break;
	}
	if (l->private->extents.abandoned)
		end_abandoned(l, process, &observer);
	note_what_is_known(l);
}

void gt_ledger_apply_ahead(struct gt_ledger *l, const struct gt_event *event, uint32_t process,
			   const struct gt_look *look)
{
	l->touched_count = 0;
	if (!l->events++)
		l->first_ns = event->time_ns;
	if (event->time_ns > l->last_ns)
		l->last_ns = event->time_ns;
	if (!apply_plainly(l, event, process, look))
		apply_any(l, event, process);
}

void gt_ledger_apply(struct gt_ledger *l, const struct gt_event *event, uint32_t process)
{
	gt_ledger_apply_ahead(l, event, process,
			      &(struct gt_look){ gt_event_hash(event, process), GT_NO_GUESS });
}

/* Begins to fetch the site of resources that `function` created through `stack`. */
static inline __attribute__((always_inline)) void prefetch_site(const struct gt_ledger *l,
								uint32_t stack, uint16_t function,
								bool is_born)
{
	uint32_t site = *gt_site_guess(l->private, stack, function);

	if (!site)
		return;
	__builtin_prefetch(&l->sites[site - 1], 1);
	__builtin_prefetch(is_born ? &l->sites[site - 1].last_ns : &l->sites[site - 1].bytes_gone,
			   1);
	if (l->growth)
		gt_site_floors_prefetch(&l->growth->floors, site - 1);
}

/*
 * Ledgers of many resources wait for memory most of the time, so that is fetched in rounds, each of
 * which needs what the one before has fetched. Births and ends take turns as nobody can foresee:
 * each have a list, instead of a branch for every event.
 */
void gt_ledger_look_ahead(const struct gt_ledger *l, struct gt_look *looks,
			  const struct gt_event *events, const uint32_t *processes, size_t count)
{
	uint8_t births[GT_LEDGER_AHEAD], ends[GT_LEDGER_AHEAD];
	size_t birth_count = 0, end_count = 0;

	for (size_t i = 0; i < count; i++) {
		enum gt_effect effect = (enum gt_effect)gt_functions[events[i].function].effect;

		looks[i] = (struct gt_look){ gt_event_hash(&events[i], processes[i]), GT_NO_GUESS };
		gt_live_prefetch(&l->live, looks[i].hash);
		births[birth_count] = ends[end_count] = (uint8_t)i;
		birth_count += effect == GT_CREATE;
		end_count += effect == GT_DESTROY || effect == GT_RELEASE;
	}
	for (size_t i = 0; i < birth_count; i++) {
		prefetch_site(l, events[births[i]].stack, events[births[i]].function, true);
		gt_live_prefetch_more(&l->live, looks[births[i]].hash);
	}
	for (size_t i = 0; i < end_count; i++) {
		struct gt_look *look = &looks[ends[i]];

		look->entry = gt_live_guess(&l->live, look->hash);
		if (look->entry.slot != GT_NO_SLOT)
			__builtin_prefetch(gt_live_at(&l->live, look->entry.slot), 1);
	}
	for (size_t i = 0; i < end_count; i++) {
		const struct gt_live_guess *guess = &looks[ends[i]].entry;
		const struct gt_entry *entry;

		if (guess->slot == GT_NO_SLOT)
			continue;
		entry = gt_live_at(&l->live, guess->slot);
		prefetch_site(l, entry->stack, entry->function, false);
	}
}

struct orphans {
	const struct gt_live *live;
	struct gt_entry *entries;
	size_t count, room;
};

static bool collect_orphan(void *context, const struct gt_entry *entry)
{
	struct orphans *o = context;

	if (gt_live_is_orphan(o->live, entry)) {
		GT_GROW(o->entries, o->count, o->room);
		o->entries[o->count++] = *entry;
	}
	return true;
}

/* True if some of those that are alive have the habit: without, nobody need look for them. */
static bool has_living(const struct gt_ledger *l, unsigned int habit)
{
	for (int api = 0; api < GT_API_COUNT; api++)
		for (int kind = 0; kind < GT_KIND_COUNT; kind++)
			if (gt_kinds[kind].habits & habit && l->tally[api][kind].live)
				return true;
	return false;
}

/* Ends resources whose owner has ended: they are no leaks, and none has bytes. */
static void bury_orphans(struct gt_ledger *l)
{
	struct orphans o = { .live = &l->live };

	if (!has_living(l, GT_OWNED))
		return;
	gt_live_each(&l->live, collect_orphan, &o);
	for (size_t i = 0; i < o.count; i++) {
		const struct gt_entry *e = &o.entries[i];

		if (gt_ledger_is_gone(l, e))
			gt_account_forget_gone(l, e);
		gt_live_remove(&l->live, e);
		gt_account_end(l, e, true);
		l->died_with_owner++;
	}
	free(o.entries);
}

/* Counts resources that are meant to last; they stay, as they are part of every peak. */
static bool count_lasting(void *context, const struct gt_entry *entry)
{
	if (gt_kinds[gt_entry_kind(entry)].habits & GT_LASTING)
		count_freed(context, entry);
	return true;
}

void gt_ledger_finish(struct gt_ledger *l)
{
	bury_orphans(l);
	gt_misuse_finish(l, &l->private->misuse);
	if (has_living(l, GT_LASTING))
		gt_live_each(&l->live, count_lasting, &l->lasting);
	gt_account_peak(l);
	/* the end of a process touches all its sites; no event is left to ask */
	free(l->touched);
	l->touched = NULL;
	l->touched_count = l->touched_room = 0;
}

const struct gt_site *gt_ledger_find_site(const struct gt_ledger *l, uint32_t stack,
					  uint16_t function)
{
	uint32_t i = *gt_site_guess(l->private, stack, function);

	if (i && gt_site_is(&l->sites[i - 1], stack, function))
		return &l->sites[i - 1];
	i = stack < l->private->site_of_size ? l->private->site_of[stack] : 0;
	while (i && !gt_site_is(&l->sites[i - 1], stack, function))
		i = l->sites[i - 1].next;
	return i ? &l->sites[i - 1] : NULL;
}
