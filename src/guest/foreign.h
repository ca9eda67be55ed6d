/* SPDX-License-Identifier: MIT */
/*
 * foreign.h - locks that are not ours, and forks.
 *
 * The dynamic loader and libunwind have locks of their own. A child that is forked while another
 * thread holds one finds it held forever. So whoever calls something that takes one counts itself
 * in and out, a fork waits until nobody of ours is in, and a child that was forked all the same
 * (by the system call itself, or after a wait too long) keeps away from them.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* A place to be counted in; NULL: these locks may be held forever, keep away. */
_Atomic uint32_t *gt_foreign_enter(void);
void gt_foreign_leave(_Atomic uint32_t *place);

/* Once in a process, before any of the above. */
void gt_foreign_start(void);
/*
 * In a child after fork, before anything else here. True when the C library forked it: what other
 * threads have allocated can be given back then. Otherwise they may be holding malloc's locks.
 */
bool gt_foreign_restart(void);
