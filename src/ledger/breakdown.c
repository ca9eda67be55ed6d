/* SPDX-License-Identifier: MIT */
/* breakdown.c - device memory by origin (what is known of its stack), by process and by place. */
#include "ledger/breakdown.h"

#include <stdlib.h>

#include "base/mem.h"
#include "ledger/live.h"

void gt_breakdown_fini(struct gt_breakdown *s)
{
	free(s->processes);
	free(s->places);
}

enum gt_origin gt_breakdown_origin(const struct gt_breakdown *s, const struct gt_entry *e)
{
	if (s->origin)
		return s->origin(s->context, e->function, e->stack);
	return e->stack ? GT_ORIGIN_VALID : GT_ORIGIN_INVALID;
}

void gt_breakdown_mark_peak(struct gt_breakdown *s)
{
	for (int i = 0; i < GT_ORIGIN_COUNT; i++)
		s->origins_at_peak[i] = s->origins[i].bytes;
}
