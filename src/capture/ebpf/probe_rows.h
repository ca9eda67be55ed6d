/* SPDX-License-Identifier: MIT */
/* probe_rows.h - what the BPF programs record of a call, and its reconstruction as a call. */
#pragma once

#include "capture/ebpf/calls.h"
#include "api/pool_report.h"
#include "capture/ebpf/inferred.h"
#include "event/call.h"

enum {
	GT_PLAN_UNRECORDED = 13
}; /* functions of which something else matters: gt_plan_unrecorded */

/* How an argument is reconstructed in the tool. */
enum gt_plan_how {
	GT_PLAN_UNUSED,
	GT_PLAN_WORD,     /* the word itself */
	GT_PLAN_COPY,     /* a pointer to the copy of what it pointed to */
	GT_PLAN_ARRAY,    /* a pointer to the handles */
	GT_PLAN_COUNT,    /* their number */
	GT_PLAN_COUNT_AT, /* a pointer to their number */
};

struct gt_plan_argument {
	uint8_t how, word, copy, offset;
};

/* A row's plan: the BPF programs' part and ours. */
struct gt_plan {
	struct gt_probe_row row;
	struct gt_plan_argument arguments[GT_ARGS_MAX];
	uint8_t layout_count;
	uint8_t layout[GT_LAYOUT_WORDS]; /* where each word of the row's layout is kept */
};

/* False when the row is not probed: it creates and ends nothing, or is a second effect. */
bool gt_plan_make(struct gt_plan *plan, enum gt_function_id function);

/*
 * The cookie of a function that is probed but not recorded, GT_PROBE_ASKED or higher; 0 for other
 * functions. It registers a callback which a release may run, changes the current context, or asks
 * for what the tool wants to know, too.
 */
uint16_t gt_plan_unrecorded(enum gt_api api, const char *name);
/* What the BPF programs record of a question, whose row is GT_PROBE_ASKED + asked. */
struct gt_probe_row gt_plan_asked(enum gt_probe_asked asked);

/* The first arguments of a call as they were passed, as far as they are kept; their number. */
uint32_t gt_plan_arguments(const struct gt_plan *plan, const struct gt_probe_call *record,
			   uint64_t argv[GT_ARGS_MAX]);

/* How C passes arguments. */
struct gt_calling {
	uint8_t registers;
	bool large_is_behind; /* structures of more than two words are passed by their address */
	bool fills_in_order;  /* no register is used once an argument was passed on the stack */
};
enum { GT_CALLING_X86_64, GT_CALLING_AARCH64, GT_CALLING_COUNT };
#if defined(__aarch64__)
enum { GT_CALLING_HERE = GT_CALLING_AARCH64 };
#else
enum { GT_CALLING_HERE = GT_CALLING_X86_64 };
#endif
extern const struct gt_calling gt_callings[GT_CALLING_COUNT];

/* Where an argument is passed, in the terms of gt_probe_row.where. */
uint8_t gt_plan_where(enum gt_function_id function, unsigned argument);
uint8_t gt_plan_where_by(const struct gt_calling *calling, enum gt_function_id function,
			 unsigned argument);

/* A record as a call. Points into itself and into the record. */
struct gt_replica {
	struct gt_call call; /* first: a door casts it to this */
	void *context;       /* the caller's */
	uint64_t argv[GT_ARGS_MAX];
	uint64_t words[GT_LAYOUT_WORDS]; /* of the row's layout */
	uint64_t current;                /* context of the thread; 0: unknown */
	uint32_t count;
	uint64_t lost;                /* handles that are missing */
	struct gt_pool_report report; /* of an allocator above the driver; zeroed: it is none */
};

/* True when a record is as long as its fields claim. */
bool gt_probe_call_is_whole(const struct gt_probe_call *record, size_t size);
/* When a record of a call or of Python was made, in ns of CLOCK_MONOTONIC. */
uint64_t gt_probe_record_time(const void *record, size_t size);
/* The handles of a whole record. */
const uint64_t *gt_probe_call_array(const struct gt_probe_call *record);
/* `array` has record->array handles. */
void gt_replica_make(struct gt_replica *r, const struct gt_plan *plan,
		     const struct gt_probe_call *record, const uint64_t *array);
