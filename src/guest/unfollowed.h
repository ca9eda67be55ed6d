/* SPDX-License-Identifier: MIT */
/* unfollowed.h - functions that a driver handed out by address and that we do not track. */
#pragma once

/* Records the name in the trace and the tracker's log, once for each name. */
void gt_unfollowed_add(const char *name);
/* In a child after fork: its own trace gets the names, too. */
void gt_unfollowed_restart(void);
