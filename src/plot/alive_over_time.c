/* SPDX-License-Identifier: MIT */
/* alive_over_time.c - live resources by kind over time, collected while a recording is replayed. */
#include "plot/alive_over_time.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

enum { OBJECT_POINTS = 4096 };

static double since_start(const struct gt_alive_over_time *h, uint64_t time_ns)
{
	return ((double)time_ns - (double)h->start_ns) / 1e9;
}

void gt_alive_over_time_sample(void *history, uint32_t process, const struct gt_sample *sample)
{
	struct gt_alive_over_time *h = history;
	double value = (double)sample->value;

	(void)process;
	if (sample->series >= GT_HISTORY_SERIES)
		return;
	if (!h->series[sample->series].most)
		gt_trail_init(&h->series[sample->series], 1, GT_TRAIL_MOST);
	gt_trail_add(&h->series[sample->series], since_start(h, sample->time_ns), &value);
}

struct gt_alive_over_time *gt_alive_over_time_new(struct gt_recording *r)
{
	struct gt_alive_over_time *h = gt_alloc(sizeof *h);

	h->recording = r;
	h->stretch.end_ns = UINT64_MAX;
	h->start_ns = gt_recording_start_ns(r);
	/* device memory at the bottom, so that its sum is a line of the picture */
	for (int pass = 0; pass < 2; pass++)
		for (int k = 0; k < GT_KIND_COUNT; k++)
			if (gt_kind_has_bytes((enum gt_kind)k) &&
			    gt_kind_on_device((enum gt_kind)k) == !pass) {
				h->layer_of[k] = h->layer_count;
				h->layers[h->layer_count++] = (uint8_t)k;
				h->device_layers += !pass;
			}
	for (int k = 0; k < GT_KIND_COUNT; k++)
		if (!gt_kind_has_bytes((enum gt_kind)k))
			h->layer_of[k] = h->layer_count;
	gt_trail_init(&h->bytes, 1 + h->layer_count, GT_TRAIL_MOST);
	for (int k = 0; k < GT_KIND_COUNT; k++)
		gt_trail_init(&h->objects[k], 1, OBJECT_POINTS);
	return h;
}

void gt_alive_over_time_free(struct gt_alive_over_time *h)
{
	gt_trail_fini(&h->bytes);
	for (int k = 0; k < GT_KIND_COUNT; k++)
		gt_trail_fini(&h->objects[k]);
	for (int i = 0; i < GT_HISTORY_SERIES; i++)
		gt_trail_fini(&h->series[i]);
	free(h);
}

static bool is_within(const struct gt_alive_range *range, uint64_t value)
{
	return value >= range->low && value <= range->high;
}

static void widen(struct gt_alive_range *range, uint64_t value)
{
	if (value < range->low)
		range->low = value;
	if (value > range->high)
		range->high = value;
}

/* Resources left by ended processes are not alive, though the ledger keeps them as leaks. */
static struct gt_alive_sum sum_of(const struct gt_ledger *l, int kind)
{
	struct gt_alive_sum sum = { 0 };

	for (int api = 0; api < GT_API_COUNT; api++) {
		const struct gt_tally *tally = &l->tally[api][kind];

		sum.live += tally->live - tally->gone;
		sum.bytes += tally->bytes_live - tally->bytes_gone;
	}
	return sum;
}

/* Adds what has changed in a kind. */
static void take_kind(struct gt_alive_over_time *h, const struct gt_ledger *l, int kind,
		      double time_s)
{
	struct gt_alive_sum now = sum_of(l, kind);
	double count = 0;

	if (now.bytes != h->kinds[kind].bytes) {
		widen(&h->stretch.bytes[kind], now.bytes);
		h->layer_bytes[h->layer_of[kind]] = (double)now.bytes;
		if (h->layer_of[kind] < h->first_changed)
			h->first_changed = h->layer_of[kind];
	}
	if (now.live != h->kinds[kind].live) {
		widen(&h->stretch.live[kind], now.live);
		if (now.live > h->most[kind])
			h->most[kind] = now.live;
		if (!h->objects[kind].count)
			gt_trail_add(&h->objects[kind], 0, &count);
		count = (double)now.live;
		gt_trail_add(&h->objects[kind], time_s, &count);
	}
	h->kinds[kind] = now;
}

static void add_bytes(struct gt_alive_over_time *h, const struct gt_ledger *l, double time_s)
{
	double *layers = h->values + 1;
	size_t i = h->first_changed;
	double sum = i && i < h->device_layers ? layers[i - 1] : 0;

	for (; i < h->device_layers; i++)
		layers[i] = sum += h->layer_bytes[i];
	if (sum > h->most_bytes)
		h->most_bytes = sum;
	/* host memory is elsewhere: it lies on nothing */
	for (; i < h->layer_count; i++) {
		layers[i] = h->layer_bytes[i];
		if (layers[i] > h->most_bytes)
			h->most_bytes = layers[i];
	}
	h->first_changed = h->layer_count;
	/* thinning goes by this one, so that the peak is never lost */
	h->values[0] = (double)l->device_bytes;
	gt_trail_add(&h->bytes, time_s, h->values);
}

/* Curves are steps: where no bytes come or go, the last point holds. */
static void add_changed_bytes(struct gt_alive_over_time *h, const struct gt_ledger *l,
			      double time_s)
{
	if (!h->bytes.count || h->first_changed < h->layer_count ||
	    h->values[0] != (double)l->device_bytes)
		add_bytes(h, l, time_s);
}

static void take_kinds(struct gt_alive_over_time *h, const struct gt_ledger *l, double time_s)
{
	for (int k = 0; k < GT_KIND_COUNT; k++)
		take_kind(h, l, k, time_s);
}

static void take_changed_kinds(struct gt_alive_over_time *h, const struct gt_ledger *l,
			       double time_s)
{
	for (size_t i = 0; i < h->changed_count; i++) {
		take_kind(h, l, h->changed[i], time_s);
		h->is_changed[h->changed[i]] = false;
	}
	h->changed_count = 0;
}

static void note_change(struct gt_alive_over_time *h, const struct gt_entry *entry)
{
	enum gt_kind kind = gt_entry_kind(entry);

	if (!h->is_changed[kind])
		h->changed[h->changed_count++] = (uint8_t)kind;
	h->is_changed[kind] = true;
}

static void born(void *history, const struct gt_entry *entry, uint32_t slot)
{
	note_change(history, entry);
}

static void ended(void *history, const struct gt_entry *entry, uint32_t slot, enum gt_ended_by by)
{
	note_change(history, entry);
}

static void moved(void *history, const struct gt_entry *segment, int64_t bytes)
{
	note_change(history, segment);
}

static void became_segment(void *history, const struct gt_entry *entry)
{
	note_change(history, entry);
}

struct gt_live_observer gt_alive_over_time_observer(struct gt_alive_over_time *h)
{
	return (struct gt_live_observer){
		.born = born,
		.ended = ended,
		.became_segment = became_segment,
		.moved = moved,
		.context = h,
	};
}

/* True if the stretch shows as much and as little of everything already. */
static bool shows_all(const struct gt_alive_over_time *h, const struct gt_ledger *l)
{
	if (!is_within(&h->stretch.device_bytes, l->device_bytes))
		return false;
	for (size_t i = 0; i < h->changed_count; i++) {
		enum gt_kind kind = (enum gt_kind)h->changed[i];
		struct gt_alive_sum now = sum_of(l, kind);

		if (!is_within(&h->stretch.live[kind], now.live) ||
		    (!gt_kind_on_device(kind) && !is_within(&h->stretch.bytes[kind], now.bytes)))
			return false;
	}
	return true;
}

/*
 * Begins a stretch of half a column of the bytes' trail, or else of an object's, if there was ever
 * more to show than they have room for.
 */
static void begin_stretch(struct gt_alive_over_time *h, const struct gt_ledger *l, int kind,
			  uint64_t time_ns)
{
	double column_s = h->bytes.column > 0 ? h->bytes.column : h->objects[kind].column;

	if (!(column_s > 0))
		return;
	h->stretch.end_ns = time_ns + (uint64_t)(column_s * 1e9 / 2);
	h->stretch.device_bytes = (struct gt_alive_range){ l->device_bytes, l->device_bytes };
	for (int k = 0; k < GT_KIND_COUNT; k++) {
		h->stretch.live[k] = (struct gt_alive_range){ h->kinds[k].live, h->kinds[k].live };
		h->stretch.bytes[k] =
			(struct gt_alive_range){ h->kinds[k].bytes, h->kinds[k].bytes };
	}
}

/* How it was at its end is part of it. */
static void end_stretch(struct gt_alive_over_time *h, const struct gt_ledger *l)
{
	h->stretch.end_ns = UINT64_MAX;
	if (!h->changed_count)
		return;
	take_changed_kinds(h, l, h->end_s);
	add_changed_bytes(h, l, h->end_s);
}

void gt_alive_over_time_before(void *history, const struct gt_ledger *l, uint64_t time_ns)
{
	struct gt_alive_over_time *h = history;

	if (time_ns >= h->stretch.end_ns)
		end_stretch(h, l);
}

void gt_alive_over_time_last(void *history, const struct gt_ledger *l)
{
	end_stretch(history, l);
}

void gt_alive_over_time_ended(void *history, const struct gt_ledger *l, uint64_t time_ns)
{
	struct gt_alive_over_time *h = history;
	double time_s = since_start(h, time_ns);

	if (time_s < h->end_s)
		time_s = h->end_s;
	take_kinds(h, l, time_s);
	add_bytes(h, l, time_s);
	h->end_s = time_s;
}

void gt_alive_over_time_event(void *history, const struct gt_ledger *l,
			      const struct gt_event *event, uint32_t process)
{
	struct gt_alive_over_time *h = history;

	h->end_s = since_start(h, event->time_ns);
	if (h->stretch.end_ns != UINT64_MAX && shows_all(h, l))
		return;
	take_changed_kinds(h, l, h->end_s);
	add_changed_bytes(h, l, h->end_s);
	widen(&h->stretch.device_bytes, l->device_bytes);
	if (h->stretch.end_ns == UINT64_MAX)
		begin_stretch(h, l, gt_functions[event->function].kind, event->time_ns);
}

void gt_alive_over_time_finish(struct gt_alive_over_time *h, const struct gt_ledger *l)
{
	for (size_t i = 0; i < gt_recording_process_count(h->recording); i++) {
		const struct gt_process *process = gt_recording_process(h->recording, i);

		if (process->end_ns && since_start(h, process->end_ns) > h->end_s)
			h->end_s = since_start(h, process->end_ns);
	}
	/* live resources stay alive until the end */
	if (h->bytes.count)
		add_bytes(h, l, h->end_s);
	for (int k = 0; k < GT_KIND_COUNT; k++)
		if (h->objects[k].count)
			gt_trail_add(&h->objects[k], h->end_s,
				     &(double){ (double)h->kinds[k].live });
}
