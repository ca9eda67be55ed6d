/* SPDX-License-Identifier: MIT */
/* log.h - the resource tracker's log: whole lines, never buffered. */
#pragma once

#include <stdarg.h>
#include <stdbool.h>

#include "guest/settings.h"

/* Opens the log that the settings ask for; prints one line if that fails. */
void gt_log_start(void);
/* Call in a child after fork. */
void gt_log_restart(void);
bool gt_log_wants(enum gt_log_level level);
/* "[date] [thread-id: N] [level] text" */
void gt_log(enum gt_log_level level, const char *format, ...) __attribute__((format(printf, 2, 3)));
