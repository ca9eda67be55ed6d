/* SPDX-License-Identifier: MIT */
/* ledger_totals.c - sums over a ledger: leaks, all kinds together, what libraries hold, samples. */
#include "ledger/ledger.h"

#include "base/mem.h"

void gt_ledger_sample(struct gt_ledger *l, size_t series, uint64_t time_ns, int64_t value)
{
	struct gt_samples *s = &l->samples;
	struct gt_sampled *one;

	GT_REACH(s->series, s->count, series);
	one = &s->series[series];
	if (!one->any || value > one->peak) {
		one->peak = value;
		one->peak_ns = time_ns;
	}
	if (!one->any)
		one->first = value;
	one->last = value;
	one->any = true;
}

void gt_ledger_hold(struct gt_ledger *l, size_t site, uint32_t held)
{
	struct gt_site *s = &l->sites[site];

	s->held = held;
	l->held.count += s->live;
	*(gt_kind_on_device((enum gt_kind)s->kind) ? &l->held.device_bytes : &l->held.host_bytes) +=
		s->bytes_live;
}

bool gt_ledger_is_held(const struct gt_ledger *l, const struct gt_entry *entry)
{
	return l->held.count && gt_ledger_site(l, entry)->held;
}

struct gt_leaked gt_ledger_leaked(const struct gt_ledger *l)
{
	struct gt_leaked sum = { 0 };

	for (int api = 0; api < GT_API_COUNT; api++)
		for (int kind = 0; kind < GT_KIND_COUNT; kind++) {
			const struct gt_tally *t = &l->tally[api][kind];

			if (gt_kinds[kind].habits & GT_LASTING)
				continue;
			sum.count += t->live;
			*(gt_kind_on_device((enum gt_kind)kind) ? &sum.device_bytes :
								  &sum.host_bytes) += t->bytes_live;
		}
	sum.count -= l->held.count;
	sum.device_bytes -= l->held.device_bytes;
	sum.host_bytes -= l->held.host_bytes;
	return sum;
}

struct gt_tally gt_ledger_total(const struct gt_ledger *l)
{
	struct gt_tally sum = { 0 };

	for (int api = 0; api < GT_API_COUNT; api++)
		for (int kind = 0; kind < GT_KIND_COUNT; kind++) {
			const struct gt_tally *t = &l->tally[api][kind];

			sum.created += t->created;
			sum.ended += t->ended;
			sum.failed += t->failed;
			sum.bytes_total += t->bytes_total;
			if (gt_kinds[kind].habits & GT_LASTING)
				continue;
			sum.live += t->live;
			sum.bytes_live += t->bytes_live;
		}
	return sum;
}
