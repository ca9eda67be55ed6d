/* SPDX-License-Identifier: MIT */
/* points.h - where in a file the functions lie that are probed. */
#pragma once

#include "capture/ebpf/probes.h"

/* Which of a file's symbols are looked at. */
enum gt_point_symbols {
	GT_POINTS_EXPORTED, /* those of a library that others link to */
	GT_POINTS_ALL,      /* those of a program into which a library was linked, too */
};

/* Room for what gt_points_find finds. */
enum { GT_POINTS_MAX = GT_FN_COUNT + GT_PLAN_UNRECORDED };

/*
 * The tracked functions of an API that a file defines, and those of gt_plan_unrecorded; returns
 * their number. `size`: of the file.
 */
size_t gt_points_find(int fd, uint64_t size, enum gt_api api, enum gt_point_symbols which,
		      struct gt_probe_point points[GT_POINTS_MAX]);
/* The API of which a file defines most of the functions, several at least; -1: there is none. */
int gt_points_api(int fd, uint64_t size);
