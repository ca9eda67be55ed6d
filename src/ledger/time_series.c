/* SPDX-License-Identifier: MIT */
/* time_series.c - values over time in a bounded number of rows, whatever the number of changes. */
#include "ledger/time_series.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

enum { TIMELINE_CHANNELS = 3 }; /* device bytes, host bytes, objects */

#define NO_PEAK UINT64_MAX /* in place of a peak's time: the row has no moment yet */

void gt_time_series_init(struct gt_time_series *s, size_t channels, size_t row_max,
			 uint64_t start_ns)
{
	*s = (struct gt_time_series){ .channels = channels,
				      .row_max = row_max,
				      .start_ns = start_ns,
				      .step_ns = GT_FIRST_STEP_NS,
				      .doubles = true };
}

void gt_time_series_init_span(struct gt_time_series *s, size_t channels, size_t row_max,
			      const struct gt_time_span *span)
{
	gt_time_series_init(s, channels, row_max, span->start_ns);
	s->doubles = false;
	s->step_ns = 1;
	if (span->changes <= row_max)
		s->row_max = span->changes ? (size_t)span->changes : 1;
	else if (span->end_ns > span->start_ns)
		s->step_ns = (span->end_ns - span->start_ns) / row_max + 1;
}

void gt_time_series_fini(struct gt_time_series *s)
{
	free(s->times);
	free(s->extents);
	free(s->peaks);
	*s = (struct gt_time_series){ 0 };
}

/* Relative to the start, and never before the last change. */
static uint64_t relative(const struct gt_time_series *s, uint64_t time_ns)
{
	uint64_t time = time_ns > s->start_ns ? time_ns - s->start_ns : 0;

	if (time > GT_TIME_SERIES_MAX_NS)
		time = GT_TIME_SERIES_MAX_NS;
	return s->count && time < s->times[s->count - 1] ? s->times[s->count - 1] : time;
}

/* Grown on demand: most call sites have few rows. */
static void grow(struct gt_time_series *s)
{
	size_t room = s->room ? 2 * s->room : 4;

	s->room = room < s->row_max ? room : s->row_max;
	s->times = gt_realloc(s->times, s->room * sizeof *s->times);
	s->extents = gt_realloc(s->extents, s->room * s->channels * sizeof *s->extents);
	if (s->keeps_peaks)
		s->peaks = gt_realloc(s->peaks, s->room * (1 + s->channels) * sizeof *s->peaks);
}

static uint64_t *peak_at(const struct gt_time_series *s, size_t row)
{
	return &s->peaks[row * (1 + s->channels)];
}

/* Peaks are the timeline's alone: by device bytes, then by objects. */
static bool is_higher(const uint64_t *a, const uint64_t *b)
{
	const size_t last = TIMELINE_CHANNELS - 1;

	return a[0] != b[0] ? a[0] > b[0] : a[last] > b[last];
}

static void merge_rows(struct gt_time_series *s, size_t into, size_t later)
{
	s->times[into] = s->times[later];
	for (size_t i = 0; i < s->channels; i++) {
		struct gt_value_range *a = &s->extents[into * s->channels + i];
		const struct gt_value_range *b = gt_time_series_at(s, later, i);

		a->low = b->low < a->low ? b->low : a->low;
		a->high = b->high > a->high ? b->high : a->high;
		a->last = b->last;
	}
	if (s->keeps_peaks && is_higher(peak_at(s, later) + 1, peak_at(s, into) + 1))
		memcpy(peak_at(s, into), peak_at(s, later), (1 + s->channels) * sizeof *s->peaks);
}

static void move_row(struct gt_time_series *s, size_t to, size_t from)
{
	s->times[to] = s->times[from];
	memmove(&s->extents[to * s->channels], &s->extents[from * s->channels],
		s->channels * sizeof *s->extents);
	if (s->keeps_peaks)
		memmove(peak_at(s, to), peak_at(s, from), (1 + s->channels) * sizeof *s->peaks);
}

static void end_row_after(struct gt_time_series *s, uint64_t time)
{
	s->row_end_ns = (time / s->step_ns + 1) * s->step_ns;
}

static void double_steps(struct gt_time_series *s)
{
	size_t rows = s->count;

	s->step_ns *= 2;
	s->count = 0;
	for (size_t i = 0; i < rows; i++) {
		if (s->count && s->times[i] < s->row_end_ns) {
			merge_rows(s, s->count - 1, i);
		} else {
			move_row(s, s->count++, i);
			end_row_after(s, s->times[i]);
		}
	}
}

/* Changes beyond the announced number go to the last row. */
static bool needs_row(const struct gt_time_series *s, uint64_t time)
{
	return !s->count || (time >= s->row_end_ns && s->count < s->row_max);
}

static void add_row(struct gt_time_series *s, uint64_t time)
{
	struct gt_value_range *row;

	if (s->count == s->room)
		grow(s);
	row = &s->extents[s->count * s->channels];
	for (size_t i = 0; i < s->channels; i++) {
		uint64_t entering = s->count ? (row - s->channels)[i].last : 0;

		row[i] = (struct gt_value_range){ entering, entering, entering };
	}
	if (s->keeps_peaks)
		*peak_at(s, s->count) = NO_PEAK;
	s->count++;
	end_row_after(s, time);
}

void gt_time_series_advance(struct gt_time_series *s, uint64_t time_ns)
{
	uint64_t time = relative(s, time_ns);

	if (s->doubles && time >= s->row_end_ns)
		while (time / s->step_ns >= s->row_max)
			double_steps(s);
	if (needs_row(s, time))
		add_row(s, time);
	s->times[s->count - 1] = time;
}

void gt_time_series_set(struct gt_time_series *s, size_t channel, uint64_t value)
{
	struct gt_value_range *e;

	if (!s->count)
		return;
	e = &s->extents[(s->count - 1) * s->channels + channel];
	e->last = value;
	if (value < e->low)
		e->low = value;
	if (value > e->high)
		e->high = value;
}

struct gt_timeline *gt_timeline_new(void)
{
	struct gt_timeline *t = gt_alloc(sizeof *t);

	gt_time_series_init(&t->series, TIMELINE_CHANNELS, GT_TIMELINE_MAX, 0);
	t->series.keeps_peaks = true;
	return t;
}

void gt_timeline_free(struct gt_timeline *t)
{
	if (t)
		gt_time_series_fini(&t->series);
	free(t);
}

void gt_timeline_add(struct gt_timeline *t, const struct gt_moment *moment)
{
	const uint64_t values[TIMELINE_CHANNELS] = { moment->device_bytes, moment->host_bytes,
						     moment->objects };
	struct gt_time_series *s = &t->series;
	uint64_t before = t->now.time_ns, *peak;

	gt_time_series_advance(s, moment->time_ns);
	for (size_t i = 0; i < TIMELINE_CHANNELS; i++)
		gt_time_series_set(s, i, values[i]);
	t->byte_ns += (double)t->now.device_bytes * (double)(s->times[s->count - 1] - before);
	t->now = *moment;
	t->now.time_ns = s->times[s->count - 1];
	peak = peak_at(s, s->count - 1);
	if (*peak == NO_PEAK || is_higher(values, peak + 1)) {
		*peak = t->now.time_ns;
		memcpy(peak + 1, values, sizeof values);
	}
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
	const struct gt_time_series *s = &t->series;
	uint64_t first = from_ns / s->step_ns, most = 0;

	for (size_t i = 0; i < s->count; i++) {
		const struct gt_value_range *e = gt_time_series_at(s, i, 0);
		uint64_t step = s->times[i] / s->step_ns;

		if (step < first)
			most = e->last; /* held at `from_ns` */
		else if (step * s->step_ns < to_ns && e->high > most)
			most = e->high;
	}
	return most;
}

struct gt_moment gt_timeline_peak(const struct gt_timeline *t, size_t row)
{
	const uint64_t *peak = peak_at(&t->series, row);

	return (struct gt_moment){ peak[0], peak[1], peak[2], peak[3] };
}
