/* SPDX-License-Identifier: MIT */
/* nsys_stacks.h - an export's call chains as stacks of a trace. */
#pragma once

#include "capture/nsys/nsys_calls.h"
#include "trace/writer.h"

struct gt_nsys_stacks;

/* What a stack can be, in the words of the analyses. */
enum gt_nsys_class { GT_NSYS_VALID, GT_NSYS_DRIVER, GT_NSYS_INVALID };

int gt_nsys_stacks_new(struct gt_nsys_stacks **out, const struct gt_database *d,
		       struct gt_error *error);
void gt_nsys_stacks_free(struct gt_nsys_stacks *s);

/*
 * The number that an origin has as a stack in a writer's trace: the whole call chain, or the name
 * of the driver's function alone, or 0. `trace` tells writers apart.
 */
int gt_nsys_stack(struct gt_nsys_stacks *s, struct gt_writer *w, uint32_t trace,
		  const struct gt_nsys_origin *origin, uint32_t *stack, enum gt_nsys_class *class,
		  struct gt_error *error);

/* A string of the export; "" when there is none. Good until the next call. */
const char *gt_nsys_string(struct gt_nsys_stacks *s, int64_t id);
