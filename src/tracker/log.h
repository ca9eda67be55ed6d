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
/* A line in pieces: no other thread's comes between them. Only where gt_log_wants the level. */
void gt_log_open(enum gt_log_level level);
void gt_log_add(const char *format, ...) __attribute__((format(printf, 1, 2)));
void gt_log_close(void);
/* "[date] [thread-id: N] [level] text" */
void gt_log(enum gt_log_level level, const char *format, ...) __attribute__((format(printf, 2, 3)));
