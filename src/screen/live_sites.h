/* SPDX-License-Identifier: MIT */
/* live_sites.h - the call sites of running processes, those of one place (replay/place.h) as one.
 */
#pragma once

#include "base/identity.h"
#include "ledger/board.h"
#include "replay/frames.h"

/* Who a process is. Texts are "" where nothing is known, or there is none. */
struct gt_live_who {
	uint32_t uid; /* GT_UID_UNKNOWN */
	const char *user, *container, *command;
};

/* A GPU, or an instance of a divided one (MIG), as the machine's driver reports it. */
struct gt_live_gpu {
	char number[12]; /* "0", or "0:7": instance 7 of GPU 0 */
	char name[96];
	uint64_t used, total; /* by all processes; total 0: unknown */
	int busy;             /* percent; -1: unknown */
	unsigned processes;
};

/* What a process uses of them. */
struct gt_live_gpu_use {
	char gpus[24];        /* their numbers: "0", "0:7,0:8" */
	uint64_t used, total; /* total: of these GPUs */
};

/* Names the stacks of a process, the process itself, and places. */
struct gt_live_names {
	/* What has its frames, and the stack's number there; NULL: nothing is known. */
	struct gt_frames *(*find)(void *context, uint16_t process, uint32_t stack,
				  uint32_t *number);
	void *context;
	/* These may be NULL. Who a process is, and where resources live; "" for unknown places. */
	const struct gt_live_who *(*who)(void *context, uint16_t process);
	const char *(*place)(void *context, uint16_t place);
	/* All GPUs; what a process uses of them, false if the driver lists it nowhere. */
	const struct gt_live_gpu *(*gpus)(void *context, size_t *count);
	bool (*gpu_use)(void *context, uint32_t pid, struct gt_live_gpu_use *use);
};

/* NULL if nobody knows. */
const struct gt_live_who *gt_live_who(const struct gt_live_names *names, uint16_t process);
/*
 * What is at the places of a gt_board_place_bit mask: "0-3,5" for GPUs, names for others; "?"
 * stands for unknown ones. In `text`.
 */
const char *gt_live_devices(const struct gt_live_names *names, uint64_t places, char *text,
			    size_t size);

enum { GT_LIVE_SITES_MAX = 1000 };

struct gt_live_site {
	struct gt_board_site sum; /* with the stack of the biggest, and no history of its own */
	struct gt_recent history; /* of all of them */
	struct gt_frames *frames; /* NULL: nothing is known */
	uint32_t number;          /* of the stack there */
	uint64_t key;             /* of its place; 0: unknown */
	uint32_t processes;       /* that have it */
};

/* Whether the sites of one place in several processes are one. */
enum gt_live_merge { GT_LIVE_MERGE_WITHIN, GT_LIVE_MERGE_ACROSS };

/*
 * The first GT_LIVE_SITES_MAX sites with living resources in this order, merged by place: of one
 * process, or of all that run. The caller frees the list; it is good until names are forgotten.
 */
struct gt_live_site *gt_live_sites(const struct gt_board *b, uint16_t process,
				   enum gt_board_order order, enum gt_live_merge merge,
				   const struct gt_live_names *names, size_t *count);
