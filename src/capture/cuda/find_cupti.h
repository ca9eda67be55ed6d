/* SPDX-License-Identifier: MIT */
/* find_cupti.h - finds CUPTI: in the process, on the loader's path, where toolkits and Python put
 * it. */
#pragma once

/*
 * Loads the next CUPTI that is found here; NULL when there are no more. `*next` is where to go on,
 * 0 at first. GPUTRACK_CUPTI names the only one.
 */
void *gt_cupti_find(unsigned *next);
