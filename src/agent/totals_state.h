/* SPDX-License-Identifier: MIT */
/* totals_state.h - what the table of totals keeps: for totals.c, which changes it, and its queries.
 */
#pragma once

#include "agent/growth_window.h"
#include "agent/totals.h"

enum { GT_AGENT_GPUS = 2 * GT_AGENT_FIRST_UNIT };

/* The words of a stack, in one block with its frames and texts; shared by its places. */
struct gt_agent_words {
	struct gt_agent_stack stack;
	const char *place, *function, *file;
	uint32_t line;
	uint32_t users;              /* places */
	size_t size;                 /* of the block */
	struct gt_agent_words *next; /* in its bucket, by id */
};

struct gt_agent_place {
	struct gt_agent_key key;
	uint32_t generation;         /* of the slot: counts its places */
	uint32_t next;               /* in its bucket: place + 1 */
	uint32_t next_of, before_of; /* of the process: place + 1 */
	bool is_used, grows;
	uint64_t live_bytes, live_objects, allocated_bytes, allocated_objects;
	uint64_t low_bytes, low_objects; /* least since the last advance */
	double growth_per_second;
	uint64_t growth_since_ns;
	struct gt_growth_window *window; /* NULL: it has held nothing across a step */
	struct gt_agent_words *words;    /* NULL: not named yet */
};

struct gt_agent_known_process {
	struct gt_agent_process who;
	char *texts; /* one block */
	size_t texts_size;
	struct gt_agent_sums sums;
	uint32_t first_place; /* place + 1 */
	bool is_used;
};

struct gt_agent_totals {
	struct gt_agent_totals_options options;
	struct gt_agent_known_process *processes;
	size_t process_count, process_room, processes_used;
	uint32_t *free_processes; /* a stack */
	size_t free_process_count, free_process_room;
	size_t ended; /* processes that have ended */
	struct gt_agent_place *places;
	size_t place_count, place_room, places_used;
	uint32_t free_place; /* place + 1, chained through `next` */
	uint32_t *buckets;   /* place + 1, by process and stack */
	size_t bucket_count; /* a power of two */
	struct gt_agent_words **words;
	size_t words_buckets, words_count;
	struct gt_agent_sums sums, gpus[GT_AGENT_GPUS];
	char *gpu_names[GT_AGENT_GPUS];
	size_t bytes;          /* but for the arrays */
	uint64_t folded;       /* places and processes */
	uint64_t now_ns, step; /* of the last advance */
};

size_t gt_agent_bucket(uint32_t process, uint32_t stack, size_t bucket_count);
