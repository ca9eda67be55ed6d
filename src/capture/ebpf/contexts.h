/* SPDX-License-Identifier: MIT */
/* contexts.h - the CUDA contexts of a process, as far as its calls tell. */
#pragma once

#include "event/event.h"

enum { GT_CONTEXTS_MAX = 16 };

/* A device in place of a handle: device 0 must not look like no handle at all. */
#define GT_CONTEXTS_DEVICE (UINT64_C(1) << 32)

/* True for calls that end a primary context, and name it by its device. */
static inline bool gt_contexts_by_device(const struct gt_function *fn)
{
	return fn->kind == GT_PRIMARY_CONTEXT && gt_function_ends(fn);
}

/* What is known of a process's contexts. Zeroed is initialised. */
struct gt_contexts {
	struct {
		uint64_t handle;
		uint32_t device, refs;
		bool is_primary;
	} list[GT_CONTEXTS_MAX];
	size_t count;
	/*
	 * There is, or may be, one that nobody saw being made. For good: how often it was retained
	 * is not known either, so that its end would not be.
	 */
	bool has_unseen;
};

/*
 * The context that a new resource belongs to; 0 where that cannot be told. What is created shows
 * that there is a context, seen or not.
 */
uint64_t gt_contexts_owner(struct gt_contexts *c);
/*
 * Takes an event in. Where a primary context was named by its device, the event gets its handle;
 * false when nobody has seen that context. `device` is what a retained primary context is of.
 */
bool gt_contexts_apply(struct gt_contexts *c, struct gt_event *event, uint32_t device);
