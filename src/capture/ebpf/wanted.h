/* SPDX-License-Identifier: MIT */
/* wanted.h - which processes are traced when they are selected by what they are. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "capture/ebpf/calls.h"

/*
 * Decides whether a process is traced: when it has loaded a library, and at its first call. `first`
 * is what the kernel said of it, its pid at least; `program` the path of its program as far as it
 * was seen to be mapped, or NULL. It may have ended since.
 */
typedef bool gt_wants_fn(const void *context, const struct gt_probe_event *first,
			 const char *program);

enum { GT_WANTED_EARLY = 1024 };

/* Zeroed wants everybody. */
struct gt_wanted {
	gt_wants_fn *decide; /* NULL: all are wanted */
	const void *context;
	struct {
		uint32_t pid;
		uint64_t start_ticks;
	} early[GT_WANTED_EARLY]; /* private: the oldest is overwritten */
	size_t early_count;
};

/* Of a process that has loaded a library: the answer is kept, as it may end before its calls are
 * read. */
bool gt_wanted_early(struct gt_wanted *w, uint32_t pid, const char *program);
/* Of a process whose call is read, and which may have ended; `start`: when it began. */
bool gt_wanted_now(const struct gt_wanted *w, const struct gt_probe_event *first, uint64_t start,
		   const char *program);
