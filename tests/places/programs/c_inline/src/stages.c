/* SPDX-License-Identifier: MIT */
/* stages.c - buffers made by a macro, by an inline function, and by one inside another. */
#include "pool.h"

cl_mem kept[3];

void stage_macro(size_t bytes)
{
	kept[0] = NEW_BUFFER(bytes);
}

void stage_inline(size_t bytes)
{
	kept[1] = pool_take(bytes);
}

static void prepare(size_t bytes)
{
	kept[2] = pool_take_rounded(bytes);
}

void stage_nested(size_t bytes)
{
	prepare(bytes + 1);
}

void stage_open(void)
{
	gpu_open();
}
