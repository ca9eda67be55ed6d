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

static struct gt_breakdown_part *part_at(struct gt_breakdown_part **list, size_t *count,
					 size_t index)
{
	GT_REACH(*list, *count, index);
	return &(*list)[index];
}

static void grow(struct gt_breakdown_part *part, uint64_t bytes, uint64_t time_ns)
{
	part->bytes += bytes;
	part->created++;
	if (part->bytes > part->peak_bytes) {
		part->peak_bytes = part->bytes;
		part->peak_ns = time_ns;
	}
}

void gt_breakdown_add(struct gt_breakdown *s, enum gt_origin origin, const struct gt_entry *e,
		      uint64_t bytes)
{
	grow(&s->origins[origin], bytes, e->time_ns);
	grow(part_at(&s->processes, &s->process_count, e->process), bytes, e->time_ns);
	grow(part_at(&s->places, &s->place_count, e->place), bytes, e->time_ns);
}

void gt_breakdown_remove(struct gt_breakdown *s, enum gt_origin origin, const struct gt_entry *e,
			 uint64_t bytes)
{
	s->origins[origin].bytes -= bytes;
	part_at(&s->processes, &s->process_count, e->process)->bytes -= bytes;
	part_at(&s->places, &s->place_count, e->place)->bytes -= bytes;
}

void gt_breakdown_mark_peak(struct gt_breakdown *s)
{
	for (int i = 0; i < GT_ORIGIN_COUNT; i++)
		s->origins_at_peak[i] = s->origins[i].bytes;
}
