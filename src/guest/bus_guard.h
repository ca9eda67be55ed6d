/* SPDX-License-Identifier: MIT */
/*
 * bus_guard.h - survives stores to a trace that was shortened, or whose disk has failed.
 *
 * SIGBUS belongs to the program. We handle it only where nobody does, and pass on what is not ours:
 * the program then ends as it would without us. A program that installs its own handler replaces
 * ours; until it does, sigaction() shows that there is one.
 */
#pragma once

#include <stdbool.h>

/* Handles SIGBUS from now on, unless the program does, or ignores it. */
void gt_bus_guard_start(void);
/* True as long as the program has not replaced our handler. */
bool gt_bus_guard_is_on(void);
/* True if the calling thread blocks SIGBUS: a store that fails then ends the process. */
bool gt_bus_guard_is_blocked(void);
