/* SPDX-License-Identifier: MIT */
/* service.h - the agent as a service of systemd: readiness, watchdog, journal. No library needed.
 */
#pragma once

#include <stdint.h>

/* As syslog has them. */
enum gt_level { GT_LEVEL_WARNING = 4, GT_LEVEL_NOTICE = 5, GT_LEVEL_INFO = 6 };

/* gt_tell, with the level in front where stderr is the journal. */
void gt_service_log(enum gt_level level, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* Tells systemd "READY=1", "STATUS=…", if it has started us. */
void gt_service_notify(const char *state);
/* How often the watchdog wants to hear of us; 0: never. */
uint64_t gt_service_watchdog_ns(void);
