/* SPDX-License-Identifier: MIT */
/* misuse.c - releases of ended resources, failed calls, and calls that never returned. */
#include "ledger/misuse.h"

#include <stdlib.h>

#include "base/bytes.h"
#include "base/mem.h"

enum {
	ENDED_MAX = 1 << 16,
	MISTAKES_MAX = 1000, /* distinct redundant releases and failures kept; all are counted */
	LAST_CALLS_MAX = 1000,
};

void gt_ended_handles_fini(struct gt_ended_handles *ended)
{
	free(ended->list);
	free(ended->heads);
	*ended = (struct gt_ended_handles){ 0 };
}

static size_t bucket_of(const struct gt_ended_handle *d)
{
	return gt_handle_hash(d->process, (enum gt_kind)gt_functions[d->function].kind, d->handle) %
	       ENDED_MAX;
}

static void forget(struct gt_ended_handles *ended, uint32_t index)
{
	uint32_t *link = &ended->heads[bucket_of(&ended->list[index])];

	while (*link && *link != index + 1)
		link = &ended->list[*link - 1].next;
	if (*link)
		*link = ended->list[index].next;
}

static struct gt_ended_handle *find(const struct gt_ended_handles *ended, uint32_t process,
				    enum gt_kind kind, uint64_t handle)
{
	if (!ended->list)
		return NULL;
	for (uint32_t i = ended->heads[gt_handle_hash((uint16_t)process, kind, handle) % ENDED_MAX];
	     i; i = ended->list[i - 1].next) {
		struct gt_ended_handle *d = &ended->list[i - 1];

		if (d->handle == handle && d->process == process &&
		    gt_kinds[gt_functions[d->function].kind].family == gt_kinds[kind].family)
			return d;
	}
	return NULL;
}

void gt_ended_handles_add(struct gt_ended_handles *ended, const struct gt_entry *e,
			  uint32_t ended_stack)
{
	struct gt_ended_handle *d = find(ended, e->process, gt_entry_kind(e), e->handle);
	uint32_t index;
	size_t at;

	/* a reused handle is remembered once, however often it ends */
	if (d) {
		d->created_stack = e->stack;
		d->ended_stack = ended_stack;
		d->function = e->function;
		return;
	}
	if (!ended->list) {
		ended->list = gt_alloc(ENDED_MAX * sizeof *ended->list);
		ended->heads = gt_alloc(ENDED_MAX * sizeof *ended->heads);
	}
	index = (uint32_t)(ended->count++ % ENDED_MAX);
	d = &ended->list[index];
	if (ended->count > ENDED_MAX)
		forget(ended, index);
	*d = (struct gt_ended_handle){ .handle = e->handle,
				       .created_stack = e->stack,
				       .ended_stack = ended_stack,
				       .process = e->process,
				       .function = e->function };
	at = bucket_of(d);
	d->next = ended->heads[at];
	ended->heads[at] = index + 1;
}

static void count_redundant(struct gt_ledger *l, const struct gt_event *e, uint32_t process,
			    const struct gt_ended_handle *d)
{
	l->redundant_calls++;
	for (size_t i = 0; i < l->redundant_count; i++) {
		struct gt_redundant *r = &l->redundant[i];

		if (r->function == e->function && r->stack == e->stack &&
		    r->ended_stack == d->ended_stack && r->created_stack == d->created_stack) {
			r->count++;
			r->fatal |= e->unfinished;
			return;
		}
	}
	if (l->redundant_count == MISTAKES_MAX)
		return;
	GT_GROW(l->redundant, l->redundant_count, l->redundant_room);
	l->redundant[l->redundant_count++] = (struct gt_redundant){
		.function = e->function,
		.process = (uint16_t)process,
		.stack = e->stack,
		.ended_stack = d->ended_stack,
		.created_stack = d->created_stack,
		.handle = e->handle,
		.time_ns = e->time_ns,
		.result = e->result,
		.fatal = e->unfinished,
		.count = 1,
	};
}

static void count_failure(struct gt_ledger *l, const struct gt_event *e)
{
	const struct gt_function *fn = &gt_functions[e->function];
	uint64_t asked_for = fn->effect == GT_CREATE ? e->size : 0;

	l->tally[fn->api][fn->kind].failed++;
	for (size_t i = 0; i < l->failure_count; i++) {
		struct gt_failure *f = &l->failures[i];

		if (f->function == e->function && f->stack == e->stack && f->result == e->result) {
			f->count++;
			if (asked_for > f->bytes_most)
				f->bytes_most = asked_for;
			return;
		}
	}
	if (l->failure_count == MISTAKES_MAX)
		return;
	GT_GROW(l->failures, l->failure_count, l->failure_room);
	l->failures[l->failure_count++] = (struct gt_failure){
		.function = e->function,
		.stack = e->stack,
		.result = e->result,
		.count = 1,
		.bytes_most = asked_for,
		.time_ns = e->time_ns,
	};
}

void gt_misuse_failed_call(struct gt_ledger *l, const struct gt_ended_handles *ended,
			   const struct gt_event *e, uint32_t process, bool is_alive)
{
	const struct gt_function *fn = &gt_functions[e->function];
	const struct gt_ended_handle *d = NULL;

	if (gt_function_ends(fn) && e->handle && !is_alive)
		d = find(ended, process, (enum gt_kind)fn->kind, e->handle);
	if (d)
		count_redundant(l, e, process, d);
	else if (e->failed)
		count_failure(l, e);
	if (e->unfinished && l->last_call_count < LAST_CALLS_MAX) {
		GT_GROW(l->last_calls, l->last_call_count, l->last_call_room);
		l->last_calls[l->last_call_count++] = (struct gt_last_call){ *e, process };
	}
}

void gt_misuse_unknown_handle(struct gt_ledger *l, const struct gt_ended_handles *ended,
			      const struct gt_event *e, uint32_t process)
{
	const struct gt_function *fn = &gt_functions[e->function];
	const struct gt_ended_handle *d;

	if (!gt_function_ends(fn))
		return;
	d = find(ended, process, (enum gt_kind)fn->kind, e->handle);
	if (d)
		count_redundant(l, e, process, d);
	else
		l->unknown_ends++;
}
