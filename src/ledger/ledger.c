/* SPDX-License-Identifier: MIT */
/* ledger.c - replays a recording: totals by kind, call sites, the peak, leaks, mistakes. */
#include "ledger/ledger.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "ledger/addresses.h"
#include "ledger/growing_sites.h"
#include "ledger/misuse.h"

/* Bytes that a process holds now. */
struct held {
	uint64_t device, host;
	bool ended;
};

struct gt_ledger_private {
	uint32_t *site_of; /* by stack: first site + 1 */
	size_t site_of_size;
	struct gt_references references;
	struct gt_misuse misuse;
	struct gt_addresses addresses;
	struct held *held; /* by process */
	size_t held_size;
};

struct gt_ledger *gt_ledger_new(void)
{
	struct gt_ledger *l = gt_alloc(sizeof *l);

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

static struct gt_site *site_at(struct gt_ledger *l, const struct gt_entry *e)
{
	struct gt_ledger_private *p = l->private;
	struct gt_site *site;

	GT_REACH(p->site_of, p->site_of_size, e->stack);
	for (uint32_t i = p->site_of[e->stack]; i; i = l->sites[i - 1].next)
		if (gt_site_is(&l->sites[i - 1], e->stack, e->function))
			return &l->sites[i - 1];
	GT_GROW(l->sites, l->site_count, l->site_room);
	site = &l->sites[l->site_count++];
	*site = (struct gt_site){ .stack = e->stack,
				  .api = gt_functions[e->function].api,
				  .kind = gt_functions[e->function].kind,
				  .function = e->function,
				  .epoch = l->epoch,
				  .next = p->site_of[e->stack] };
	p->site_of[e->stack] = (uint32_t)l->site_count;
	return site;
}

/*
 * A new peak only increments the epoch. A site saves what it held at the last peak when it first
 * changes after it, so a peak costs the same however many sites there are.
 */
static void save_peak(struct gt_ledger *l, struct gt_site *site)
{
	if (site->epoch == l->epoch)
		return;
	site->live_at_peak = site->live - site->gone;
	site->bytes_at_peak = site->bytes_live - site->bytes_gone;
	site->epoch = l->epoch;
}

static struct held *held_by(struct gt_ledger *l, uint32_t process)
{
	struct gt_ledger_private *p = l->private;

	GT_REACH(p->held, p->held_size, process);
	return &p->held[process];
}

/* Adds bytes of an entry; subtracts them if they wrap around. */
static void add_bytes(struct gt_ledger *l, const struct gt_entry *e, uint64_t bytes)
{
	struct held *held = held_by(l, e->process);

	if (gt_kind_on_device(gt_entry_kind(e))) {
		held->device += bytes;
		l->device_bytes += bytes;
		l->device_left += bytes;
	} else {
		held->host += bytes;
		l->host_bytes += bytes;
		l->host_left += bytes;
	}
}

static void touch(struct gt_ledger *l, const struct gt_site *site)
{
	uint32_t index = (uint32_t)(site - l->sites);

	/* the resources that a context takes along mostly come from a few sites in turn */
	if (l->touched_count && l->touched[l->touched_count - 1] == index)
		return;
	GT_GROW(l->touched, l->touched_count, l->touched_room);
	l->touched[l->touched_count++] = index;
}

static bool leave_behind(void *ledger, const struct gt_entry *e)
{
	struct gt_ledger *l = ledger;
	const struct gt_function *fn = &gt_functions[e->function];
	struct gt_tally *tally = &l->tally[fn->api][fn->kind];
	struct gt_site *site = site_at(l, e);
	uint64_t bytes = gt_entry_bytes(e);

	save_peak(l, site);
	touch(l, site);
	l->gone++;
	tally->gone++;
	tally->bytes_gone += bytes;
	site->gone++;
	site->bytes_gone += bytes;
	if (gt_kind_on_device(gt_entry_kind(e)))
		gt_breakdown_remove(&l->breakdown, e, bytes);
	if (l->observer)
		l->observer->ended(l->observer->context, e, 0, GT_ENDED_BY_PROCESS);
	return true;
}

void gt_ledger_process_end(struct gt_ledger *l, uint32_t process)
{
	struct held *held = held_by(l, process);

	if (held->ended)
		return;
	l->touched_count = 0;
	l->device_bytes -= held->device;
	l->host_bytes -= held->host;
	*held = (struct held){ .ended = true };
	gt_live_each_of(&l->live, (uint16_t)process, leave_behind, l);
}

bool gt_ledger_is_gone(const struct gt_ledger *l, const struct gt_entry *entry)
{
	return entry->process < l->private->held_size && l->private->held[entry->process].ended;
}

/* Counts an entry among the living; `since_ns`: when it was born or brought back. */
static void count_alive(struct gt_ledger *l, const struct gt_entry *e, struct gt_site *site,
			uint64_t since_ns)
{
	const struct gt_function *fn = &gt_functions[e->function];
	struct gt_tally *tally = &l->tally[fn->api][fn->kind];
	uint64_t bytes = gt_entry_bytes(e);

	save_peak(l, site);
	touch(l, site);
	tally->live++;
	tally->bytes_live += bytes;
	if (tally->bytes_live - tally->bytes_gone > tally->bytes_peak)
		tally->bytes_peak = tally->bytes_live - tally->bytes_gone;
	site->live++;
	site->bytes_live += bytes;
	if (site->bytes_live - site->bytes_gone > site->bytes_peak)
		site->bytes_peak = site->bytes_live - site->bytes_gone;
	add_bytes(l, e, bytes);
	if (l->shortage_count && bytes)
		gt_misuse_went_on(l, e->process);
	if (gt_kind_on_device((enum gt_kind)fn->kind))
		gt_breakdown_add(&l->breakdown, e, bytes);
	if (l->device_bytes > l->peak_bytes) {
		gt_breakdown_mark_peak(&l->breakdown);
		l->peak_bytes = l->device_bytes;
		l->peak_ns = since_ns;
		l->peak_live = l->live.count - l->gone;
		l->peak_events = l->events;
		l->epoch++;
	}
}

static void count_birth(struct gt_ledger *l, const struct gt_entry *e)
{
	const struct gt_function *fn = &gt_functions[e->function];
	struct gt_tally *tally = &l->tally[fn->api][fn->kind];
	struct gt_site *site = site_at(l, e);

	tally->created++;
	tally->bytes_total += gt_entry_bytes(e);
	if (!site->created++)
		site->first_ns = e->time_ns;
	site->last_ns = e->time_ns;
	site->bytes_total += gt_entry_bytes(e);
	count_alive(l, e, site, e->time_ns);
}

static void count_end(struct gt_ledger *l, const struct gt_entry *e)
{
	const struct gt_function *fn = &gt_functions[e->function];
	struct gt_tally *tally = &l->tally[fn->api][fn->kind];
	struct gt_site *site = site_at(l, e);
	uint64_t bytes = gt_entry_bytes(e);

	save_peak(l, site);
	touch(l, site);
	tally->ended++;
	tally->live--;
	tally->bytes_live -= bytes;
	site->live--;
	site->bytes_live -= bytes;
	add_bytes(l, e, 0 - bytes);
	if (gt_kind_on_device((enum gt_kind)fn->kind))
		gt_breakdown_remove(&l->breakdown, e, bytes);
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

static void born(void *context, const struct gt_entry *e, uint32_t slot)
{
	const struct applied *a = context;
	const struct gt_live_observer *f = a->ledger->observer;

	gt_references_born(&a->ledger->private->references, &a->ledger->live, e, slot);
	gt_addresses_born(&a->ledger->private->addresses, e);
	set_phase(a->ledger, slot, a->event->phase);
	count_birth(a->ledger, e);
	if (f)
		f->born(f->context, e, slot);
}

static void ended(void *context, const struct gt_entry *e, uint32_t slot, enum gt_ended_by by)
{
	const struct applied *a = context;
	struct gt_ledger *l = a->ledger;

	gt_references_ended(&l->private->references, &l->live, e);
	gt_addresses_ended(&l->private->addresses, e);
	count_end(l, e);
	switch (by) {
	case GT_ENDED_BY_CALL:
		/* a call that ends several ranges names the sum of their sizes */
		if (!(gt_kinds[gt_entry_kind(e)].habits & GT_RANGED))
			l->size_mismatches += a->event->size && a->event->size != e->size;
		gt_ended_handles_add(&l->private->misuse.ended, e, a->event);
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

/* The end of an entry is undone: it was none. */
static void count_revival(struct gt_ledger *l, const struct gt_entry *e, uint64_t time_ns)
{
	const struct gt_function *fn = &gt_functions[e->function];

	l->tally[fn->api][fn->kind].ended--;
	l->revived++;
	count_alive(l, e, site_at(l, e), time_ns);
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
	count_revival(l, revived, event->time_ns);
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

void gt_ledger_apply(struct gt_ledger *l, const struct gt_event *event, uint32_t process)
{
	struct applied applied = { l, event };
	const struct gt_live_observer observer = { .born = born,
						   .ended = ended,
						   .context = &applied };
	struct gt_entry *entry;
	enum gt_change change;

	l->touched_count = 0;
	if (!l->events++)
		l->first_ns = event->time_ns;
	if (event->time_ns > l->last_ns)
		l->last_ns = event->time_ns;
	change = gt_references_lack(&l->private->references, &l->live, event, (uint16_t)process) ?
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
			gt_ended_handles_add(&l->private->misuse.ended, entry, event);
		break;
	case GT_CHANGE_REPLACED:
	case GT_CHANGE_BORN:
	case GT_CHANGE_ENDED:
	case GT_CHANGE_NO_MEMORY: break;
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

/* Takes an entry off those that ended processes left. */
static void forget_gone(struct gt_ledger *l, const struct gt_entry *e)
{
	const struct gt_function *fn = &gt_functions[e->function];
	struct gt_site *site = site_at(l, e);

	save_peak(l, site);
	l->gone--;
	l->tally[fn->api][fn->kind].gone--;
	site->gone--;
}

/* Ends resources whose owner has ended: they are no leaks, and none has bytes. */
static void bury_orphans(struct gt_ledger *l)
{
	struct orphans o = { .live = &l->live };

	gt_live_each(&l->live, collect_orphan, &o);
	for (size_t i = 0; i < o.count; i++) {
		const struct gt_entry *e = &o.entries[i];

		if (gt_ledger_is_gone(l, e))
			forget_gone(l, e);
		gt_live_remove(&l->live, e);
		count_end(l, e);
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
	gt_live_each(&l->live, count_lasting, &l->lasting);
	for (size_t i = 0; i < l->site_count; i++)
		save_peak(l, &l->sites[i]);
	/* the end of a process touches all its sites; no event is left to ask */
	free(l->touched);
	l->touched = NULL;
	l->touched_count = l->touched_room = 0;
}

const struct gt_site *gt_ledger_find_site(const struct gt_ledger *l, uint32_t stack,
					  uint16_t function)
{
	uint32_t i = stack < l->private->site_of_size ? l->private->site_of[stack] : 0;

	while (i && !gt_site_is(&l->sites[i - 1], stack, function))
		i = l->sites[i - 1].next;
	return i ? &l->sites[i - 1] : NULL;
}
