/* SPDX-License-Identifier: MIT */
/*
 * timeline.h - a value over time in a fixed number of stretches, whatever the number of changes.
 *
 * Each stretch keeps its highest moment and its last one. When time runs past the last stretch,
 * neighbours are merged and all stretches become twice as long. For the tool.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum { GT_TIMELINE_MAX = 998 }; /* with the very end, fewer than a thousand points */

/* The state from one moment on. Times are relative to the timeline's start. */
struct gt_moment {
	uint64_t time_ns, device_bytes, host_bytes, objects;
};

struct gt_stretch {
	struct gt_moment high, last; /* by device bytes, then objects */
	uint64_t changes;            /* 0: nothing happened in it */
};

struct gt_timeline {
	struct gt_stretch stretches[GT_TIMELINE_MAX];
	size_t count; /* up to the last one in which something happened */
	uint64_t stretch_ns;
	uint64_t end_ns; /* settled by gt_timeline_finish */
	struct gt_moment now;
	double byte_ns; /* device bytes times the time they were held */
};

void gt_timeline_init(struct gt_timeline *t);
/* In order of time; an earlier moment than the last one counts as the last one's. */
void gt_timeline_add(struct gt_timeline *t, const struct gt_moment *moment);
/* The state stays as it is until `end_ns`. */
void gt_timeline_finish(struct gt_timeline *t, uint64_t end_ns);
/* Mean of the device bytes over the whole time. */
uint64_t gt_timeline_mean(const struct gt_timeline *t);
/* The most device bytes held at any moment of [from_ns, to_ns), as exactly as stretches tell. */
uint64_t gt_timeline_most(const struct gt_timeline *t, uint64_t from_ns, uint64_t to_ns);
