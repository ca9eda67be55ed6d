/* SPDX-License-Identifier: MIT */
/* live_view.h - the resources of attached processes, tracked while they run, shown on request. */
#pragma once

#include <stdio.h>

#include "capture/ebpf/tracer.h"
#include "ledger/board.h"
#include "replay/frames.h"
#include "screen/live_sites.h"

struct gt_attach_names;
struct gt_gpu_use;

/* --max-memory: half of it is for stacks, half for call sites. */
enum { GT_MEMORY = 256 << 20, GT_MEMORY_LEAST = 1 << 20 };
#define GT_MEMORY_MOST (1ll << 40)

/* Rows that attach and top share; `.at = offsetof(…)` is given. */
/* clang-format off */
#define GT_MEMORY_OPTION(field)                                                                    \
	{ .name = "max-memory", .type = GT_OPTION_SIZE, .argument = "SIZE",                        \
	  .least = GT_MEMORY_LEAST, .most = GT_MEMORY_MOST, field, .local = GT_LOCAL_YES,          \
	  .help = "memory for call stacks and call sites (default: 256M, at least 1M); further "   \
		  "ones are counted together as \"other call sites\"" }
#define GT_UNWIND_OPTIONS(no_python_field, unwind_field)                                           \
	{ .name = "no-python", .type = GT_OPTION_FLAG, no_python_field, .local = GT_LOCAL_YES,     \
	  .help = "do not look for lines of Python: stacks show the interpreter's own frames" },   \
	{ .name = "unwind", .type = GT_OPTION_CHOICE, .argument = "HOW",                           \
	  .choices = gt_unwinding_names, unwind_field, .local = GT_LOCAL_YES,                      \
	  .help = "how to unwind stacks: auto (by the unwind tables of programs and libraries, "   \
		  "in the kernel; the default), fp (frame pointers) or dwarf (from a copy of the " \
		  "stack's top)" }
/* clang-format on */

struct gt_attach_live {
	struct gt_board *board;
	const struct gt_tracer *tracer; /* that knows places; NULL: not there yet */
	struct gt_listener listener;    /* for gt_tracer_options */
	uint64_t since_ns;
	struct gt_traced **processes; /* by the board's number; NULL: ended */
	size_t process_count;
	struct gt_gpu_use *gpus;       /* NULL: of no interest */
	struct gt_attach_names *names; /* of stacks that have been shown */
};

struct gt_attach_live_options {
	bool charts_sites;     /* call sites have histories */
	size_t max_site_bytes; /* memory for call sites */
	struct gt_own_rules own;
	enum gt_by by;      /* what is one call site */
	bool splits_places; /* and what it has on each device is one of its own */
};

void gt_attach_live_init(struct gt_attach_live *l, const struct gt_attach_live_options *options);
void gt_attach_live_fini(struct gt_attach_live *l);
/* Tells that stacks or call sites take all the memory they may, `limit`; false if they do not. */
bool gt_attach_live_tell_full(const struct gt_attach_live *l, const struct gt_tracer *tracer,
			      uint64_t limit);
/*
 * Forgets the processes that have ended, with their names: for those who watch for months. Numbers
 * of processes are reused from then on.
 */
void gt_attach_live_forget(struct gt_attach_live *l);
/* An interval is over: updates losses, rates and histories. */
void gt_attach_live_tick(struct gt_attach_live *l);
/* Prints a summary of this moment. */
void gt_attach_live_show(struct gt_attach_live *l, FILE *out, size_t top, uint64_t lost);

/*
 * Names of stacks, processes and places. Those of stacks stay valid after the process has ended,
 * but a process that ended before the first request has none.
 */
struct gt_live_names gt_attach_live_names(struct gt_attach_live *l);
/* Forgets all names if there are very many; no frames that were returned may be in use. */
void gt_attach_names_trim(struct gt_attach_names *n);
