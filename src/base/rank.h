/* SPDX-License-Identifier: MIT */
/* rank.h - this process's rank in a parallel job, by the variables of whatever launched it. */
#pragma once

/* "0", "17"; NULL: it is no rank of a job. Borrowed from the environment. */
const char *gt_rank_get(void);
