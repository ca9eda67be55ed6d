/* SPDX-License-Identifier: MIT */
/* accounts.c - the sums of a ledger: by kind, call site, process and place, now and at the peak. */
#include "ledger/account_sums.h"

#include "base/mem.h"

static struct gt_site *new_site(struct gt_ledger *l, const struct gt_entry *e)
{
	struct gt_ledger_private *p = l->private;
	struct gt_site *site;

	GT_GROW(l->sites, l->site_count, l->site_room);
	site = &l->sites[l->site_count++];
	*site = (struct gt_site){ .stack = e->stack,
				  .api = gt_functions[e->function].api,
				  .kind = gt_functions[e->function].kind,
				  .function = e->function,
				  .epoch = l->epoch,
				  .origin = (uint32_t)gt_breakdown_origin(&l->breakdown, e),
				  .next = p->site_of[e->stack] };
	p->site_of[e->stack] = (uint32_t)l->site_count;
	return site;
}

struct gt_site *gt_account_find_site(struct gt_ledger *l, const struct gt_entry *e)
{
	struct gt_ledger_private *p = l->private;
	struct gt_site *site;
	uint32_t i;

	GT_REACH(p->site_of, p->site_of_size, e->stack);
	for (i = p->site_of[e->stack]; i; i = l->sites[i - 1].next)
		if (gt_site_is(&l->sites[i - 1], e->stack, e->function))
			break;
	site = i ? &l->sites[i - 1] : new_site(l, e);
	*gt_site_guess(p, e->stack, e->function) = (uint32_t)(site - l->sites) + 1;
	return site;
}

static bool leave_behind(void *ledger, const struct gt_entry *e)
{
	struct gt_ledger *l = ledger;
	const struct gt_function *fn = &gt_functions[e->function];
	struct gt_tally *tally = &l->tally[fn->api][fn->kind];
	struct gt_site *site = gt_account_site(l, e);
	uint64_t bytes = gt_entry_bytes(e);

	gt_account_save_peak(l, site);
	gt_account_touch(l, site);
	l->gone++;
	tally->gone++;
	tally->bytes_gone += bytes;
	site->gone++;
	site->bytes_gone += bytes;
	if (gt_kind_on_device(gt_entry_kind(e)))
		gt_breakdown_remove(&l->breakdown, (enum gt_origin)site->origin, e, bytes);
	if (l->observer)
		l->observer->ended(l->observer->context, e, 0, GT_ENDED_BY_PROCESS);
	return true;
}

void gt_ledger_process_end(struct gt_ledger *l, uint32_t process)
{
	struct gt_process_bytes *held = gt_account_held_by(l, process);

	if (held->ended)
		return;
	l->touched_count = 0;
	l->device_bytes -= held->device;
	l->host_bytes -= held->host;
	l->pooled_bytes -= held->pooled;
	*held = (struct gt_process_bytes){ .ended = true };
	gt_live_each_of(&l->live, (uint16_t)process, leave_behind, l);
	gt_extents_process_ended(&l->private->extents, (uint16_t)process);
}

bool gt_ledger_is_gone(const struct gt_ledger *l, const struct gt_entry *entry)
{
	return entry->process < l->private->held_size && l->private->held[entry->process].ended;
}

uint16_t gt_cached_row(const struct gt_entry *e, enum gt_api pool)
{
	enum gt_kind kind = gt_entry_kind(e);

	if (gt_functions[e->function].api == GT_CUDA && kind == GT_DEVICE_MEMORY)
		return pool == GT_OWN_POOL ? GT_FN_cudaOwnSegment : GT_FN_cudaPoolSegment;
	if (gt_functions[e->function].api == GT_CUDA && kind == GT_PHYSICAL_MEMORY)
		return pool == GT_OWN_POOL ? GT_FN_cudaOwnPiece : GT_FN_cudaPoolPiece;
	return e->function;
}

void gt_account_recognise(const struct gt_ledger *l, struct gt_entry *e)
{
	for (int pool = GT_PYTORCH; pool < GT_API_COUNT; pool++) {
		uint16_t row = gt_cached_row(e, (enum gt_api)pool);

		if (row != e->function && e->stack && gt_ledger_find_site(l, e->stack, row))
			e->function = row;
	}
}

static void move_tally(struct gt_tally *from, struct gt_tally *to, uint64_t bytes)
{
	from->created--;
	from->live--;
	from->bytes_total -= bytes;
	from->bytes_live -= bytes;
	to->created++;
	to->live++;
	to->bytes_total += bytes;
	to->bytes_live += bytes;
}

static void move_site(struct gt_site *from, struct gt_site *to, const struct gt_entry *e)
{
	from->created--;
	from->live--;
	from->bytes_total -= e->size;
	from->bytes_live -= e->size;
	if (!to->created++)
		to->first_ns = e->time_ns;
	to->last_ns = e->time_ns;
	to->live++;
	to->bytes_total += e->size;
	to->bytes_live += e->size;
}

/* An entry turns out to be a segment of a pool: it is counted as if it had been from the start. */
static void make_segment(struct gt_ledger *l, struct gt_entry *e, uint16_t row)
{
	const struct gt_function *was = &gt_functions[e->function], *is = &gt_functions[row];
	size_t old = (size_t)(gt_account_site(l, e) - l->sites), site = old;

	if (l->observer && l->observer->became_segment)
		l->observer->became_segment(l->observer->context, e);
	gt_account_save_peak(l, &l->sites[old]);
	gt_account_touch(l, &l->sites[old]);
	move_tally(&l->tally[was->api][was->kind], &l->tally[is->api][is->kind], e->size);
	e->function = row;
	/* mostly the first of its site, and all others will be segments, too */
	if (l->sites[old].created == 1 && !gt_ledger_find_site(l, e->stack, row)) {
		l->sites[old].kind = is->kind;
		l->sites[old].function = row;
		return;
	}
	site = (size_t)(gt_account_site(l, e) - l->sites);
	gt_account_save_peak(l, &l->sites[site]);
	gt_account_touch(l, &l->sites[site]);
	move_site(&l->sites[old], &l->sites[site], e);
}

/* A block of a pool has bytes of a segment, or returns them: the sum stays what it is. */
void gt_account_move(void *ledger, struct gt_entry *segment, const struct gt_entry *block,
		     int64_t bytes)
{
	struct gt_ledger *l = ledger;
	uint16_t row = gt_cached_row(segment, (enum gt_api)gt_functions[block->function].api);
	const struct gt_function *fn;
	struct gt_site *site;

	if (row != segment->function)
		make_segment(l, segment, row);
	fn = &gt_functions[segment->function];
	site = gt_account_site(l, segment);
	gt_account_save_peak(l, site);
	gt_account_touch(l, site);
	segment->size -= (uint64_t)bytes;
	l->tally[fn->api][fn->kind].bytes_live -= (uint64_t)bytes;
	site->bytes_live -= (uint64_t)bytes;
	if (site->bytes_live - site->bytes_gone > site->bytes_peak)
		site->bytes_peak = site->bytes_live - site->bytes_gone;
	gt_account_add_bytes(l, segment, 0 - (uint64_t)bytes, true);
	gt_breakdown_remove(&l->breakdown, (enum gt_origin)site->origin, segment, (uint64_t)bytes);
	if (l->observer && l->observer->moved)
		l->observer->moved(l->observer->context, segment, bytes);
}

/* The end of an entry is undone: it was none. */
void gt_account_revival(struct gt_ledger *l, const struct gt_entry *e, uint64_t time_ns)
{
	const struct gt_function *fn = &gt_functions[e->function];

	l->tally[fn->api][fn->kind].ended--;
	l->revived++;
	gt_account_count_alive(l, e, gt_account_site(l, e), time_ns, true);
}

/* Takes an entry off those that ended processes left. */
void gt_account_forget_gone(struct gt_ledger *l, const struct gt_entry *e)
{
	const struct gt_function *fn = &gt_functions[e->function];
	struct gt_site *site = gt_account_site(l, e);

	gt_account_save_peak(l, site);
	l->gone--;
	l->tally[fn->api][fn->kind].gone--;
	site->gone--;
}

void gt_account_peak(struct gt_ledger *l)
{
	for (size_t i = 0; i < l->site_count; i++)
		gt_account_save_peak(l, &l->sites[i]);
}
