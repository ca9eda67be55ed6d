/* SPDX-License-Identifier: MIT */
/*
 * pprof_writer.h - writes gzipped pprof profiles with the four sample types of heap profiles.
 *
 * For recordings (pprof.c) and for the agent's totals.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "symbol/symbol.h"

enum { GT_PPROF_BUILD_ID = 64 };

/* A module. */
struct gt_pprof_mapping {
	uint64_t number; /* from 1, the same for the same module */
	const uint8_t *build_id;
	size_t build_id_size; /* 0: none */
};

struct gt_pprof_options {
	FILE *out;
	uint64_t time_ns, duration_ns; /* since 1970; duration 0: unknown */
	const char *comment, *default_type;
	/* The module of a frame, by its path; false: it is not known. */
	bool (*mapping)(void *context, const char *path, struct gt_pprof_mapping *mapping);
	void *context;
};

struct gt_pprof_label {
	const char *key, *text; /* left out where the text is "" */
};

struct gt_pprof_sample {
	const struct gt_frame *frames; /* innermost first */
	size_t count;
	const char *place;
	uint64_t created, created_bytes, live, live_bytes;
	const struct gt_pprof_label *labels;
	size_t label_count;
};

struct gt_pprof;

/* `options` must stay until gt_pprof_free, which writes the rest. */
struct gt_pprof *gt_pprof_new(const struct gt_pprof_options *options);
void gt_pprof_sample(struct gt_pprof *p, const struct gt_pprof_sample *sample);
void gt_pprof_free(struct gt_pprof *p);
