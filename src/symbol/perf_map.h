/* SPDX-License-Identifier: MIT */
/*
 * perf_map.h - names of code that was compiled while the program ran.
 *
 * Compilers of JavaScript, Java, .NET, Python and others write /tmp/perf-PID.map for profilers: a
 * line for each piece of code, with its address, its size and its name.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

struct gt_perf_map;

/* Strings live as long as the map. */
struct gt_perf_name {
	const char *function;
	const char *file; /* NULL when unknown */
	uint32_t line;    /* 0 when unknown */
};

/* What is read of all maps of a recording: a file with many names may be that of many processes. */
#define GT_PERF_MAPS_ROOM (64 << 20)

/*
 * Reads a map that belongs to `owner` and was last written at `since_ns` (of CLOCK_REALTIME) or
 * later; NULL for any other file. Damaged lines are left out. What was read is taken from `*room`,
 * each line with what it takes in memory; what does not fit is not read.
 */
struct gt_perf_map *gt_perf_map_read(const char *path, uid_t owner, int64_t since_ns, size_t *room);
/* The same of an open file, which stays open. */
struct gt_perf_map *gt_perf_map_parse(FILE *in, size_t *room);
void gt_perf_map_free(struct gt_perf_map *map);

/* The code at an address: what was compiled there last. False when nothing is known. */
bool gt_perf_map_find(const struct gt_perf_map *map, uint64_t address, struct gt_perf_name *name);
