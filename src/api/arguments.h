/* SPDX-License-Identifier: MIT */
/* arguments.h - the arguments of functions, as their rows have them; for the tool alone. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct gt_argument {
	const char *name; /* not terminated */
	size_t name_size; /* 0: there is no such argument */
	bool is_number;   /* a count or a size, rather than a handle, an address or flags */
};

struct gt_argument gt_argument_of(uint16_t function, size_t number);
