/* SPDX-License-Identifier: MIT */
/*
 * namer.h - the words of new call stacks, found by a child of the agent.
 *
 * Names come from files of traced processes, which may be large, damaged or hostile, and from
 * libraries that were not made for such files. The child is a copy of the agent: it knows all
 * stacks as they are at that moment, also those of a process that is about to be forgotten. Its
 * memory and time are its own, and bounded; if it fails, the stacks stay without names.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/mem.h"

struct gt_agent;

struct gt_namer {
	pid_t child; /* 0: none */
	int pipe;
	uint8_t *bytes; /* that have come so far */
	size_t size, room;
	uint64_t begun_ns, next_ns; /* when the child began, and when another may */
	uint64_t failures;
};

/* True if a child could be started. */
static inline bool gt_namer_is_free(const struct gt_namer *n, uint64_t now_ns)
{
	return !n->child && now_ns >= n->next_ns;
}

/* Starts a child if there are stacks without names and it is time. */
void gt_namer_start(struct gt_agent *a, uint64_t now_ns);
/* Takes what has come; ends a child that takes too long. */
void gt_namer_take(struct gt_agent *a, uint64_t now_ns);
void gt_namer_fini(struct gt_namer *n);
