/* SPDX-License-Identifier: MIT */
/*
 * ledger.h - replays a recording: totals by kind, call sites, the peak, leaks, mistakes.
 *
 * Everything is kept as events come; nothing here costs more when more is alive. For the tool.
 */
#pragma once

#include "ledger/breakdown.h"
#include "ledger/lifetimes.h"

struct gt_tally {
	uint64_t created, ended, live, failed;
	uint64_t bytes_total, bytes_live, bytes_peak;
	uint64_t gone, bytes_gone; /* of `live` those whose process has ended */
};

/* Everything created through one stack, of one kind and API; without a stack, by one function. */
struct gt_site {
	uint32_t stack;
	uint8_t api, kind;
	uint16_t function; /* of the first creation */
	uint64_t created, live;
	uint64_t bytes_total, bytes_live, bytes_peak;
	uint64_t gone, bytes_gone;            /* of `live` those whose process has ended */
	uint64_t live_at_peak, bytes_at_peak; /* at the ledger's peak; set by gt_ledger_finish */
	uint64_t first_ns, last_ns;           /* creations */
	uint32_t epoch;                       /* ledger's own */
	uint32_t next;                        /* ledger's own */
};

/* A release or destruction of what was dead already; equal ones are one, counted. */
struct gt_redundant {
	uint16_t function, process;
	uint32_t stack;       /* of the redundant call */
	uint32_t ended_stack; /* of the call that had ended it */
	uint32_t created_stack;
	uint64_t handle, time_ns; /* of the first of them */
	int32_t result;
	bool fatal; /* the process ended inside this call */
	uint64_t count;
};

/* Calls that failed: by function, stack and error code. */
struct gt_failure {
	uint16_t function;
	uint32_t stack;
	int32_t result;
	uint64_t count, bytes_most, time_ns;
};

/* A call that a process ended in. */
struct gt_last_call {
	struct gt_event event;
	uint32_t process;
};

/* Resources that no call gave back, and that are no leaks. */
struct gt_freed {
	uint64_t count, device_bytes, host_bytes;
};

/* What was measured beside the events: first, highest and last value of each series. */
struct gt_sampled {
	int64_t first, peak, last;
	uint64_t peak_ns;
	bool any;
};

struct gt_samples {
	struct gt_sampled *series; /* by the recording's number */
	size_t count;
};

struct gt_growth;

struct gt_ledger {
	struct gt_live live;
	struct gt_tally tally[GT_API_COUNT][GT_KIND_COUNT];
	uint64_t events;
	uint64_t first_ns, last_ns;

	uint64_t device_bytes, host_bytes;       /* now, of processes that have not ended */
	uint64_t device_left, host_left;         /* … and with what ended processes left alive */
	uint64_t gone;                           /* how many entries these have left */
	uint64_t peak_bytes, peak_ns, peak_live; /* of device bytes; objects alive at the time */
	uint64_t peak_events;                    /* events applied up to the peak */
	uint32_t epoch;
	struct gt_breakdown breakdown; /* of device bytes of processes not ended */

	struct gt_site *sites;
	size_t site_count, site_room;
	uint32_t *touched; /* sites that the last event changed, by index */
	size_t touched_count, touched_room;
	struct gt_redundant *redundant;
	size_t redundant_count, redundant_room;
	uint64_t redundant_calls; /* all of them, also those that are not kept */
	struct gt_failure *failures;
	size_t failure_count, failure_room;
	struct gt_last_call *last_calls;
	size_t last_call_count, last_call_room;

	uint64_t unknown_ends;     /* of resources whose creation was not seen */
	uint64_t replaced;         /* whose end was not seen */
	uint64_t size_mismatches;  /* ends that named another size than was created */
	uint64_t died_with_owner;  /* ended by no call, but by their owner's end */
	struct gt_samples samples; /* what was measured beside the events */
	struct gt_freed freed;     /* … because it takes what it owns along */
	struct gt_freed lasting;   /* alive at the end, as the API means them to be */

	struct gt_growth *growth;                /* NULL: not followed; freed with the ledger */
	const struct gt_live_observer *observer; /* told of births and ends, too; NULL: nobody */

	struct gt_ledger_private *private;
};

struct gt_ledger *gt_ledger_new(void);
void gt_ledger_free(struct gt_ledger *l);

void gt_ledger_apply(struct gt_ledger *l, const struct gt_event *event, uint32_t process);
/* The process is gone, and its memory with it; what it left alive stays in the ledger as leaks. */
void gt_ledger_process_end(struct gt_ledger *l, uint32_t process);
/* Something was measured beside the events. */
void gt_ledger_sample(struct gt_ledger *l, size_t series, uint64_t time_ns, int64_t value);
/* True when the entry's process has ended. */
bool gt_ledger_is_gone(const struct gt_ledger *l, const struct gt_entry *entry);
/* After the last event: settles what each site held at the peak, and what died with its owner. */
void gt_ledger_finish(struct gt_ledger *l);

/* What is alive and should not be: all but what lasts as long as the process. */
struct gt_leaked {
	uint64_t count, device_bytes, host_bytes;
};
struct gt_leaked gt_ledger_leaked(const struct gt_ledger *l);

/* References of a living entry that are the program's: 0 when only its holders keep it. */
uint32_t gt_ledger_references(const struct gt_ledger *l, const struct gt_entry *entry);
/* How many keep a living entry that the program may have released (GT_HOLDS). */
uint32_t gt_ledger_holders(const struct gt_ledger *l, const struct gt_entry *entry);
/* Stack of the latest retain of a living entry that is retained still; 0 for none. */
uint32_t gt_ledger_retain_stack(const struct gt_ledger *l, const struct gt_entry *entry);

/* True of the site that resources have which `function` created through `stack`. */
static inline bool gt_site_is(const struct gt_site *site, uint32_t stack, uint16_t function)
{
	return site->stack == stack && site->api == gt_functions[function].api &&
	       site->kind == gt_functions[function].kind && (stack || site->function == function);
}
/* That site, or NULL when nothing was created there; good until the next event. */
const struct gt_site *gt_ledger_find_site(const struct gt_ledger *l, uint32_t stack,
					  uint16_t function);
/* The site that a living entry was created at. */
static inline const struct gt_site *gt_ledger_site(const struct gt_ledger *l,
						   const struct gt_entry *entry)
{
	return gt_ledger_find_site(l, entry->stack, entry->function);
}
/* Sums over all APIs and kinds. */
struct gt_tally gt_ledger_total(const struct gt_ledger *l);
