/* SPDX-License-Identifier: MIT */
/*
 * walk.h - from a frame of this process to its caller's, by the rules of its code.
 *
 *	struct gt_walk w;
 *	GT_WALK_HERE(&w, &work);
 *	do
 *		use(w.registers[GT_RETURN]);
 *	while (gt_walk_step(&w));
 *
 * Safe in signal handlers, and wherever the stack lies. Takes no lock and allocates nothing; its
 * only system call is process_vm_readv, in threads that run code without rules (JIT, Go).
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "guest/frame_rules.h"

struct gt_walk {
	uint64_t registers[GT_REGISTERS]; /* GT_RETURN: the address of the frame's code */
	const uint64_t *frame_at;         /* where GT_FRAME was read; NULL: in the register */
	const uint64_t *return_at;        /* where GT_RETURN was read; NULL: nowhere known */
	struct gt_frame_work *work;       /* shared by the walks of a thread */
	uint64_t known_low, known_high;   /* memory that is there for certain */
	uint64_t link;                    /* where it was interrupted: its GT_RETURN register */
	bool is_interrupted;              /* the address is where a signal arrived */
	bool is_outermost;                /* the last step found that there is no caller */
	bool is_guessed; /* registers may be wrong: read nothing that may not be there */
};

/* The frame of the function that this is used in. */
#define GT_WALK_HERE(w, work)                                                                      \
	do {                                                                                       \
		gt_walk_init(w, work);                                                             \
		GT_READ_REGISTERS((w)->registers);                                                 \
	} while (0)

void gt_walk_init(struct gt_walk *w, struct gt_frame_work *work);
/* False at the end, and where the caller cannot be found. */
bool gt_walk_step(struct gt_walk *w);
/* Forgets rules that are cached: code was unloaded. */
void gt_walk_flush(void);
/* Makes the pages of the cache resident. */
void gt_walk_warm(void);
