/* SPDX-License-Identifier: MIT */
/* stream.c - the events of all traces of a recording, merged by time. */
#include "trace/stream.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

enum { BATCHES_ALONE = 64 }; /* fewer events are read before a thread has started */

static uint16_t place_number(const struct gt_catalog_map *map, uint16_t place)
{
	return place < map->place_count ? map->places[place] : 0;
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
	free(s->unfinished);
	s->unfinished = NULL;
	s->unfinished_next = 0;
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

/* From the trace's numbers to the recording's. */
static inline void number_event(const struct gt_catalog_map *map, struct gt_event *e)
{
	if (is_sample(e))
		e->handle = map->series[e->handle];
	e->stack = e->stack ? map->stacks[e->stack] : 0;
	e->place = place_number(map, e->place);
	e->phase = map->phases[e->phase];
}

/* The calls that had not returned; the process died in them only if it no longer runs. */
static void read_unfinished(struct gt_source_trace *s)
{
	size_t count = 0, room = 0;
	struct gt_event event;

	while (!s->was_running && gt_reader_unfinished(s->reader, &event)) {
		struct gt_open_call *call;
		const uint64_t *words;

		GT_GROW(s->unfinished, count, room);
		s->unfinished[count] = event;
		if (count >= s->call_room)
			GT_GROW(s->calls, count, s->call_room);
		call = &s->calls[count++];
		call->tid = event.tid;
		call->count = gt_reader_arguments(s->reader, &words);
		memcpy(call->words, words, call->count * sizeof *words);
	}
	s->process.calls_in_flight = count;
}

/* The key of the source's next event; closes the trace, and returns false, at its end. */
static bool source_next(struct gt_source_trace *s, uint64_t *key)
{
	if (!gt_reader_key(s->reader, key)) {
		if (!s->unfinished)
			read_unfinished(s);
		if (!s->unfinished || s->unfinished_next == s->process.calls_in_flight) {
			gt_source_trace_close(s);
			return false;
		}
		*key = s->unfinished[s->unfinished_next].time_ns;
	}
	if (*key < s->key)
		*key = s->key;
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
	return true;
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

/* The heap's first source goes on, or has ended. */
static void source_continue(struct gt_recording *r, struct gt_source_trace *s)
{
	uint64_t key;

	if (source_next(s, &key))
		gt_heap_rekey(&r->heap, key);
	else
		source_ended(r, s);
}

/*
 * What stands between two batches: the heap's first source is opened when its start is reached,
 * learns of a gap, or is closed.
 */
static void take_step(struct gt_recording *r)
{
	uint32_t first = r->heap.items[0].item;
	struct gt_source_trace *s = &r->sources[first];

	if (!s->reader) {
		if (source_open(r, s))
			source_continue(r, s);
		else
			source_ended(r, s);
		/* the last trace: no more stacks come */
		if (!--r->unopened)
			gt_catalog_pack(r->catalog);
		return;
	}
	/* its work is one of the definitions, as long as the trace is open */
	if (gt_event_is_touch(&r->held)) {
		report_touch(r, first, &r->held);
		r->has_held = false;
	}
	s->process.last_ns = s->key;
	gt_source_follow_gaps(s);
	source_continue(r, s);
}

/* How far the first source can be read before another one's turn comes. */
static uint64_t last_key(const struct gt_heap *h)
{
	const struct gt_heap_item *second = &h->items[1];

	if (h->count < 2)
		return UINT64_MAX;
	if (h->count > 2 && (h->items[2].key < second->key ||
			     (h->items[2].key == second->key && h->items[2].item < second->item)))
		second = &h->items[2];
	return h->items[0].item < second->item ? second->key : second->key - 1;
}

/* Reads the next events of the heap's first source; false if a step has to be taken then. */
static bool fill_from(struct gt_recording *r, struct gt_batch *b, uint32_t source)
{
	struct gt_source_trace *s = &r->sources[source];
	struct gt_event *events = &b->events[b->count];
	/* copies: the thread that returns events writes to the source as often as this one reads */
	const struct gt_catalog_map map = s->map;
	uint64_t latest = s->key;
	bool has_new_gap;
	size_t count = gt_reader_read(s->reader, events, GT_BATCH - b->count, last_key(&r->heap),
				      &has_new_gap);
	uint64_t key;

	if (!count)
		events[count++] = s->unfinished[s->unfinished_next++];
	for (size_t i = 0; i < count; i++) {
		number_event(&map, &events[i]);
		b->sources[b->count + i] = source;
		if (events[i].time_ns > latest)
			latest = events[i].time_ns;
	}
	s->key = latest;
	b->count += count;
	if (!has_new_gap && gt_reader_key(s->reader, &key)) {
		gt_heap_rekey(&r->heap, key > s->key ? key : s->key);
		return true;
	}
	/* the last event is returned when that is known */
	r->held = b->events[--b->count];
	r->has_held = true;
	return false;
}

bool gt_batch_fill(struct gt_batch *b, struct gt_recording *r)
{
	b->count = b->next = 0;
	if (r->has_held) {
		b->events[0] = r->held;
		b->sources[b->count++] = r->held_source;
		r->has_held = false;
	}
	while (!r->is_stuck && b->count < GT_BATCH) {
		uint32_t first = r->heap.count ? r->heap.items[0].item : 0;

		r->is_stuck = !r->heap.count || !r->sources[first].reader;
		if (r->is_stuck)
			break;
		r->held_source = first;
		r->is_stuck = !fill_from(r, b, first);
	}
	return !r->is_stuck;
}

static void stop_reading_ahead(struct gt_recording *r)
{
	if (r->ahead)
		gt_read_ahead_stop(r->ahead);
	r->ahead = NULL;
	r->batch = r->own_batch;
	r->batch->count = r->batch->next = 0;
}

/* Lets the other thread fill batches from now on, if enough have come without a step. */
static bool starts_reading_ahead(struct gt_recording *r)
{
	if (r->may_read_ahead && ++r->batches > BATCHES_ALONE)
		r->ahead = gt_read_ahead_start(r);
	return r->ahead;
}

/* Fills the next batch; false at the end. */
static bool refill(struct gt_recording *r)
{
	if (r->ahead) {
		r->batch = gt_read_ahead_take(r->ahead);
		if (r->batch)
			return true;
		stop_reading_ahead(r);
	}
	if (r->is_stuck && !r->heap.count && !r->has_held)
		return false;
	if (r->is_stuck && r->heap.count)
		take_step(r);
	if (r->is_stuck)
		r->batches = 0;
	r->is_stuck = false;
	if (!starts_reading_ahead(r))
		gt_batch_fill(r->batch, r);
	return true;
}

/* The batch with the next event; NULL at the end. */
static inline struct gt_batch *next_batch(struct gt_recording *r)
{
	while (r->batch->next == r->batch->count)
		if (!refill(r))
			return NULL;
	return r->batch;
}

void gt_recording_read_ahead(struct gt_recording *r)
{
	r->may_read_ahead = gt_read_ahead_is_possible();
}

void gt_recording_stop(struct gt_recording *r)
{
	stop_reading_ahead(r);
	r->may_read_ahead = false;
}

/* True for an event to be returned: reports whatever comes before it, or is none. */
static bool take_event(struct gt_recording *r, uint32_t source, struct gt_event *e)
{
	struct gt_source_trace *s = &r->sources[source];

	if (e->time_ns > s->shown_ns)
		s->shown_ns = e->time_ns;
	s->process.last_ns = s->shown_ns;
	/* a sample after the last process has ended does not mean that one continued */
	if (!is_no_call(e))
		report_ends(r, s->shown_ns);
	else if (gt_event_is_touch(e))
		report_touch(r, source, e);
	else if (is_sample(e))
		report_sample(r, source, e);
	else
		report_paging(r, source, e);
	if (is_no_call(e) || source >= r->process_count)
		return false;
	if (r->phase_filter && !gt_phase_filter_takes(r->phase_filter, e, source))
		return false;
	if (e->phase && gt_recording_is_bare(r, e->stack))
		e->stack = gt_catalog_phase_stack(r->catalog, e->stack, e->phase);
	if (r->part_by)
		part_stack(r, e, source);
	return true;
}

/* True for an event that can follow another at once: nothing has to be looked at or reported. */
static inline bool is_plain(struct gt_recording *r, uint32_t source, const struct gt_event *e)
{
	struct gt_source_trace *s = &r->sources[source];

	if (is_no_call(e) || e->phase || source >= r->process_count)
		return false;
	if (e->time_ns > s->shown_ns)
		s->process.last_ns = s->shown_ns = e->time_ns;
	return true;
}

size_t gt_recording_read(struct gt_recording *r, const struct gt_event **events,
			 const uint32_t **processes)
{
	struct gt_batch *b;
	size_t first;

	do {
		b = next_batch(r);
		if (!b)
			return 0;
		first = b->next++;
	} while (!take_event(r, b->sources[first], &b->events[first]));
	if (!r->ended.count && !r->phase_filter && !r->part_by)
		while (b->next < b->count && is_plain(r, b->sources[b->next], &b->events[b->next]))
			b->next++;
	*events = &b->events[first];
	*processes = &b->sources[first];
	return b->next - first;
}

int gt_recording_next(struct gt_recording *r, struct gt_event *event, uint32_t *process)
{
	struct gt_batch *b;

	while ((b = next_batch(r))) {
		size_t i = b->next++;

		if (!take_event(r, b->sources[i], &b->events[i]))
			continue;
		*event = b->events[i];
		*process = b->sources[i];
		return 1;
	}
	return 0;
}

void gt_recording_rewind(struct gt_recording *r)
{
	gt_recording_stop(r);
	r->heap.count = 0;
	r->ended.count = 0;
	r->unopened = r->source_count;
	r->batches = 0;
	r->is_stuck = r->has_held = false;
	if (r->phase_filter)
		gt_phase_filter_rewind(r->phase_filter);
	for (size_t i = 0; i < r->source_count; i++) {
		struct gt_source_trace *s = &r->sources[i];

		gt_source_trace_close(s);
		s->key = s->shown_ns = s->process.start_ns;
		gt_heap_push(&r->heap, s->key, (uint32_t)i);
	}
}
