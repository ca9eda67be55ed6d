/* SPDX-License-Identifier: MIT */
/* brief.h - names of functions for places where they do not fit. */
#pragma once

#include <stdbool.h>

/*
 * A copy in which outermost template arguments are `<…>`, without `utf8` `<...>`. Operators,
 * lambdas and arguments that are as short stay, and so does all from a bracket on that nobody
 * closes. The caller frees it.
 */
char *gt_function_brief(const char *name, bool utf8);
