/* SPDX-License-Identifier: MIT */
/* misuse.c - releases of ended resources, failed calls, and calls that never returned. */
#include "ledger/misuse.h"

#include <stdlib.h>

#include "api/results.h"
#include "base/mem.h"

enum {
	MISTAKES_MAX = 1000, /* distinct redundant releases and failures kept; all are counted */
	REPEATS_MAX = 1 << 16,
	LAST_CALLS_MAX = 1000,
	HOLDERS_LOOKED_AT = 1 << 22, /* sites, for all shortages: a program may try for ever */
};

void gt_misuse_fini(struct gt_misuse *m)
{
	gt_ended_handles_fini(&m->ended);
	free(m->repeats);
	*m = (struct gt_misuse){ 0 };
}

/* The redundant releases that are counted together with this one; NULL: there are too many. */
static struct gt_redundant *redundant_of(struct gt_ledger *l, const struct gt_event *e,
					 uint32_t process, const struct gt_ended_handle *d)
{
	for (size_t i = 0; i < l->redundant_count; i++) {
		struct gt_redundant *r = &l->redundant[i];

		if (r->function == e->function && r->stack == e->stack &&
		    r->ended_stack == d->ended_stack && r->created_stack == d->entry.stack)
			return r;
	}
	if (l->redundant_count == MISTAKES_MAX)
		return NULL;
	GT_GROW(l->redundant, l->redundant_count, l->redundant_room);
	l->redundant[l->redundant_count] = (struct gt_redundant){
		.function = e->function,
		.process = (uint16_t)process,
		.stack = e->stack,
		.ended_stack = d->ended_stack,
		.created_stack = d->entry.stack,
		.handle = e->handle,
		.time_ns = e->time_ns,
		.result = e->result,
	};
	return &l->redundant[l->redundant_count++];
}

/*
 * From this moment on, a missing event would explain that the handle is ended again: it was created
 * anew or, if it has references, retained before.
 */
static uint64_t explained_from(const struct gt_event *e, const struct gt_ended_handle *d)
{
	return gt_functions[e->function].effect == GT_RELEASE ? d->entry.time_ns : d->ended_ns;
}

/* True when the driver itself says that the call named nothing alive. */
static bool is_refused(const struct gt_event *e)
{
	return e->failed &&
	       gt_result_is_invalid((enum gt_api)gt_functions[e->function].api, e->result);
}

/* Returns false if a missing event may explain the call, or if the creation was never seen. */
static bool count_redundant(struct gt_ledger *l, struct gt_misuse *m, const struct gt_event *e,
			    uint32_t process, const struct gt_ended_handle *d)
{
	struct gt_redundant *r;

	if (!e->failed && gt_functions[d->entry.function].effect != GT_CREATE)
		return false;
	if (!is_refused(e) && gt_ledger_may_miss(l, process, explained_from(e, d), e->time_ns))
		return false;
	l->redundant_calls++;
	r = redundant_of(l, e, process, d);
	if (!r)
		return true;
	r->count++;
	r->fatal |= e->unfinished;
	if (!e->failed && l->gaps.may_miss && m->repeat_count < REPEATS_MAX) {
		GT_GROW(m->repeats, m->repeat_count, m->repeat_room);
		m->repeats[m->repeat_count++] =
			(struct gt_repeat){ .handle = e->handle,
					    .from_ns = explained_from(e, d),
					    .time_ns = e->time_ns,
					    .redundant = (uint32_t)(r - l->redundant),
					    .process = process };
	}
	return true;
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

/* The only place where device memory is alive; 0: there are several, or it is not known. */
static uint16_t only_place(const struct gt_ledger *l)
{
	for (size_t i = 1; i < l->breakdown.place_count; i++)
		if (l->breakdown.places[i].bytes)
			return l->breakdown.places[i].bytes == l->device_bytes ? (uint16_t)i : 0;
	return 0;
}

static struct gt_shortage *shortage_of(struct gt_ledger *l, uint32_t process)
{
	for (size_t i = 0; i < l->shortage_count; i++)
		if (l->shortages[i].process == process)
			return &l->shortages[i];
	return NULL;
}

/* Who holds memory now, in place of who held it at the last shortage. */
static void list_holders(struct gt_ledger *l, struct gt_misuse *m, struct gt_shortage *s)
{
	size_t room = 0;

	free(s->holders);
	s->holders = NULL;
	s->holder_count = 0;
	m->looked_at += l->site_count;
	if (m->looked_at > HOLDERS_LOOKED_AT)
		return;
	for (size_t i = 0; i < l->site_count; i++) {
		const struct gt_site *site = &l->sites[i];

		if (site->bytes_live == site->bytes_gone)
			continue;
		GT_GROW(s->holders, s->holder_count, room);
		s->holders[s->holder_count++] =
			(struct gt_holder){ .site = (uint32_t)i,
					    .live = (uint32_t)(site->live - site->gone),
					    .bytes = site->bytes_live - site->bytes_gone };
	}
}

static void count_shortage(struct gt_ledger *l, struct gt_misuse *m, const struct gt_event *e,
			   uint32_t process)
{
	const struct gt_function *fn = &gt_functions[e->function];
	struct gt_shortage *s = shortage_of(l, process);
	uint16_t place = e->place ? e->place : only_place(l);

	if (gt_function_ends(fn) || fn->effect == GT_RETAIN ||
	    !gt_result_is_out_of_memory((enum gt_api)fn->api, e->result))
		return;
	if (!s) {
		GT_GROW(l->shortages, l->shortage_count, l->shortage_room);
		s = &l->shortages[l->shortage_count++];
		*s = (struct gt_shortage){ 0 };
	}
	list_holders(l, m, s);
	*s = (struct gt_shortage){
		.process = process,
		.stack = e->stack,
		.function = e->function,
		.place = place,
		.result = e->result,
		.time_ns = e->time_ns,
		.asked = fn->effect == GT_CREATE ? e->size : 0,
		.device_bytes = place && place < l->breakdown.place_count ?
					l->breakdown.places[place].bytes :
					l->device_bytes,
		.host_bytes = l->host_bytes,
		.count = s->count + 1,
		.holders = s->holders,
		.holder_count = s->holder_count,
	};
}

void gt_misuse_went_on(struct gt_ledger *l, uint32_t process)
{
	struct gt_shortage *s = shortage_of(l, process);

	if (s)
		s->went_on = true;
}

void gt_misuse_failed_call(struct gt_ledger *l, struct gt_misuse *m, const struct gt_event *e,
			   uint32_t process, bool is_alive)
{
	const struct gt_ended_handle *d = NULL;

	if (gt_function_ends(&gt_functions[e->function]) && e->handle && !is_alive)
		d = gt_ended_handles_find(&m->ended, e, process);
	if ((!d || !count_redundant(l, m, e, process, d)) && e->failed)
		count_failure(l, e);
	if (e->failed)
		count_shortage(l, m, e, process);
	if (e->unfinished && l->last_call_count < LAST_CALLS_MAX) {
		GT_GROW(l->last_calls, l->last_call_count, l->last_call_room);
		l->last_calls[l->last_call_count++] = (struct gt_last_call){ *e, process };
	}
}

void gt_misuse_unknown_handle(struct gt_ledger *l, struct gt_misuse *m, const struct gt_event *e,
			      uint32_t process)
{
	const struct gt_ended_handle *d = gt_ended_handles_find(&m->ended, e, process);

	if (!d)
		l->unknown_ends++;
	else if (!count_redundant(l, m, e, process, d))
		l->unsure_ends++;
}

void gt_misuse_interior(struct gt_ledger *l, const struct gt_event *e, const struct gt_entry *block)
{
	l->interior_calls++;
	for (size_t i = 0; i < l->interior_count; i++) {
		struct gt_interior *f = &l->interior[i];

		if (f->function == e->function && f->stack == e->stack &&
		    f->created_stack == block->stack) {
			f->count++;
			return;
		}
	}
	if (l->interior_count == MISTAKES_MAX)
		return;
	GT_GROW(l->interior, l->interior_count, l->interior_room);
	l->interior[l->interior_count++] = (struct gt_interior){
		.function = e->function,
		.process = block->process,
		.stack = e->stack,
		.created_stack = block->stack,
		.handle = block->handle,
		.offset = e->handle - block->handle,
		.bytes = block->size,
		.time_ns = e->time_ns,
		.count = 1,
	};
}

/* Drops the redundant releases of which none is left, and shows of each the first that is. */
static void drop_empty(struct gt_ledger *l)
{
	size_t kept = 0;

	for (size_t i = 0; i < l->redundant_count; i++)
		if (l->redundant[i].count)
			l->redundant[kept++] = l->redundant[i];
	l->redundant_count = kept;
}

void gt_misuse_finish(struct gt_ledger *l, struct gt_misuse *m)
{
	for (size_t i = m->repeat_count; i-- > 0;) {
		const struct gt_repeat *repeat = &m->repeats[i];
		struct gt_redundant *r = &l->redundant[repeat->redundant];

		if (gt_ledger_may_miss(l, repeat->process, repeat->from_ns, repeat->time_ns)) {
			r->count--;
			l->redundant_calls--;
			l->unsure_ends++;
		} else {
			r->handle = repeat->handle;
			r->time_ns = repeat->time_ns;
			r->process = (uint16_t)repeat->process;
		}
	}
	m->repeat_count = 0;
	drop_empty(l);
}
