/* SPDX-License-Identifier: MIT */
/* call.h - the one interpreter: turns a call (row, argument words, result) into events. */
#pragma once

#include <string.h>

#include "event/event.h"

/* An array argument that claims more than this is taken for garbage. */
enum { GT_CALL_HANDLES_MAX = 1 << 20 };

/* Whether the driver filled in a result that calls may fill in even if they fail. */
enum gt_filled { GT_FILLED_UNKNOWN, GT_FILLED_NOT, GT_FILLED_IN };

struct gt_call {
	enum gt_function_id function;
	const uint64_t *argv; /* gt_functions[function].argc words */
	uint64_t ret;         /* the result as a word; valid after the call */
	uint64_t begun_ns, ended_ns;
	uint32_t stack, tid;
	enum gt_filled filled;
	uint32_t phase; /* of the calling thread; 0 for none */
};

/* Questions that only the driver can answer. Any member may be NULL. */
struct gt_call_door {
	/* Bytes of a new resource whose call does not state them. */
	uint64_t (*size)(const struct gt_call *call, enum gt_function_id row, uint64_t handle);
	/* Number of handles in an OUTS array when the caller passed no pointer for it. */
	uint32_t (*count)(const struct gt_call *call, enum gt_function_id row);
	/* Owner of a new resource, where the row says ASK. */
	uint64_t (*owner)(const struct gt_call *call, enum gt_function_id row, uint64_t handle);
	/* Where a new resource lives. */
	uint16_t (*place)(const struct gt_call *call, enum gt_function_id row, uint64_t handle);
};

typedef void gt_event_fn(void *context, const struct gt_event *event);

/* An argument of any type as one word; of larger structs (IPC handles) the first 8 bytes. */
static inline uint64_t gt_word_of(const void *arg, size_t size)
{
	uint64_t word = 0;

	memcpy(&word, arg, size < sizeof word ? size : sizeof word);
	return word;
}

/*
 * True when the call cannot yield an event, known before it is made: an enqueue whose caller wants
 * no event, the destruction of NULL. Doors then read neither the stack nor the clock.
 */
bool gt_call_is_idle(enum gt_function_id function, const uint64_t *argv);

/*
 * The word that a call may fill in even if it fails; NULL: none. A caller that can marks it before
 * the call and sets `filled` by whether the mark is gone. Others leave it to the error code.
 */
uint64_t *gt_call_fills(enum gt_function_id function, const uint64_t *argv);

bool gt_call_succeeded(const struct gt_call *call);

/* The error code of a failed call; 0 when its caller passed no pointer for it. */
int32_t gt_call_code(const struct gt_call *call);

/* The object that a row's call is made on, or 0: an argument, or the first of an array. */
uint64_t gt_call_owner(const struct gt_call *call, enum gt_function_id row);

/* The first element of the array of handles that a call is given; 0 if there is none. */
uint64_t gt_call_first_handle(const struct gt_call *call);

/* Passes each event of a finished call to `emit`. Failed calls yield failed events. */
void gt_call_events(const struct gt_call *call, const struct gt_call_door *door, gt_event_fn *emit,
		    void *context);

/* True if the call's one effect concerns one handle, and only its arguments' values matter. */
bool gt_call_is_plain(enum gt_function_id function);
/* gt_call_events for such a call, if it has succeeded. False: it has no event. */
bool gt_call_plain_event(const struct gt_call *call, const struct gt_call_door *door,
			 struct gt_event *event);

/* Before a call that ends resources: one event for each of their handles. Otherwise nothing. */
void gt_call_endings(const struct gt_call *call, gt_event_fn *emit, void *context);
