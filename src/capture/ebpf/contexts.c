/* SPDX-License-Identifier: MIT */
/* contexts.c - the CUDA contexts of a process, as far as its calls tell. */
#include "capture/ebpf/contexts.h"

uint64_t gt_contexts_owner(struct gt_contexts *c)
{
	c->has_unseen |= !c->count;
	/* which of several is current is not to be seen from outside */
	return c->count == 1 && !c->has_unseen ? c->list[0].handle : 0;
}

static size_t find(const struct gt_contexts *c, uint64_t handle)
{
	size_t i = 0;

	while (i < c->count && c->list[i].handle != handle)
		i++;
	return i;
}

static void add(struct gt_contexts *c, uint64_t handle, uint32_t device, bool is_primary)
{
	size_t at = find(c, handle);

	if (at == GT_CONTEXTS_MAX) {
		c->has_unseen = true;
		return;
	}
	if (at == c->count) {
		c->list[c->count].handle = handle;
		c->list[c->count].refs = 0;
		c->list[c->count].device = device;
		c->list[c->count++].is_primary = is_primary;
	}
	c->list[at].refs++;
}

static void drop(struct gt_contexts *c, size_t at, bool whole)
{
	if (at < c->count && (whole || !--c->list[at].refs))
		c->list[at] = c->list[--c->count];
}

bool gt_contexts_apply(struct gt_contexts *c, struct gt_event *event, uint32_t device)
{
	const struct gt_function *fn = &gt_functions[event->function];
	bool is_primary = fn->kind == GT_PRIMARY_CONTEXT;
	size_t at = 0;

	if (fn->kind != GT_CUDA_CONTEXT && !is_primary)
		return true;
	if (fn->effect == GT_CREATE) {
		if (!event->failed && event->handle)
			add(c, event->handle, device, is_primary);
		return true;
	}
	if (!gt_function_ends(fn))
		return true;
	if (is_primary) {
		uint32_t wanted = (uint32_t)event->handle;

		while (at < c->count && (!c->list[at].is_primary || c->list[at].device != wanted))
			at++;
		if (at == c->count)
			return false;
		event->handle = c->list[at].handle;
	} else {
		at = find(c, event->handle);
	}
	if (!event->failed)
		drop(c, at, fn->effect == GT_DESTROY);
	return true;
}
