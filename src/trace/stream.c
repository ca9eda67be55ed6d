/* SPDX-License-Identifier: MIT */
/* stream.c - the events of all traces of a recording, merged by time. */
#include "trace/stream.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

static uint16_t place_number(const struct gt_source_trace *s, uint16_t place)
{
	return place < s->map.place_count ? s->map.places[place] : 0;
}

void gt_source_trace_close(struct gt_source_trace *s)
{
	if (s->reader) {
		s->process.unknown = gt_reader_unknown(s->reader);
		if (gt_reader_damage(s->reader) && !s->process.damage)
			s->process.damage = gt_strdup(gt_reader_damage(s->reader));
		gt_source_find_end(s);
		gt_source_find_gaps(s, true);
		gt_reader_close(s->reader);
	}
	gt_catalog_map_fini(&s->map);
	s->reader = NULL;
}

/* A sample, paging, or a touch. */
static bool is_no_call(const struct gt_event *e)
{
	return e->function == GT_FN_NONE;
}

static bool is_sample(const struct gt_event *e)
{
	return is_no_call(e) && !gt_event_is_touch(e) && !gt_paging_is(e);
}

static void add_open_call(struct gt_source_trace *s)
{
	struct gt_open_call *call;
	const uint64_t *words;

	GT_GROW(s->calls, s->process.calls_in_flight, s->call_room);
	call = &s->calls[s->process.calls_in_flight++];
	call->tid = s->next.tid;
	call->count = gt_reader_arguments(s->reader, &words);
	memcpy(call->words, words, call->count * sizeof *words);
}

size_t gt_recording_arguments(const struct gt_recording *r, uint32_t process,
			      const struct gt_event *call, const uint64_t **words)
{
	const struct gt_source_trace *s = &r->sources[process];

	for (size_t i = 0; call->unfinished && i < s->process.calls_in_flight; i++)
		if (s->calls[i].tid == call->tid) {
			*words = s->calls[i].words;
			return s->calls[i].count;
		}
	return 0;
}

/* Reads the next event; at the end, closes the trace and returns false. */
static bool source_advance(struct gt_source_trace *s)
{
	/* an unfinished call comes last; the process died in it only if it no longer runs */
	if (gt_reader_next(s->reader, &s->next) <= 0 || (s->next.unfinished && s->was_running)) {
		gt_source_trace_close(s);
		return false;
	}
	gt_source_follow_gaps(s);
	if (s->next.unfinished)
		add_open_call(s);
	if (is_sample(&s->next))
		s->next.handle = s->map.series[s->next.handle];
	s->next.stack = s->next.stack ? s->map.stacks[s->next.stack] : 0;
	s->next.place = place_number(s, s->next.place);
	s->next.phase = s->map.phases[s->next.phase];
	if (s->next.time_ns > s->key)
		s->key = s->next.time_ns;
	s->process.last_ns = s->key;
	return true;
}

static bool source_open(struct gt_recording *r, struct gt_source_trace *s)
{
	struct gt_error error;

	if (s->is_left_out)
		return false;
	if (gt_reader_open(&s->reader, s->path, &error)) {
		free(s->process.damage);
		s->process.damage = gt_strdup(error.text);
		s->process.unread = true;
		gt_source_find_end(s);
		gt_source_find_gaps(s, true);
		return false;
	}
	gt_source_read_texts(s);
	gt_source_find_gaps(s, false);
	s->process.calls_in_flight = 0;
	/* after the trace was read: a process that runs now was running then */
	s->was_running = gt_process_runs(&s->process);
	gt_catalog_take(r->catalog, &s->map, (uint32_t)(s - r->sources),
			gt_reader_definitions(s->reader));
	return source_advance(s);
}

/*
 * The heap's first source has no events left: its process ended at its recorded end or, if killed,
 * right after its last event.
 */
static void source_ended(struct gt_recording *r, const struct gt_source_trace *s)
{
	uint64_t end = s->process.end_ns > s->key ? s->process.end_ns : s->key + 1;

	/* a process whose recording stopped continued */
	if (r->heap.items[0].item < r->process_count && !s->was_running &&
	    s->process.state != GT_TRACE_STOPPED)
		gt_heap_push(&r->ended, end, r->heap.items[0].item);
	gt_heap_pop(&r->heap);
}

/* Reports processes that ended before another continued. */
static void report_ends(struct gt_recording *r, uint64_t now_ns)
{
	while (r->ended.count && r->ended.items[0].key < now_ns) {
		if (r->on_end)
			r->on_end(r->on_end_context, r->ended.items[0].item, r->ended.items[0].key);
		gt_heap_pop(&r->ended);
	}
}

void gt_recording_on_end(struct gt_recording *r, gt_process_end_fn *on_end, void *context)
{
	r->on_end = on_end;
	r->on_end_context = context;
}

void gt_recording_on_sample(struct gt_recording *r, gt_sample_fn *on_sample, void *context)
{
	r->on_sample = on_sample;
	r->on_sample_context = context;
}

void gt_recording_on_paging(struct gt_recording *r, gt_paging_fn *on_paging, void *context)
{
	r->on_paging = on_paging;
	r->on_paging_context = context;
}

static void report_paging(struct gt_recording *r, uint32_t source, const struct gt_event *e)
{
	struct gt_paging paging;

	if (r->on_paging && source < r->process_count && gt_paging_of(&paging, e))
		r->on_paging(r->on_paging_context, source, &paging);
}

static void report_sample(struct gt_recording *r, uint32_t source, const struct gt_event *e)
{
	uint32_t process = source < r->process_count ? source : GT_NO_PROCESS;

	if (r->on_sample)
		r->on_sample(r->on_sample_context, process,
			     &(struct gt_sample){ .time_ns = e->time_ns,
						  .value = (int64_t)e->size,
						  .series = (uint16_t)e->handle });
}

void gt_recording_on_touch(struct gt_recording *r, gt_touch_fn *on_touch, void *context)
{
	r->on_touch = on_touch;
	r->on_touch_context = context;
}

/* While the trace is open: the work is one of its definitions. */
static void report_touch(struct gt_recording *r, uint32_t source, const struct gt_event *e)
{
	const struct gt_definitions *d = gt_reader_definitions(r->sources[source].reader);
	bool is_lost = e->owner == GT_WORK_LOST;
	struct gt_touch touch = { .time_ns = e->time_ns,
				  .tid = e->tid,
				  .work = is_lost ? NULL : &d->works[e->owner - 1],
				  .lost = is_lost ? e->size : 0,
				  .range = { .address = e->handle,
					     .size = is_lost ? 0 : e->size,
					     .access = (uint8_t)(e->result & GT_ACCESSES) },
				  .is_first = !e->failed };

	if (r->on_touch && source < r->process_count)
		r->on_touch(r->on_touch_context, source, &touch);
}

void gt_recording_part_stacks(struct gt_recording *r, enum gt_part_by by)
{
	r->part_by = by;
}

void gt_recording_only_phases(struct gt_recording *r, gt_phase_fn *wants, void *context)
{
	gt_phase_filter_free(r->phase_filter);
	r->phase_filter = gt_phase_filter_new(r, wants, context);
}

/* Whatever may become alive by it: the others change what is there. */
static void part_stack(struct gt_recording *r, struct gt_event *e, uint32_t process)
{
	int effect = gt_functions[e->function].effect;
	struct gt_stack_part part = { 0 };

	if ((effect != GT_CREATE && effect != GT_RETAIN) || e->failed || e->unfinished)
		return;
	if (r->part_by == GT_PART_DEVICE)
		part.place = e->place;
	else if (r->part_by == GT_PART_PHASE)
		part.phase = e->phase;
	else
		part.process = process;
	if (r->part_by == GT_PART_THREAD)
		part.tid = e->tid;
	e->stack = gt_catalog_part(r->catalog, e->stack, &part);
}

int gt_recording_next(struct gt_recording *r, struct gt_event *event, uint32_t *process)
{
	while (r->heap.count) {
		uint32_t first = r->heap.items[0].item;
		struct gt_source_trace *s = &r->sources[first];

		/* a trace is opened when its start is reached; its first event may come later */
		if (!s->reader) {
			if (source_open(r, s))
				gt_heap_rekey(&r->heap, s->key);
			else
				source_ended(r, s);
			/* the last trace: no more stacks come */
			if (!--r->unopened)
				gt_catalog_pack(r->catalog);
			continue;
		}
		*event = s->next;
		*process = first;
		/* a sample after the last process has ended does not mean that one continued */
		if (!is_no_call(event))
			report_ends(r, s->key);
		if (gt_event_is_touch(event))
			report_touch(r, first, event);
		if (source_advance(s))
			gt_heap_rekey(&r->heap, s->key);
		else
			source_ended(r, s);
		if (is_sample(event))
			report_sample(r, first, event);
		else if (is_no_call(event) && !gt_event_is_touch(event))
			report_paging(r, first, event);
		if (is_no_call(event) || first >= r->process_count)
			continue;
		if (r->phase_filter && !gt_phase_filter_takes(r->phase_filter, event, first))
			continue;
		if (event->phase && gt_recording_is_bare(r, event->stack))
			event->stack =
				gt_catalog_phase_stack(r->catalog, event->stack, event->phase);
		if (r->part_by)
			part_stack(r, event, first);
		return 1;
	}
	return 0;
}

const struct gt_event *gt_recording_peek(const struct gt_recording *r, uint32_t *process)
{
	*process = r->heap.count ? r->heap.items[0].item : r->source_count;
	return *process < r->process_count && r->sources[*process].reader ?
		       &r->sources[*process].next :
		       NULL;
}

void gt_recording_rewind(struct gt_recording *r)
{
	r->heap.count = 0;
	r->ended.count = 0;
	r->unopened = r->source_count;
	if (r->phase_filter)
		gt_phase_filter_rewind(r->phase_filter);
	for (size_t i = 0; i < r->source_count; i++) {
		struct gt_source_trace *s = &r->sources[i];

		gt_source_trace_close(s);
		s->key = s->process.start_ns;
		gt_heap_push(&r->heap, s->key, (uint32_t)i);
	}
}
