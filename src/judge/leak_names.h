/* SPDX-License-Identifier: MIT */
/* leak_names.h - names of leaks for readers that know each by its name alone. */
#pragma once

#include "judge/leaks.h"

/*
 * A name for each leak, in the order of the list, that no other of its API and kind has: the
 * function, callers as far as they are needed, a number behind what they do not tell apart. The
 * same leaks have the same names in every recording. The caller frees each of them and the list.
 */
char **gt_leak_names(const struct gt_view *v, const struct gt_leaks *leaks);
