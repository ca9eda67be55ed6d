/* SPDX-License-Identifier: MIT */
/* nsys_names.h - the strings of an export, and what the CUDA functions that they name do. */
#pragma once

#include "api/functions.h"
#include "capture/nsys/database.h"

struct gt_nsys_names;

/* An export without a table of strings has only empty ones. */
int gt_nsys_names_new(struct gt_nsys_names **out, const struct gt_database *d,
		      struct gt_error *error);
void gt_nsys_names_free(struct gt_nsys_names *n);

/* A string of the export; "" if missing. Valid until the next call. */
const char *gt_nsys_string(struct gt_nsys_names *n, int64_t id);

/*
 * The row of the function that a string names: of nsys.def for memory, of cuda.def for objects,
 * nsysCall for every other function, GT_FN_NONE for those whose result is that of another call.
 */
enum gt_function_id gt_nsys_function(struct gt_nsys_names *n, int64_t id);
/* The same by name. */
enum gt_function_id gt_nsys_function_named(const char *name);

/* The length of a function's name without the version that CUPTI adds: "cudaMalloc_v3020". */
size_t gt_nsys_base_length(const char *name);

/* True for rows of functions that allocate, or free, memory that Nsight tracks. */
bool gt_nsys_allocates(enum gt_function_id row);
bool gt_nsys_frees(enum gt_function_id row);
