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
	for (int k = 0; k < GT_KIND_COUNT; k++) {
		int next = (k + 1) % GT_KIND_COUNT;

		while (gt_kinds[next].family != gt_kinds[k].family)
			next = (next + 1) % GT_KIND_COUNT;
		h->relatives[k] = (uint8_t)next;
	}
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

/*
 * Adds what has changed in the tallies of APIs from `api` up to `end`. Resources left by ended
 * processes are not alive, though the ledger keeps them as leaks.
 */
static void take_kind(struct gt_alive_over_time *h, const struct gt_ledger *l, int kind, int api,
		      int end, double time_s)
{
	uint64_t live = h->live[kind], bytes = h->kind_bytes[kind];
	double count = 0;

	for (; api < end; api++) {
		const struct gt_tally *tally = &l->tally[api][kind];
		uint64_t live_now = tally->live - tally->gone;
		uint64_t bytes_now = tally->bytes_live - tally->bytes_gone;

		live += live_now - h->known[api][kind].live;
		bytes += bytes_now - h->known[api][kind].bytes;
		h->known[api][kind].live = live_now;
		h->known[api][kind].bytes = bytes_now;
	}
	if (bytes != h->kind_bytes[kind]) {
		h->kind_bytes[kind] = bytes;
		h->layer_bytes[h->layer_of[kind]] = (double)bytes;
		if (h->layer_of[kind] < h->first_changed)
			h->first_changed = h->layer_of[kind];
	}
	if (live == h->live[kind])
		return;
	h->live[kind] = live;
	if (h->live[kind] > h->most[kind])
		h->most[kind] = h->live[kind];
	if (!h->objects[kind].count)
		gt_trail_add(&h->objects[kind], 0, &count);
	count = (double)h->live[kind];
	gt_trail_add(&h->objects[kind], time_s, &count);
}

static bool has_changed(const struct gt_alive_over_time *h, const struct gt_ledger *l, int kind,
			int api)
{
	const struct gt_tally *tally = &l->tally[api][kind];

	return tally->live - tally->gone != h->known[api][kind].live ||
	       tally->bytes_live - tally->bytes_gone != h->known[api][kind].bytes;
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

static void take_kinds(struct gt_alive_over_time *h, const struct gt_ledger *l, double time_s)
{
	for (int k = 0; k < GT_KIND_COUNT; k++)
		take_kind(h, l, k, 0, GT_API_COUNT, time_s);
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
	const struct gt_function *fn = &gt_functions[event->function];
	double time_s = since_start(h, event->time_ns);
	int k;
	/* some calls end more than the one resource they name */
	bool all = l->live.count > h->live_count + 1 || l->live.count + 1 < h->live_count;

	/* a block has bytes of a segment, which is of another kind */
	all |= gt_kinds[fn->kind].habits & GT_POOLED;

	h->live_count = l->live.count;
	if (all) {
		take_kinds(h, l, time_s);
	} else {
		/* one release function serves a whole family */
		k = fn->kind;
		do
			if (has_changed(h, l, k, fn->api))
				take_kind(h, l, k, fn->api, fn->api + 1, time_s);
		while ((k = h->relatives[k]) != fn->kind);
	}
	/* curves are steps: where no bytes come or go, the last point holds */
	if (!h->bytes.count || h->first_changed < h->layer_count ||
	    h->values[0] != (double)l->device_bytes)
		add_bytes(h, l, time_s);
	h->end_s = time_s;
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
			gt_trail_add(&h->objects[k], h->end_s, &(double){ (double)h->live[k] });
}
