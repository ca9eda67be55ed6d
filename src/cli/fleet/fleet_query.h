/* SPDX-License-Identifier: MIT */
/* fleet_query.h - the questions of `gputrack fleet`, and what ClickHouse answers. */
#pragma once

#include "agent/clickhouse.h"
#include "base/containers.h"

enum { GT_FLEET_TIME = 24 };

/* A place of one kind, on all hosts. Growth is a sum over processes. */
struct gt_fleet_place {
	uint64_t key; /* of the place; in a comparison without line numbers */
	const char *place, *file, *api, *kind;
	uint32_t line;
	uint64_t grown_bytes, grown_objects; /* in the time asked about */
	double growth_bytes, growth_objects; /* per hour, at its end */
	uint64_t held_bytes, held_objects;   /* by processes that run at its end */
	uint64_t hosts, processes;           /* that grow; in a comparison, that have it */
	char since[GT_FLEET_TIME];           /* growth; "": none */
};

/* A process that has a place. */
struct gt_fleet_process {
	const char *host, *pod, *process, *place, *kind, *gpu;
	uint32_t pid;
	char first[GT_FLEET_TIME], last[GT_FLEET_TIME]; /* days */
	char since[GT_FLEET_TIME];
	uint64_t held_bytes, held_objects; /* at the last row */
	double growth_bytes, growth_objects;
	bool runs; /* it is in its host's latest rows */
};

struct gt_fleet_answer {
	char from[GT_FLEET_TIME], to[GT_FLEET_TIME];
	uint64_t hosts; /* seen on the last day */
	struct gt_fleet_place *places;
	struct gt_fleet_process *processes;
	size_t count;
	uint64_t total;          /* rows that there are, listed or not */
	struct gt_intern *texts; /* that all others are in */
};

/*
 * The places that grow, the biggest first, from day `from` to day `to`; NULL: the last seven days
 * with rows.
 */
int gt_fleet_top(struct gt_fleet_answer *a, struct gt_clickhouse *c, const char *from,
		 const char *to, uint64_t top, struct gt_error *error);
/* All places that processes have at a moment: the end of a day, or a time of it. By key. */
int gt_fleet_at(struct gt_fleet_answer *a, struct gt_clickhouse *c, const char *moment,
		struct gt_error *error);
/* The processes that have a place of this file, and line if it is not 0. */
int gt_fleet_where(struct gt_fleet_answer *a, struct gt_clickhouse *c, const char *file,
		   uint32_t line, const char *from, const char *to, uint64_t top,
		   struct gt_error *error);
void gt_fleet_answer_fini(struct gt_fleet_answer *a);

/*
 * "2026-11-16", or with `has_time` also "2026-11-16T10:00" and "2026-11-16 10:00:00", as ClickHouse
 * writes it. False: it is none of these.
 */
bool gt_fleet_moment_parse(char out[GT_FLEET_TIME], const char *text, bool has_time);
