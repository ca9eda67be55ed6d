/* SPDX-License-Identifier: MIT */
/* nsys_stacks.h - the stack of an event, or at least the function that was called. */
#pragma once

#include "capture/nsys/nsys_calls.h"
#include "trace/writer.h"

struct gt_nsys_stacks;

/* How much is known of where an event came from, in the words of the analyses. */
enum gt_nsys_class { GT_NSYS_VALID, GT_NSYS_DRIVER, GT_NSYS_INVALID };

int gt_nsys_stacks_new(struct gt_nsys_stacks **out, const struct gt_database *d,
		       struct gt_nsys_names *names, struct gt_error *error);
void gt_nsys_stacks_free(struct gt_nsys_stacks *s);

/*
 * The stack of an origin in a writer's trace: the whole call chain, or the name of the driver's or
 * the runtime's function, or 0. `trace` identifies the writer.
 */
int gt_nsys_stack(struct gt_nsys_stacks *s, struct gt_writer *w, uint32_t trace,
		  const struct gt_nsys_origin *origin, uint32_t *stack, enum gt_nsys_class *class,
		  struct gt_error *error);
