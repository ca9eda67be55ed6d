/* SPDX-License-Identifier: MIT */
/* recorder.h - this process's trace: a lane per thread, a new trace after fork. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "event/event.h"
#include "guest/settings.h"
#include "trace/layout.h"

/*
 * Opens the trace if the settings ask for one; prints one line if that fails. At the end of a
 * thread that has recorded, `at_thread_end` is called, which calls gt_recorder_thread_end in turn.
 */
void gt_recorder_start(void (*at_thread_end)(void *lane));
void gt_recorder_thread_end(void *lane);
/* True when events should be recorded. */
bool gt_recorder_is_on(void);
/* Marks the trace as ended; later events are still written. */
void gt_recorder_end(void);
/*
 * In a child after fork: drops the parent's trace and opens one for the child. `can_free`: memory
 * that other threads allocated can be freed too.
 */
void gt_recorder_restart(bool can_free);

/* Records a fact about the process; doc/FORMAT.md lists the keys. */
void gt_recorder_info(const char *key, const char *value);
/* The number of a stack in the trace; 0 if it cannot be written. */
uint32_t gt_recorder_stack(const uint64_t *frames, size_t count);
/* A frame without an address, as a number for gt_recorder_stack; 0 if it cannot be written. */
uint64_t gt_recorder_text_frame(const struct gt_text_frame *frame);
/* The number of the calling thread's phase in the trace; 0 for none (guest/ranges.h). */
uint32_t gt_recorder_phase(void);
/* Records the program's name for the resource created under `handle` at exactly `time_ns`. */
void gt_recorder_name(uint64_t time_ns, uint64_t handle, const char *name);
void gt_recorder_place(uint16_t number, enum gt_api api, const char *name);
/* Call before anything is written: notices a trace that was shortened, at most every 1 ms. */
void gt_recorder_check(uint64_t now_ns);
/* Call often: the same, and notices unloaded code, at most every 10 ms. */
void gt_recorder_tick(uint64_t now_ns);

/* Records an event of the calling thread. */
void gt_recorder_event(const struct gt_event *event);
/* GPU work. `number` is the recorder's: the work's in the current trace, 0 at first. */
struct gt_guest_work {
	struct gt_work work;
	_Atomic uint64_t number;
};

/* When a door starts: it records work; this trace, and those of children, say so. */
GT_EXPORT void gt_recorder_follow_touches(void);
/* Records work of the calling thread and the ranges of memory that it names. */
void gt_recorder_touch(struct gt_guest_work *work, uint64_t time_ns, const struct gt_naming *named);
void gt_recorder_lose_touch(void);
/* Counts an event that could not be recorded; one recorded with its caller instead of its stack. */
void gt_recorder_lose(void);
void gt_recorder_lose_stack(void);
/* Before and after a call: gt_lane_enter, gt_lane_announce, gt_lane_learn and gt_lane_leave. */
void gt_recorder_enter(const struct gt_event *event, const uint64_t *argv, const void *call);
bool gt_recorder_announce(enum gt_function_id function, const uint64_t *argv, const void *caller,
			  const void *call);
void gt_recorder_learn(enum gt_function_id function, const void *caller);
void gt_recorder_leave(const void *call);

/* The calling thread's id, cached. */
uint32_t gt_thread_id(void);

/*
 * Writes "gputrack: …" with a newline to stderr, in one write: the one line that the program's
 * stderr gets from us when something failed. Callers do not repeat themselves.
 */
GT_EXPORT void gt_stderr_line(const char *format, ...) __attribute__((format(printf, 1, 2)));
