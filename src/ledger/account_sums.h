/* SPDX-License-Identifier: MIT */
/*
 * account_sums.h - the sums that the birth or the end of a resource changes.
 *
 * Inline, because every event of a recording comes through here: `has_pools` is a constant at each
 * call, and false where no resource can lie in another.
 */
#pragma once

#include "base/mem.h"
#include "ledger/accounts.h"

/* The entry's site; made if there is none yet. */
struct gt_site *gt_account_find_site(struct gt_ledger *l, const struct gt_entry *e);

/* The same; at once for the latest one of those with the same guess. */
static inline struct gt_site *gt_account_site(struct gt_ledger *l, const struct gt_entry *e)
{
	uint32_t i = *gt_site_guess(l->private, e->stack, e->function);

	return i && l->sites[i - 1].stack == e->stack && l->sites[i - 1].function == e->function ?
		       &l->sites[i - 1] :
		       gt_account_find_site(l, e);
}

/*
 * A new peak only increments the epoch. A site saves what it held at the last peak when it first
 * changes after it, so a peak costs the same however many sites there are.
 */
static inline void gt_account_save_peak(const struct gt_ledger *l, struct gt_site *site)
{
	if (site->epoch == l->epoch)
		return;
	site->live_at_peak = (uint32_t)(site->live - site->gone);
	site->bytes_at_peak = site->bytes_live - site->bytes_gone;
	site->epoch = l->epoch;
}

static inline struct gt_process_bytes *gt_account_held_by(struct gt_ledger *l, uint32_t process)
{
	struct gt_ledger_private *p = l->private;

	GT_REACH(p->held, p->held_size, process);
	return &p->held[process];
}

/* Adds bytes of an entry; subtracts them if they wrap around. */
static inline void gt_account_add_bytes(struct gt_ledger *l, const struct gt_entry *e,
					uint64_t bytes, bool has_pools)
{
	struct gt_process_bytes *held = gt_account_held_by(l, e->process);

	if (gt_kind_on_device(gt_entry_kind(e))) {
		held->device += bytes;
		l->device_bytes += bytes;
		l->device_left += bytes;
		if (has_pools && gt_entry_is_pooled(e)) {
			held->pooled += bytes;
			l->pooled_bytes += bytes;
		}
	} else {
		held->host += bytes;
		l->host_bytes += bytes;
		l->host_left += bytes;
	}
}

static inline void gt_account_touch(struct gt_ledger *l, const struct gt_site *site)
{
	uint32_t index = (uint32_t)(site - l->sites);

	/* the resources that a context takes along mostly come from a few sites in turn */
	if (l->touched_count && l->touched[l->touched_count - 1] == index)
		return;
	GT_GROW(l->touched, l->touched_count, l->touched_room);
	l->touched[l->touched_count++] = index;
}

/* The moment is the peak, if more device memory is alive than ever before. */
static inline void gt_account_look_for_peak(struct gt_ledger *l, uint64_t time_ns)
{
	/* of moments with the same segments, the one with the most in their blocks */
	if (l->device_bytes < l->peak_bytes ||
	    (l->device_bytes == l->peak_bytes && l->pooled_bytes <= l->peak_pooled_bytes))
		return;
	gt_breakdown_mark_peak(&l->breakdown);
	l->peak_bytes = l->device_bytes;
	l->peak_pooled_bytes = l->pooled_bytes;
	l->peak_ns = time_ns;
	l->peak_live = l->live.count - l->gone;
	l->peak_events = l->events;
	l->epoch++;
}

/* Counts an entry among the living; `since_ns`: when it was born or brought back. */
static inline void gt_account_count_alive(struct gt_ledger *l, const struct gt_entry *e,
					  struct gt_site *site, uint64_t since_ns, bool has_pools)
{
	const struct gt_function *fn = &gt_functions[e->function];
	struct gt_tally *tally = &l->tally[fn->api][fn->kind];
	uint64_t bytes = gt_entry_bytes(e);

	gt_account_save_peak(l, site);
	gt_account_touch(l, site);
	tally->live++;
	site->live++;
	if (!gt_kind_has_bytes((enum gt_kind)fn->kind) && !has_pools)
		return;
	tally->bytes_live += bytes;
	if (tally->bytes_live - tally->bytes_gone > tally->bytes_peak)
		tally->bytes_peak = tally->bytes_live - tally->bytes_gone;
	site->bytes_live += bytes;
	if (site->bytes_live - site->bytes_gone > site->bytes_peak)
		site->bytes_peak = site->bytes_live - site->bytes_gone;
	gt_account_add_bytes(l, e, bytes, has_pools);
	if (l->shortage_count && bytes)
		gt_misuse_went_on(l, e->process);
	if (gt_kind_on_device((enum gt_kind)fn->kind))
		gt_breakdown_add(&l->breakdown, (enum gt_origin)site->origin, e, bytes);
	gt_account_look_for_peak(l, since_ns);
}

static inline void gt_account_birth(struct gt_ledger *l, const struct gt_entry *e, bool has_pools)
{
	const struct gt_function *fn = &gt_functions[e->function];
	struct gt_tally *tally = &l->tally[fn->api][fn->kind];
	struct gt_site *site = gt_account_site(l, e);

	tally->created++;
	tally->bytes_total += gt_entry_bytes(e);
	if (!site->created++)
		site->first_ns = e->time_ns;
	site->last_ns = e->time_ns;
	site->bytes_total += gt_entry_bytes(e);
	gt_account_count_alive(l, e, site, e->time_ns, has_pools);
}

static inline void gt_account_end(struct gt_ledger *l, const struct gt_entry *e, bool has_pools)
{
	const struct gt_function *fn = &gt_functions[e->function];
	struct gt_tally *tally = &l->tally[fn->api][fn->kind];
	struct gt_site *site = gt_account_site(l, e);
	uint64_t bytes = gt_entry_bytes(e);

	gt_account_save_peak(l, site);
	gt_account_touch(l, site);
	tally->ended++;
	tally->live--;
	site->live--;
	if (!gt_kind_has_bytes((enum gt_kind)fn->kind))
		return;
	tally->bytes_live -= bytes;
	site->bytes_live -= bytes;
	gt_account_add_bytes(l, e, 0 - bytes, has_pools);
	if (gt_kind_on_device((enum gt_kind)fn->kind))
		gt_breakdown_remove(&l->breakdown, (enum gt_origin)site->origin, e, bytes);
}
