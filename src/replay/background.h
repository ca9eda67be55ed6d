/* SPDX-License-Identifier: MIT */
/* background.h - processes that a recorded program left behind, before they made any call. */
#pragma once

#include "trace/recording.h"

/*
 * True if a process of the program that `gputrack run` started is still running: what it will do is
 * recorded. False, too, where that cannot be seen: on another host, or as another user.
 */
bool gt_background_runs(const struct gt_recording *r);
