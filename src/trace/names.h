/* SPDX-License-Identifier: MIT */
/* names.h - what programs call their resources, over all processes of a recording. For the tool. */
#pragma once

#include "trace/reader.h"

struct gt_names;

struct gt_names *gt_names_new(void);
void gt_names_free(struct gt_names *names);

/* Takes over what a process's trace defines; more than once does no harm. */
void gt_names_take(struct gt_names *names, uint32_t process, const struct gt_definitions *d);
/* "" when it has none. */
const char *gt_names_find(const struct gt_names *names, uint32_t process, uint64_t handle,
			  uint64_t time_ns);
