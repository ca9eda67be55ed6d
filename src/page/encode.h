/* SPDX-License-Identifier: MIT */
/*
 * encode.h - rows over time, stacks and names in the compact form that a page gets.
 *
 * Rows are base64 of variable-length integers. Times: the differences. A channel: for each row the
 * zigzag difference of its last value, then how far the lowest lies below it and the highest above.
 * Values beyond 2^53 - 1 are written as that.
 */
#pragma once

#include "base/json.h"
#include "page/page.h"
#include "replay/frames.h"

/* The number, or the biggest that a page can hold. */
uint64_t gt_page_number(uint64_t value);
void gt_page_times_json(struct gt_json *j, const char *key, const struct gt_time_series *p);
/* null for a channel that is 0 throughout. */
void gt_page_channel_json(struct gt_json *j, const char *key, const struct gt_time_series *p,
			  size_t channel);
/* A trail's points, x and its values for each, as 64-bit little-endian numbers; null for none. */
void gt_page_trail_json(struct gt_json *j, const char *key, const struct gt_trail *t);
/* The resource tracker's metrics of each process, or why they cannot be shown. */
void gt_page_metrics_json(struct gt_json *j, const struct gt_page *h, double threshold_kb);

/* Stacks, frames and names, each written once and known by its number. */
struct gt_page_names;

/* `frames` must stay. */
struct gt_page_names *gt_page_names_new(struct gt_frames *frames);
void gt_page_names_free(struct gt_page_names *n);

/* The page's number of a name; NULL is number 0. Endless ones lose their middle. */
uint32_t gt_page_name(struct gt_page_names *n, const char *name);
/* The page's number of a stack of the recording; no stack is number 0. */
uint32_t gt_page_stack(struct gt_page_names *n, uint32_t stack);

/* The page's number of a stack's place, in words; no stack is number 0. */
uint32_t gt_page_place(struct gt_page_names *n, uint32_t stack);

/* "stacks", "frames", "places" and "names": after all that has numbers. */
void gt_page_names_json(struct gt_page_names *n, struct gt_json *j);
