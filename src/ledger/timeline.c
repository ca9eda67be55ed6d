/* SPDX-License-Identifier: MIT */
/* timeline.c - a value over time in a fixed number of stretches. */
#include "ledger/timeline.h"

#include <stdbool.h>
#include <string.h>

enum { FIRST_STRETCH_NS = 1000 };

static bool is_higher(const struct gt_moment *a, const struct gt_moment *b)
{
	if (a->device_bytes != b->device_bytes)
		return a->device_bytes > b->device_bytes;
	return a->objects > b->objects;
}

void gt_timeline_init(struct gt_timeline *t)
{
	memset(t, 0, sizeof *t);
	t->stretch_ns = FIRST_STRETCH_NS;
}

static void merge(struct gt_stretch *into, const struct gt_stretch *later)
{
	if (!later->changes)
		return;
	if (!into->changes || is_higher(&later->high, &into->high))
		into->high = later->high;
	into->last = later->last;
	into->changes += later->changes;
}

static void halve(struct gt_timeline *t)
{
	for (size_t i = 0; i < GT_TIMELINE_MAX; i += 2) {
		struct gt_stretch pair = t->stretches[i];

		merge(&pair, &t->stretches[i + 1]);
		t->stretches[i / 2] = pair;
	}
	memset(t->stretches + GT_TIMELINE_MAX / 2, 0, sizeof t->stretches / 2);
	t->count = (t->count + 1) / 2;
	t->stretch_ns *= 2;
}

void gt_timeline_add(struct gt_timeline *t, const struct gt_moment *moment)
{
	struct gt_moment m = *moment;
	struct gt_stretch one;
	size_t at;

	if (m.time_ns < t->now.time_ns)
		m.time_ns = t->now.time_ns;
	/* beyond this, doubling the stretches would overflow; no boot lasts that long */
	if (m.time_ns > UINT64_MAX / 4)
		m.time_ns = UINT64_MAX / 4;
	while (m.time_ns / t->stretch_ns >= GT_TIMELINE_MAX)
		halve(t);
	t->byte_ns += (double)t->now.device_bytes * (double)(m.time_ns - t->now.time_ns);
	t->now = m;
	at = m.time_ns / t->stretch_ns;
	one = (struct gt_stretch){ .high = m, .last = m, .changes = 1 };
	merge(&t->stretches[at], &one);
	if (at >= t->count)
		t->count = at + 1;
}

void gt_timeline_finish(struct gt_timeline *t, uint64_t end_ns)
{
	t->end_ns = end_ns > t->now.time_ns ? end_ns : t->now.time_ns;
	t->byte_ns += (double)t->now.device_bytes * (double)(t->end_ns - t->now.time_ns);
}

uint64_t gt_timeline_mean(const struct gt_timeline *t)
{
	return t->end_ns ? (uint64_t)(t->byte_ns / (double)t->end_ns + 0.5) : t->now.device_bytes;
}

uint64_t gt_timeline_most(const struct gt_timeline *t, uint64_t from_ns, uint64_t to_ns)
{
	size_t first = from_ns / t->stretch_ns;
	uint64_t most = 0;

	/* what was held on entering */
	for (size_t i = first < t->count ? first : t->count; i-- > 0;)
		if (t->stretches[i].changes) {
			most = t->stretches[i].last.device_bytes;
			break;
		}
	for (size_t i = first; i < t->count && i * t->stretch_ns < to_ns; i++)
		if (t->stretches[i].changes && t->stretches[i].high.device_bytes > most)
			most = t->stretches[i].high.device_bytes;
	return most;
}
