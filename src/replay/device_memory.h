/* SPDX-License-Identifier: MIT */
/*
 * device_memory.h - where the memory of each device is at one moment, down to the last byte that
 * the GPU itself reports.
 *
 * Three sources, in this order:
 * - calls: what was allocated, by place, by library, cached by a pool, static variables;
 * - measured during calls: code, graphs, further contexts (capture/cuda/measure.c);
 * - sampled from the GPU: what the program uses beyond that. What it used so when its first context
 *   had been made is the context's; what was added later is unknown.
 */
#pragma once

#include "ledger/groups.h"
#include "replay/pool.h"
#include "replay/view.h"

enum gt_memory_part {
	GT_PART_PLACES,     /* what the program's own code asked for */
	GT_PART_LIBRARIES,  /* what libraries asked for themselves: workspaces, handles */
	GT_PART_CACHED,     /* kept by a pool, in segments that could be given back … */
	GT_PART_FRAGMENTED, /* … in segments that a living block pins */
	GT_PART_STATICS,
	GT_PART_CODE,
	GT_PART_GRAPHS,
	GT_PART_CONTEXTS,
	GT_PART_UNKNOWN,
	GT_PART_COUNT
};

struct gt_part {
	uint64_t bytes, count;
};

struct gt_library_part {
	const char *name;
	struct gt_part part;
};

enum { GT_MEMORY_LIBRARIES = 16 };

struct gt_device_memory {
	uint16_t place; /* 0: unknown */
	struct gt_part parts[GT_PART_COUNT];
	struct gt_groups places; /* of GT_PART_PLACES, merged by place, the biggest first */
	struct gt_library_part libraries[GT_MEMORY_LIBRARIES]; /* likewise; the last: all others */
	size_t library_count;

	bool is_reported;        /* by the GPU; else the sum of the parts is all that is known */
	bool is_of_program;      /* its figure for the program, not a change since the start */
	uint64_t program, total; /* bytes used by the program (the sum of the parts), by all */
	uint64_t capacity;       /* 0: unknown */
};

struct gt_memory_moment {
	uint64_t time_ns;
	struct gt_ledger *ledger; /* up to then */
	struct gt_groups all;
	struct gt_pools pools;
	struct gt_device_memory *devices; /* in the order of the recording's places */
	size_t device_count;
};

/* The parts' keys ("fragmented") and names ("cached in segments that a living block pins"). */
extern const char *const gt_part_keys[GT_PART_COUNT], *const gt_part_names[GT_PART_COUNT];
/* Short names, for charts. */
extern const char *const gt_part_labels[GT_PART_COUNT];

/*
 * Where an entry's bytes belong; GT_PART_COUNT: nowhere. GT_PART_PLACES also for libraries',
 * GT_PART_CACHED for every rest of a segment, which counts as pinned or not.
 */
enum gt_memory_part gt_part_of(const struct gt_entry *entry);

/*
 * True for a variable of code that was loaded before there was a context: it takes no memory until
 * a context has the code, and is then part of what that takes.
 */
bool gt_awaits_context(const struct gt_entry *entry);

/* The ledger must have samples. */
void gt_memory_init(struct gt_memory_moment *m, const struct gt_view *v, uint64_t time_ns);
void gt_memory_fini(struct gt_memory_moment *m);
