/* SPDX-License-Identifier: MIT */
/*
 * row.h - what the agent knows about one call site of one process at one moment, and about a stack.
 *
 * All texts are "" where nothing is known. They come from processes that may be hostile: they may
 * contain any bytes, and whoever writes them escapes them. They are at most GT_AGENT_TEXT long.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "api/functions.h"
#include "symbol/symbol.h"

enum { GT_AGENT_TEXT = 512 };

/* Who a process is. */
struct gt_agent_process {
	uint32_t pid;          /* 0: several processes, beyond the limit of memory */
	uint32_t uid;          /* GT_UID_UNKNOWN */
	uint64_t start_ns;     /* since boot: with the pid it is unique until the next boot */
	uint64_t start_real_s; /* since 1970 */
	uint64_t end_ns;       /* CLOCK_MONOTONIC; 0: it runs */
	const char *comm;      /* "python3" */
	const char *command;   /* "python3 train.py --rank 3" */
	const char *user;
	const char *runtime;   /* "docker", "containerd", "podman" */
	const char *container; /* its id */
	const char *pod;       /* its id */
	const char *pod_name;  /* the name of its host, which in Kubernetes is that of its pod */
};

struct gt_agent_row {
	const struct gt_agent_process *process;
	const char *place;           /* "load src/load.c:12 via cuMemAlloc_v2", as reports say it */
	const char *function, *file; /* that the place points at */
	uint32_t line;               /* 0: unknown */
	enum gt_api api;             /* gt_api_keys */
	enum gt_kind kind;           /* gt_kinds[].name */
	const char *gpu;             /* "GPU 0" */
	uint64_t stack_id; /* by its words, equal on all hosts; 0: none, or not yet named */

	/* Allocated is the sum since the process was first seen; freed is the rest of it. */
	uint64_t live_bytes, live_objects;
	uint64_t allocated_bytes, allocated_objects;
	uint64_t freed_bytes, freed_objects;

	bool grows;               /* holds more and more: ledger/growing_sites.h */
	double growth_per_second; /* bytes, or objects where the kind has no bytes; 0: none */
	uint64_t growth_since_ns; /* CLOCK_MONOTONIC; 0: does not grow */
};

/* A stack, innermost frame first. */
struct gt_agent_stack {
	uint64_t id;
	const struct gt_frame *frames;
	size_t count;
};
