/* SPDX-License-Identifier: MIT */
/* recorder.h - this process's trace: opened on request, a lane per thread, a new one after fork. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "event/event.h"
#include "trace/layout.h"

/* Functions that doors may call; everything else in the recorder library is hidden. */
#define GT_EXPORT __attribute__((visibility("default")))

/* Opens the trace if the settings ask for one; says one line if that fails. */
void gt_recorder_start(void);
/* True when events should be recorded. */
bool gt_recorder_is_on(void);
/* Marks the trace as ended; what still comes is written all the same. */
void gt_recorder_end(void);
/*
 * In a child after fork: lets go of the parent's trace and starts one of its own. `can_free`: what
 * other threads allocated, too.
 */
void gt_recorder_restart(bool can_free);

/* Something about the process, as doc/FORMAT.md lists it. */
void gt_recorder_info(const char *key, const char *value);
/* A stack's number in the trace; 0 when it cannot be had. */
uint32_t gt_recorder_stack(const uint64_t *frames, size_t count);
/* The number of a frame that is known by its text, to be put among a stack's frames; 0: none. */
uint64_t gt_recorder_text_frame(const struct gt_text_frame *frame);
/* What the program calls what was created under a handle at that very time. */
void gt_recorder_name(uint64_t time_ns, uint64_t handle, const char *name);
void gt_recorder_place(uint16_t number, enum gt_api api, const char *name);
/* Every now and then: notices unloaded code. */
void gt_recorder_tick(uint64_t now_ns);

/* The event's thread is the calling one. */
void gt_recorder_event(const struct gt_event *event);
/* Counts an event that could not be taken. */
void gt_recorder_lose(void);
/* A call that ends something is about to be made, and has returned: writer.h. */
void gt_recorder_enter(const struct gt_event *event, const void *call);
void gt_recorder_leave(const void *call);

/* The calling thread's number, remembered. */
uint32_t gt_thread_id(void);

/*
 * Writes "gputrack: …" with a newline to stderr, in one write: the one line that the program's
 * stderr gets from us when something failed. Callers do not repeat themselves.
 */
GT_EXPORT void gt_stderr_line(const char *format, ...) __attribute__((format(printf, 1, 2)));
