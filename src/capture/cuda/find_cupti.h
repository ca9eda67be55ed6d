/* SPDX-License-Identifier: MIT */
/* find_cupti.h - finds CUPTI in the process, on the loader's path, in toolkits and in Python. */
#pragma once

/*
 * Loads the next CUPTI that is found; NULL when there are no more. `*next` is the position, 0 at
 * first. If GPUTRACK_CUPTI is set, it names the only one.
 */
void *gt_cupti_find(unsigned *next);
