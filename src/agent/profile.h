/* SPDX-License-Identifier: MIT */
/* profile.h - the agent's totals as profiles: for pprof's readers, and as folded stacks. */
#pragma once

#include <stdio.h>

#include "agent/totals.h"

/* What a stack weighs where it has one number. */
enum gt_profile_weight { GT_PROFILE_INUSE, GT_PROFILE_ALLOC };

struct gt_profile {
	uint32_t pid; /* only of this process; 0: of all */
	enum gt_profile_weight weight;
};

/* Gzipped, with all four values of a heap; `weight` is what readers show first. */
void gt_agent_pprof(FILE *out, const struct gt_agent_totals *t, const struct gt_profile *profile);
/* "program;outermost;…;innermost;[CUDA device memory] place BYTES" on each line. */
void gt_agent_folded(FILE *out, const struct gt_agent_totals *t, const struct gt_profile *profile);
