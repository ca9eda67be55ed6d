/* SPDX-License-Identifier: MIT */
/* graves.c - a ring of ended handles, found by their hash. */
#include "ledger/graves.h"

#include <stdlib.h>

#include "base/bytes.h"
#include "base/mem.h"

enum { GRAVES_MAX = 1 << 16 };

void gt_graves_fini(struct gt_graves *g)
{
	free(g->list);
	free(g->heads);
	*g = (struct gt_graves){ 0 };
}

static size_t bucket(uint32_t process, enum gt_kind kind, uint64_t handle)
{
	return gt_mix64(handle ^ (uint64_t)gt_kinds[kind].family << 56 ^ (uint64_t)process << 40) %
	       GRAVES_MAX;
}

static size_t bucket_of(const struct gt_grave *d)
{
	return bucket(d->process, (enum gt_kind)gt_functions[d->function].kind, d->handle);
}

static void forget(struct gt_graves *g, uint32_t index)
{
	uint32_t *link = &g->heads[bucket_of(&g->list[index])];

	while (*link && *link != index + 1)
		link = &g->list[*link - 1].next;
	if (*link)
		*link = g->list[index].next;
}

static struct gt_grave *find(const struct gt_graves *g, uint32_t process, enum gt_kind kind,
			     uint64_t handle)
{
	if (!g->list)
		return NULL;
	for (uint32_t i = g->heads[bucket(process, kind, handle)]; i; i = g->list[i - 1].next) {
		struct gt_grave *d = &g->list[i - 1];

		if (d->handle == handle && d->process == process &&
		    gt_kinds[gt_functions[d->function].kind].family == gt_kinds[kind].family)
			return d;
	}
	return NULL;
}

const struct gt_grave *gt_graves_find(const struct gt_graves *g, uint32_t process,
				      enum gt_kind kind, uint64_t handle)
{
	return find(g, process, kind, handle);
}

void gt_graves_add(struct gt_graves *g, const struct gt_entry *e, uint32_t ended_stack)
{
	struct gt_grave *d = find(g, e->process, gt_entry_kind(e), e->handle);
	uint32_t index;
	size_t at;

	/* a handle that is reused is remembered once, however often it dies */
	if (d) {
		d->created_stack = e->stack;
		d->ended_stack = ended_stack;
		d->function = e->function;
		return;
	}
	if (!g->list) {
		g->list = gt_alloc(GRAVES_MAX * sizeof *g->list);
		g->heads = gt_alloc(GRAVES_MAX * sizeof *g->heads);
	}
	index = (uint32_t)(g->count++ % GRAVES_MAX);
	d = &g->list[index];
	if (g->count > GRAVES_MAX)
		forget(g, index);
	*d = (struct gt_grave){ .handle = e->handle,
				.created_stack = e->stack,
				.ended_stack = ended_stack,
				.process = e->process,
				.function = e->function };
	at = bucket_of(d);
	d->next = g->heads[at];
	g->heads[at] = index + 1;
}
