/* SPDX-License-Identifier: MIT */
/* totals.c - a ledger's tallies summed up over all kinds. */
#include "ledger/ledger.h"

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
