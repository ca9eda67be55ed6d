/* SPDX-License-Identifier: MIT */
/*
 * numbers.h - a recording's own numbers for what its traces define, each in numbers of its own.
 *
 * Equal modules, stacks, places, text frames and series of several processes get one number.
 */
#pragma once

#include "trace/reader.h"
#include "trace/recording.h"

struct gt_numbers;

struct gt_numbers *gt_numbers_new(void);
void gt_numbers_free(struct gt_numbers *n);

/* One trace's numbers -> the recording's. */
struct gt_numbers_map {
	uint32_t *stacks; /* by stack number */
	uint16_t *places; /* by the place's number */
	size_t place_count;
	uint16_t *series; /* by series number */
};

void gt_numbers_take(struct gt_numbers *n, struct gt_numbers_map *map,
		     const struct gt_definitions *d);
void gt_numbers_map_fini(struct gt_numbers_map *map);

size_t gt_numbers_stack(const struct gt_numbers *n, uint32_t stack,
			const struct gt_trace_frame **frames);
size_t gt_numbers_stack_count(const struct gt_numbers *n);
const struct gt_recorded_module *gt_numbers_module(const struct gt_numbers *n, uint32_t module);
size_t gt_numbers_module_count(const struct gt_numbers *n);
const char *gt_numbers_place(const struct gt_numbers *n, uint16_t place);
size_t gt_numbers_place_count(const struct gt_numbers *n);
const struct gt_text_frame *gt_numbers_text_frame(const struct gt_numbers *n, uint64_t number);
const struct gt_series *gt_numbers_series(const struct gt_numbers *n, uint16_t series);
size_t gt_numbers_series_count(const struct gt_numbers *n);
