/* SPDX-License-Identifier: MIT */
/*
 * agent_recording.h - recordings of running processes, begun and ended by the agent at any time.
 *
 * A recording begins with what is alive: each living resource is written as if it were created just
 * then, with the time and the stack of its creation. So each one stands alone, and a report of the
 * latest has every leak of a process that has run for months.
 */
#pragma once

#include "agent/row.h"
#include "capture/ebpf/tracer.h"
#include "ledger/board.h"

struct gt_agent_recording;

struct gt_agent_recorded {
	const char *folder; /* is made, with its `info` */
	uint32_t pid;       /* only this process; 0: all */
	uint64_t max_bytes; /* of its traces */
	struct gt_board *board;
	struct gt_traced *const *processes; /* by the board's number; NULL: ended */
	size_t process_count;
	/* The words of a stack with GT_RESTORED; NULL: not known yet. */
	const struct gt_agent_stack *(*restored)(void *context, uint16_t process, uint32_t stack);
	void *context;
};

int gt_agent_recording_new(struct gt_agent_recording **out, const struct gt_agent_recorded *what,
			   struct gt_error *error);
/* Ends it: its processes went on. */
void gt_agent_recording_free(struct gt_agent_recording *r, uint64_t lost);

/* Before the board has the event. */
void gt_agent_recording_event(struct gt_agent_recording *r, struct gt_traced *process,
			      const struct gt_event *event);
/* Before the process is forgotten. */
void gt_agent_recording_ended(struct gt_agent_recording *r, const struct gt_traced *process);

const char *gt_agent_recording_folder(const struct gt_agent_recording *r);
/* Bytes and traces so far. */
uint64_t gt_agent_recording_bytes(const struct gt_agent_recording *r, size_t *traces);
/* True if it was of one process, and that has ended; or nothing more can be written. */
bool gt_agent_recording_is_over(const struct gt_agent_recording *r);
