/* SPDX-License-Identifier: MIT */
/*
 * fork_guard.h - keeps forks apart from the locks of other libraries.
 *
 * The dynamic loader and the C library have locks of their own. A child that is forked while
 * another thread holds one finds it held for ever. So a thread of ours that calls something with
 * such a lock enters the guard first, a fork waits until no thread of ours is inside, and a child
 * that was forked nevertheless (by the bare system call, or because the wait timed out) never
 * enters again.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* Enters; the result is for gt_fork_guard_leave. NULL: a lock may be held for ever, keep away. */
_Atomic uint32_t *gt_fork_guard_enter(void);
void gt_fork_guard_leave(_Atomic uint32_t *counter);

/* Call once per process, before the functions above. */
void gt_fork_guard_start(void);
/*
 * Call first in a child after fork. True when fork() of the C library made the child: memory that
 * other threads allocated can be freed then. Otherwise they may have held malloc's locks.
 */
bool gt_fork_guard_restart(void);
