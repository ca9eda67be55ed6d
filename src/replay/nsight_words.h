/* SPDX-License-Identifier: MIT */
/* nsight_words.h - the words of Nsight's analyses: what they call kinds, operations and stacks. */
#pragma once

#include <stdio.h>

#include "replay/frames.h"

/* "CUDA_MEMOPR_MEMORY_KIND_DEVICE", …_UNKNOWN if not memory; other APIs: the kind's name. */
const char *gt_nsight_kind(enum gt_api api, enum gt_kind kind);
/* "CUDA_DEV_MEM_EVENT_OPR_ALLOCATION" or its counterpart. */
const char *gt_nsight_operation(bool allocates);
/* "valid", "invalid", "driver". */
extern const char *const gt_origin_names[GT_ORIGIN_COUNT];

enum gt_where { GT_WHERE_MODULE, GT_WHERE_LINE };

/*
 * `[function] (where) -> [function] (where)`, innermost first, as a TSV field; where: the module,
 * or the file and line where they are known. A driver's origin is the function's name alone, an
 * invalid one STACK_NOT_FOUND.
 */
void gt_nsight_stack(FILE *out, struct gt_frames *frames, enum gt_origin origin, uint16_t function,
		     uint32_t stack, enum gt_where where);
