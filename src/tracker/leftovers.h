/* SPDX-License-Identifier: MIT */
/* leftovers.h - tells the log, at the end of the process, which handles are still alive. */
#pragma once

void gt_leftovers_log(void);
