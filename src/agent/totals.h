/* SPDX-License-Identifier: MIT */
/*
 * totals.h - what each call site of each process holds, has allocated and has freed, in bounded
 * memory.
 *
 * A place is (process, stack, API, kind, GPU). When memory is used up, the places that hold least
 * are added to the process's "other call sites" of the same API, kind and GPU, and processes beyond
 * the limit share one: sums stay exact.
 *
 *	gt_agent_totals_process   a process is seen for the first time
 *	gt_agent_totals_add       one of its places holds more, or less
 *	gt_agent_totals_name      the words of one of its stacks are known
 *	gt_agent_totals_end       it has ended: nothing of it is alive
 *	gt_agent_totals_advance   time passes: growth is judged
 *	gt_agent_totals_forget    drops the processes that have ended, when their last rows are out
 */
#pragma once

#include "agent/row.h"

struct gt_agent_totals;

struct gt_agent_totals_options {
	size_t max_bytes;     /* of memory, at least GT_AGENT_TOTALS_LEAST */
	size_t max_processes; /* 0: GT_AGENT_PROCESSES */
	uint64_t step_ns;     /* of growth: agent/growth_window.h; 0: a minute */
};

enum { GT_AGENT_TOTALS_LEAST = 256 << 10, GT_AGENT_PROCESSES = 1024 };

struct gt_agent_totals *gt_agent_totals_new(const struct gt_agent_totals_options *options);
void gt_agent_totals_free(struct gt_agent_totals *t);
/* A reload of the configuration; what is too much is folded at once. */
void gt_agent_totals_limit(struct gt_agent_totals *t, size_t max_bytes);

/* The number of a process, which is copied. Beyond the limit it is GT_AGENT_OTHERS. */
enum { GT_AGENT_OTHERS = 0 };
uint32_t gt_agent_totals_process(struct gt_agent_totals *t, const struct gt_agent_process *process);
void gt_agent_totals_end(struct gt_agent_totals *t, uint32_t process, uint64_t now_ns);
/*
 * The name of a GPU: "GPU 0". Numbers below GT_AGENT_FIRST_UNIT are those of events
 * (gt_event.place, which has 6 bits), those from it on to twice that are the machine's GPUs.
 */
enum { GT_AGENT_FIRST_UNIT = 64 };
void gt_agent_totals_name_gpu(struct gt_agent_totals *t, uint16_t gpu, const char *name);

/* The stack that stands for all others of a process. */
#define GT_AGENT_OTHER_STACK UINT32_MAX

struct gt_agent_key {
	uint32_t process, stack; /* the process's own number of it; 0: none */
	enum gt_api api;
	enum gt_kind kind;
	uint16_t gpu;
};

/* What has changed since the last one. */
struct gt_agent_change {
	int64_t live_bytes, live_objects;
	uint64_t allocated_bytes, allocated_objects;
	int64_t fell_bytes; /* how far below the present value it was meanwhile; at least 0 */
	int64_t fell_objects;
};

/* Where a place is counted. Zeroed: nowhere yet. */
struct gt_agent_at {
	uint32_t number, generation;
};

/*
 * Adds a change to the place of `key`, or to the one that it was added to before, if that has been
 * folded. The caller keeps `at` as long as anything counted through it is alive.
 */
void gt_agent_totals_add(struct gt_agent_totals *t, struct gt_agent_at *at,
			 const struct gt_agent_key *key, const struct gt_agent_change *change);
/* True while the place is still itself: worth a name. */
bool gt_agent_totals_has(const struct gt_agent_totals *t, const struct gt_agent_at *at);

/* The words of a stack. Copied; texts are cut at GT_AGENT_TEXT. */
struct gt_agent_name {
	const char *place;
	const char *function, *file;
	uint32_t line;
	const struct gt_frame *frames; /* innermost first */
	size_t count;
};
void gt_agent_totals_name(struct gt_agent_totals *t, uint32_t process, uint32_t stack,
			  const struct gt_agent_name *name);
/* The next place after `*at` (0 at first) whose stack has no words yet; false: there is none. */
bool gt_agent_totals_unnamed(const struct gt_agent_totals *t, uint32_t *at,
			     struct gt_agent_key *key);

/* Call at least once a step, after the changes. */
void gt_agent_totals_advance(struct gt_agent_totals *t, uint64_t now_ns);
/* Drops processes that have ended, and places that hold nothing and are not needed any more. */
void gt_agent_totals_forget(struct gt_agent_totals *t);

/* The sums of a process, or of all of them. */
struct gt_agent_sums {
	uint64_t live_bytes, live_objects;
	uint64_t device_bytes; /* on GPUs, without what pools have cached */
	uint64_t cached_bytes; /* that pools keep on GPUs */
	uint64_t allocated_bytes, allocated_objects;
	uint64_t growing; /* places that grow */
	uint64_t places;  /* that hold something */
};

/*
 * Calls `visit` for each place, of processes that run and of those that ended since
 * gt_agent_totals_forget (nothing of which is alive). Rows are good until `visit` returns, which
 * must not change the table.
 */
void gt_agent_totals_each_row(const struct gt_agent_totals *t,
			      void (*visit)(void *context, const struct gt_agent_row *row),
			      void *context);
/* Calls `visit` for each stack that a row may have, once. */
void gt_agent_totals_each_stack(const struct gt_agent_totals *t,
				void (*visit)(void *context, const struct gt_agent_stack *stack),
				void *context);
/* Calls `visit` for each process that runs. */
void gt_agent_totals_each_process(const struct gt_agent_totals *t,
				  void (*visit)(void *context,
						const struct gt_agent_process *process,
						const struct gt_agent_sums *sums),
				  void *context);
/* The stack of a row; NULL: it is not known. */
const struct gt_agent_stack *gt_agent_totals_stack(const struct gt_agent_totals *t, uint64_t id);
/* That of a process's own number of a stack; NULL: it has no words yet. */
const struct gt_agent_stack *gt_agent_totals_stack_of(const struct gt_agent_totals *t,
						      uint32_t process, uint32_t stack);
/* Of all processes, ended ones included: what was allocated only grows. */
struct gt_agent_sums gt_agent_totals_sums(const struct gt_agent_totals *t);
/* The same by GPU; its name, or NULL after the last (`gpu` counts from 0). */
const char *gt_agent_totals_gpu(const struct gt_agent_totals *t, uint16_t gpu,
				struct gt_agent_sums *sums);

/* Bytes of memory in use. */
size_t gt_agent_totals_bytes(const struct gt_agent_totals *t);
/* Places that were folded, in all; processes that share GT_AGENT_OTHERS, in all. */
uint64_t gt_agent_totals_folded(const struct gt_agent_totals *t);
