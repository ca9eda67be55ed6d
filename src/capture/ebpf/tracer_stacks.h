/* SPDX-License-Identifier: MIT */
/* tracer_stacks.h - the stacks of calls as the BPF programs send them, and the tables for those. */
#pragma once

#include "capture/ebpf/calls.h"
#include "capture/ebpf/probes.h"
#include "capture/ebpf/tracer.h"
#include "capture/ebpf/unwind_tables.h"

/* What is known of a process that is followed. */
struct gt_early_space {
	uint32_t pid;
	struct gt_space *space;
	struct gt_modules modules;
};

struct gt_tracer_stacks {
	struct gt_images *images;
	uint32_t depth;                  /* frames of a stack, at most */
	struct gt_unwind_tables *tables; /* NULL: stacks are unwound otherwise */
	uint64_t cut;                    /* stacks that end early */
	struct gt_early_space *early;    /* of those that are followed, but have not made a call */
	size_t early_count, early_room;
};

void gt_tracer_stacks_init(struct gt_tracer_stacks *s, struct gt_images *images,
			   const struct gt_probes *probes, const struct gt_probes_options *options);
void gt_tracer_stacks_fini(struct gt_tracer_stacks *s);

/* The number of a call's stack; 0 for none. */
uint32_t gt_tracer_stacks_take(struct gt_tracer_stacks *s, struct gt_traced *p,
			       const struct gt_probe_call *c);

/* The process will be followed: its code is told to the BPF programs. */
void gt_tracer_stacks_follow(struct gt_tracer_stacks *s, uint32_t pid);
/* What is known of one that is followed becomes `p`'s. */
void gt_tracer_stacks_adopt(struct gt_tracer_stacks *s, struct gt_traced *p);
/* It runs another program now. */
void gt_tracer_stacks_exec(struct gt_tracer_stacks *s, uint32_t pid);
/* The same for one that has made calls, if it has mapped something since. */
void gt_tracer_stacks_prepare(struct gt_tracer_stacks *s, struct gt_traced *p);
void gt_tracer_stacks_fork(struct gt_traced *parent, struct gt_traced *child);
void gt_tracer_stacks_end(struct gt_tracer_stacks *s, struct gt_traced *p);
