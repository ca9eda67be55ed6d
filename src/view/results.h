/* results.h - names of the APIs' error codes. */
#pragma once

#include <stdint.h>

#include "api/functions.h"

/* "CL_OUT_OF_RESOURCES"; NULL for a code without a name. */
const char *gt_result_name(enum gt_api api, int32_t result);
