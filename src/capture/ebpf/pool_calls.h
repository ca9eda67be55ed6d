/* SPDX-License-Identifier: MIT */
/* pool_calls.h - reports of allocators above the driver (api/pool.def), seen from outside. */
#pragma once

#include "api/pool_report.h"

/* The row of a function with this mangled name; GT_FN_NONE: it is none of pool.def's. */
enum gt_function_id gt_pool_function(const char *symbol);

/* True for a function that only blocks in main memory are reported to. */
bool gt_pool_is_for_cpu(enum gt_function_id function);

/* The report that a call with these arguments makes; false: the function makes none. */
bool gt_pool_read(struct gt_pool_report *report, enum gt_function_id function,
		  const uint64_t *argv);
