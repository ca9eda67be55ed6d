/* SPDX-License-Identifier: MIT */
/* results.h - names of the APIs' error codes. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "api/functions.h"
#include "base/json.h"

/* "CL_OUT_OF_RESOURCES"; NULL for a code without a name. */
const char *gt_result_name(enum gt_api api, int32_t result);

/* True for a code by which the driver says that a call named nothing alive. */
bool gt_result_is_invalid(enum gt_api api, int32_t result);

/* True for a code by which the driver says that memory ran out, of a call that creates something.
 */
bool gt_result_is_out_of_memory(enum gt_api api, int32_t result);

/* "result" and "result_name" of a call of `function`; null where the code is not known. */
void gt_result_json(struct gt_json *j, uint16_t function, bool is_known, int32_t result);
