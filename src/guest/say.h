/* SPDX-License-Identifier: MIT */
/* say.h - the one line that the traced process's stderr may get from us when something failed. */
#pragma once

#include "guest/export.h"

/* "gputrack: …" with a newline, in one write; nothing is said a second time for the same reason. */
GT_EXPORT void gt_say(const char *format, ...) __attribute__((format(printf, 1, 2)));
