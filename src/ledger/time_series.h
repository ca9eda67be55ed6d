/* SPDX-License-Identifier: MIT */
/*
 * time_series.h - values over time in a bounded number of rows, whatever the number of changes.
 *
 * Time is divided into steps of equal length. A step in which something changed has a row with the
 * lowest, highest and last value of each channel, so that rows can be merged without losing a peak.
 * If the time span is known beforehand, it determines the length of the steps. If not, they start
 * short and double in length whenever time runs past the last one.
 *
 * Used for device memory over time (gt_timeline below) and the page's charts. What each call site
 * holds has steps that all sites share (site_floors.h); plot/trail.h and board.h say why they keep
 * values in another way.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One channel in one row; includes the value at its start, which held for a part of it. */
struct gt_value_range {
	uint64_t low, high, last;
};

struct gt_time_series {
	size_t channels, count, room, row_max;
	uint64_t start_ns, step_ns;
	uint64_t row_end_ns; /* end of the last row's step; times are relative to the start */
	uint64_t *times;     /* by row: its last change */
	struct gt_value_range *extents; /* row by row, a channel after the other */
	uint64_t *peaks; /* row by row: time and values of the highest moment; or NULL */
	bool doubles, keeps_peaks;
};

enum { GT_FIRST_STEP_NS = 1000 };
/* The latest time: doubling cannot overflow, and no machine is up for that long. */
#define GT_TIME_SERIES_MAX_NS (UINT64_MAX / 4)

/* A series of unknown span that doubles its steps; it may be initialised again after _fini. */
void gt_time_series_init(struct gt_time_series *s, size_t channels, size_t row_max,
			 uint64_t start_ns);

struct gt_time_span {
	uint64_t start_ns, end_ns; /* times outside are clamped */
	uint64_t changes;          /* an upper bound: if there are enough rows, each gets its own */
};
/* A series of known span. Steps are 1 ns long if there are no more changes than rows. */
void gt_time_series_init_span(struct gt_time_series *s, size_t channels, size_t row_max,
			      const struct gt_time_span *span);
void gt_time_series_fini(struct gt_time_series *s);

/* Moves on to a moment at which channels may change; never moves back. */
void gt_time_series_advance(struct gt_time_series *s, uint64_t time_ns);
/* A channel's value at that moment; ignored before the first one. */
void gt_time_series_set(struct gt_time_series *s, size_t channel, uint64_t value);

static inline const struct gt_value_range *gt_time_series_at(const struct gt_time_series *s,
							     size_t row, size_t channel)
{
	return &s->extents[row * s->channels + channel];
}

enum { GT_TIMELINE_MAX = 998 }; /* with the end, fewer than a thousand points */

/* The state from one moment on. Times are relative to the timeline's start. */
struct gt_moment {
	uint64_t time_ns, device_bytes, host_bytes, objects;
};

/* Device memory over time: a series that also keeps each row's highest moment, and the mean. */
struct gt_timeline {
	struct gt_time_series series;
	uint64_t end_ns; /* set by gt_timeline_finish */
	struct gt_moment now;
	double byte_ns; /* device bytes times the time they were held */
};

struct gt_timeline *gt_timeline_new(void);
void gt_timeline_free(struct gt_timeline *t);
/* In order of time; an earlier moment than the last one counts as the last one's. */
void gt_timeline_add(struct gt_timeline *t, const struct gt_moment *moment);
/* The state stays as it is until `end_ns`. */
void gt_timeline_finish(struct gt_timeline *t, uint64_t end_ns);
/* Mean of the device bytes over the whole time. */
uint64_t gt_timeline_mean(const struct gt_timeline *t);
/* The most device bytes held at any moment of [from_ns, to_ns), to the resolution of rows. */
uint64_t gt_timeline_most(const struct gt_timeline *t, uint64_t from_ns, uint64_t to_ns);
/* The highest moment of a row: by device bytes, then objects. */
struct gt_moment gt_timeline_peak(const struct gt_timeline *t, size_t row);
