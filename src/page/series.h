/* SPDX-License-Identifier: MIT */
/*
 * series.h - rows over time as a page gets them: base64 of variable-length integers.
 *
 * Times: the differences. A channel: for each row the zigzag difference of its last value, then
 * how far the lowest lies below it and the highest above. A track: for each row in which it
 * changed how many rows after the one before (the first: from row -1), then the zigzag differences
 * of bytes and count. Values beyond 2^53 - 1 are written as that.
 */
#pragma once

#include "base/json.h"
#include "page/page.h"

void gt_html_times_json(struct gt_json *j, const char *key, const struct gt_time_series *p);
/* null for a channel that is 0 throughout. */
void gt_html_channel_json(struct gt_json *j, const char *key, const struct gt_time_series *p,
			  size_t channel);
void gt_html_track_json(struct gt_json *j, const struct gt_html *h, const struct gt_html_set *set,
			size_t track);
/* A trail's points, x and its values for each, as 64-bit little-endian numbers; null for none. */
void gt_html_trail_json(struct gt_json *j, const char *key, const struct gt_trail *t);
/* What the resource tracker measured of each process that can be shown, or why it cannot be. */
void gt_html_metrics_json(struct gt_json *j, const struct gt_html *h, double threshold_kb);
