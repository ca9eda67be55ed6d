/* SPDX-License-Identifier: MIT */
/*
 * breakdown.h - device memory by origin (what is known of its stack), by process and by place.
 *
 * Kept up to date as a ledger replays; a free is charged where its allocation was counted.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/mem.h"
#include "ledger/live.h"

struct gt_breakdown_part {
	uint64_t bytes;               /* now */
	uint64_t peak_bytes, peak_ns; /* this part's own peak, not the total's */
	uint64_t created;             /* allocations of device memory, ever */
};

struct gt_breakdown {
	struct gt_breakdown_part origins[GT_ORIGIN_COUNT];
	uint64_t origins_at_peak[GT_ORIGIN_COUNT];    /* bytes at the total's peak */
	struct gt_breakdown_part *processes, *places; /* by number; place 0: unknown */
	size_t process_count, place_count;
	/* Classifies an entry; NULL: by whether it has a stack. */
	enum gt_origin (*origin)(const void *context, uint16_t function, uint32_t stack);
	const void *context;
};

void gt_breakdown_fini(struct gt_breakdown *s);
enum gt_origin gt_breakdown_origin(const struct gt_breakdown *s, const struct gt_entry *e);

static inline void gt_breakdown_part_add(struct gt_breakdown_part *part, uint64_t bytes,
					 uint64_t time_ns)
{
	part->bytes += bytes;
	part->created++;
	if (part->bytes > part->peak_bytes) {
		part->peak_bytes = part->bytes;
		part->peak_ns = time_ns;
	}
}

/* An entry of that origin with `bytes` of device memory was allocated, or freed. */
static inline void gt_breakdown_add(struct gt_breakdown *s, enum gt_origin origin,
				    const struct gt_entry *e, uint64_t bytes)
{
	GT_REACH(s->processes, s->process_count, e->process);
	GT_REACH(s->places, s->place_count, e->place);
	gt_breakdown_part_add(&s->origins[origin], bytes, e->time_ns);
	gt_breakdown_part_add(&s->processes[e->process], bytes, e->time_ns);
	gt_breakdown_part_add(&s->places[e->place], bytes, e->time_ns);
}

static inline void gt_breakdown_remove(struct gt_breakdown *s, enum gt_origin origin,
				       const struct gt_entry *e, uint64_t bytes)
{
	GT_REACH(s->processes, s->process_count, e->process);
	GT_REACH(s->places, s->place_count, e->place);
	s->origins[origin].bytes -= bytes;
	s->processes[e->process].bytes -= bytes;
	s->places[e->place].bytes -= bytes;
}

/* Call when the total reaches a new peak. */
void gt_breakdown_mark_peak(struct gt_breakdown *s);
