/* SPDX-License-Identifier: MIT */
/*
 * ledger.h - replays a recording: totals by kind, call sites, the peak, leaks, mistakes.
 *
 * Every event updates all totals; no event costs more when more is alive. For the tool.
 */
#pragma once

#include "ledger/breakdown.h"
#include "ledger/lifetimes.h"
#include "ledger/live_index.h"

struct gt_tally {
	uint64_t created, ended, live, failed;
	uint64_t bytes_total, bytes_live, bytes_peak;
	uint64_t gone, bytes_gone; /* the part of `live` whose process has ended */
};

/*
 * Everything created through one stack, of one kind and API; without a stack, by one function. What
 * every birth and end reads or changes comes first, then what only births do.
 */
struct gt_site {
	uint32_t stack;
	uint16_t function; /* of the first creation */
	uint8_t api, kind;
	uint64_t live, bytes_live;
	uint64_t bytes_gone; /* of `gone` */
	/* no more than struct gt_live has slots */
	uint32_t gone;   /* the part of `live` whose process has ended */
	uint32_t epoch;  /* private */
	uint32_t origin; /* enum gt_origin, of the first creation */
	uint32_t next;   /* private */
	uint64_t created;
	uint64_t bytes_total, bytes_peak;
	uint64_t first_ns, last_ns; /* creations */
	uint64_t bytes_at_peak;     /* of `live_at_peak` */
	uint32_t live_at_peak;      /* at the ledger's peak; set by gt_ledger_finish */
	uint32_t held;              /* by libraries, as replay/held.h numbers them; 0: it is not */
};

_Static_assert(sizeof(struct gt_site) == 104, "the price of a call site");

/* A release or destruction of an ended resource; equal ones are counted together. */
struct gt_redundant {
	uint16_t function, process;
	uint32_t stack;       /* of the redundant call */
	uint32_t ended_stack; /* of the call that ended it */
	uint32_t created_stack;
	uint64_t handle, time_ns; /* of the first one */
	int32_t result;
	bool fatal; /* the process ended inside this call */
	uint64_t count;
};

/* A block that was freed by an address inside it; equal calls are counted together. */
struct gt_interior {
	uint16_t function, process;
	uint32_t stack;                          /* of the call that freed it */
	uint32_t created_stack;                  /* of the block */
	uint64_t handle, offset, bytes, time_ns; /* of the first one: block, address within it */
	uint64_t count;
};

/* Failed calls with the same function, stack and error code. */
struct gt_failure {
	uint16_t function;
	uint32_t stack;
	int32_t result;
	uint64_t count, bytes_most, time_ns;
};

/* A site's share of what was alive at some moment. */
struct gt_holder {
	uint32_t site, live;
	uint64_t bytes;
};

/* A call that failed because memory ran out: the last one of its process. */
struct gt_shortage {
	uint32_t process, stack;
	uint16_t function, place; /* place: also where everything alive was; 0: unknown */
	int32_t result;
	uint64_t time_ns;
	uint64_t asked;        /* bytes requested; 0: unknown */
	uint64_t device_bytes; /* alive at that time, on `place` if that is known */
	uint64_t host_bytes;
	uint64_t count;            /* of the process, this one included */
	bool went_on;              /* the process allocated memory after it */
	struct gt_holder *holders; /* sites with bytes alive at that time; NULL: too many calls */
	size_t holder_count;
};

/* A call during which a process ended. */
struct gt_last_call {
	struct gt_event event;
	uint32_t process;
};

/* Resources that no call released, but that are no leaks. */
struct gt_freed {
	uint64_t count, device_bytes, host_bytes;
};

/* First, highest and last value of a series of samples. */
struct gt_sampled {
	int64_t first, peak, last;
	uint64_t peak_ns;
	bool any;
};

struct gt_samples {
	struct gt_sampled *series; /* by the recording's number */
	size_t count;
};

/* Where a record is incomplete. */
struct gt_gaps {
	/*
	 * True if an event of the process between two moments may be missing; from 0: if what it
	 * created before the second moment may be unknown. NULL: no event is missing.
	 */
	bool (*may_miss)(const void *context, uint32_t process, uint64_t from_ns, uint64_t to_ns);
	const void *context;
};

struct gt_extents;
struct gt_growth;

struct gt_ledger {
	struct gt_live live;
	struct gt_tally tally[GT_API_COUNT][GT_KIND_COUNT];
	uint64_t events;
	uint64_t first_ns, last_ns;

	uint64_t device_bytes, host_bytes;       /* now, of processes that have not ended */
	uint64_t device_left, host_left;         /* the same with what ended processes left alive */
	uint64_t gone;                           /* living entries of ended processes */
	uint64_t peak_bytes, peak_ns, peak_live; /* of device bytes; objects alive at the time */
	uint64_t peak_events;                    /* events applied up to the peak */
	uint64_t pooled_bytes, peak_pooled_bytes; /* the part in blocks of pools, now and then */
	uint32_t epoch;
	struct gt_breakdown breakdown; /* of device bytes of processes not ended */

	struct gt_site *sites;
	size_t site_count, site_room;
	uint32_t *phases;   /* by slot: the phase that its resource was created in; 0: none */
	size_t phase_count; /* 0: nothing was created in a phase */
	uint32_t *touched;  /* indices of the sites that the last event changed */
	size_t touched_count, touched_room;
	struct gt_redundant *redundant;
	size_t redundant_count, redundant_room;
	uint64_t redundant_calls; /* all, including those beyond the limit of `redundant` */
	struct gt_interior *interior;
	size_t interior_count, interior_room;
	uint64_t interior_calls; /* all, likewise */
	struct gt_failure *failures;
	size_t failure_count, failure_room;
	struct gt_shortage *shortages; /* one for each process that ran out of memory */
	size_t shortage_count, shortage_room;
	struct gt_last_call *last_calls;
	size_t last_call_count, last_call_room;

	uint64_t unknown_ends;     /* ends of resources whose creation was not seen */
	uint64_t unsure_ends;      /* second ends: a creation in between may not have been seen */
	uint64_t revived;          /* resources that a retain brought back after their end */
	uint64_t replaced;         /* resources whose end was not seen */
	uint64_t size_mismatches;  /* ends that named another size than the creation */
	uint64_t died_with_owner;  /* GT_OWNED resources that ended with their owner */
	struct gt_samples samples; /* values measured independently of calls */
	struct gt_freed freed;     /* resources that ended because their owner takes them along */
	struct gt_freed lasting;   /* resources meant to be alive at the end (GT_LASTING) */
	struct gt_freed held;      /* living resources of the sites that libraries hold */

	struct gt_growth *growth; /* NULL: not recorded; freed with the ledger */
	struct gt_gaps gaps;
	const struct gt_live_observer *observer; /* also notified of births and ends; NULL: none */

	struct gt_ledger_private *private;
};

struct gt_ledger *gt_ledger_new(void);
void gt_ledger_free(struct gt_ledger *l);
/* Of a finished ledger: its call sites and what is alive go, totals and the peak stay. */
void gt_ledger_forget_sites(struct gt_ledger *l);
/* The same, but these sites stay, with new numbers: in this order, from 0. */
void gt_ledger_keep_sites(struct gt_ledger *l, const uint32_t *sites, size_t count);

/* So many events are worth looking at before the first of them is applied. */
enum { GT_LEDGER_AHEAD = 32 };

/* What was found out about an event before it is applied: its hash, and where its entry was. */
struct gt_look {
	uint64_t hash;
	struct gt_live_guess entry;
};

void gt_ledger_apply(struct gt_ledger *l, const struct gt_event *event, uint32_t process);
/*
 * The same for events that follow each other: looks at up to GT_LEDGER_AHEAD of them, fetches what
 * it takes to apply them, and changes nothing; then each is to be applied.
 */
void gt_ledger_look_ahead(const struct gt_ledger *l, struct gt_look *looks,
			  const struct gt_event *events, const uint32_t *processes, size_t count);
void gt_ledger_apply_ahead(struct gt_ledger *l, const struct gt_event *event, uint32_t process,
			   const struct gt_look *look);
/* The process has ended: its memory is free, and what it left alive stays as leaks. */
void gt_ledger_process_end(struct gt_ledger *l, uint32_t process);
/* Adds a value measured independently of calls. */
void gt_ledger_sample(struct gt_ledger *l, size_t series, uint64_t time_ns, int64_t value);
/* True when the entry's process has ended. */
bool gt_ledger_is_gone(const struct gt_ledger *l, const struct gt_entry *entry);
/* After the last event: completes each site's share of the peak, and ends orphans (GT_OWNED). */
void gt_ledger_finish(struct gt_ledger *l);

/* After the last event: what is alive at this site is held by libraries (site->held), and no leak.
 */
void gt_ledger_hold(struct gt_ledger *l, size_t site, uint32_t held);
/* True when a living entry is held by libraries. */
bool gt_ledger_is_held(const struct gt_ledger *l, const struct gt_entry *entry);

/* Living resources, except those meant to last (GT_LASTING) and those that libraries hold. */
struct gt_leaked {
	uint64_t count, device_bytes, host_bytes;
};
struct gt_leaked gt_ledger_leaked(const struct gt_ledger *l);

/* As gt_gaps has it. */
static inline bool gt_ledger_may_miss(const struct gt_ledger *l, uint32_t process, uint64_t from_ns,
				      uint64_t to_ns)
{
	return l->gaps.may_miss && l->gaps.may_miss(l->gaps.context, process, from_ns, to_ns);
}

/* The memory that blocks of pools lie in. */
const struct gt_extents *gt_ledger_extents(const struct gt_ledger *l);

/* The program's own references of a living entry: 0 when only holders keep it alive. */
uint32_t gt_ledger_references(const struct gt_ledger *l, const struct gt_entry *entry);
/* The number of holders of a living entry (GT_HOLDS). */
uint32_t gt_ledger_holders(const struct gt_ledger *l, const struct gt_entry *entry);
/* The stack that last retained a living entry, if it is still retained; 0 for none. */
uint32_t gt_ledger_retain_stack(const struct gt_ledger *l, const struct gt_entry *entry);

/* The phase that a living entry was created in; 0 for none. */
uint32_t gt_ledger_phase(const struct gt_ledger *l, const struct gt_entry *entry);

/* True for the site of resources that `function` created through `stack`. */
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
