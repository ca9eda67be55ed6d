/* SPDX-License-Identifier: MIT */
/* log.c - the resource tracker's log: whole lines, never buffered. */
#include "tracker/log.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/guest_file.h"
#include "base/process.h"
#include "guest/fork_guard.h"
#include "guest/recorder.h"

enum { LINE_MAX_BYTES = 8192 };

/* Every time zone changes its offset at a quarter of an hour. */
enum { QUARTER_S = 900, DAY_S = 24 * 60 * 60 };

static struct gt_append_file file = GT_APPEND_NONE;
static enum gt_log_level min_level = GT_LOG_OFF;

/* Seconds that local time is ahead of UTC, and the quarter of an hour in which we asked. */
static _Atomic int64_t offset_s, offset_quarter = -1;
static _Atomic bool is_child;

/*
 * The C library guards its time zone with a lock. In a child that may be held for ever, by a thread
 * that does not exist there: the child keeps its parent's offset.
 */
static int64_t utc_offset_at(time_t now)
{
	_Atomic uint32_t *guard;
	struct tm local;

	if (now / QUARTER_S == atomic_load(&offset_quarter) || atomic_load(&is_child))
		return atomic_load(&offset_s);
	guard = gt_fork_guard_enter();
	if (!guard)
		return atomic_load(&offset_s);
	if (localtime_r(&now, &local))
		atomic_store(&offset_s, local.tm_gmtoff);
	atomic_store(&offset_quarter, now / QUARTER_S);
	gt_fork_guard_leave(guard);
	return atomic_load(&offset_s);
}

static int days_of_year(int year)
{
	return year % 4 || (year % 100 == 0 && year % 400) ? 365 : 366;
}

/* Computes the date of a day since 1970, because gmtime_r takes the same lock. */
static size_t put_date(char *out, size_t size, int64_t day)
{
	static const uint8_t months[] = { 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31 };
	int year = 1970, month = 0;

	for (; day >= days_of_year(year); year++)
		day -= days_of_year(year);
	for (;; month++) {
		int days = months[month] + (month == 1 && days_of_year(year) == 366);

		if (day < days)
			break;
		day -= days;
	}
	return (size_t)snprintf(out, size, "[%d-%02d-%02d ", year, month + 1, (int)day + 1);
}

void gt_log_start(void)
{
	const struct gt_settings *s = gt_settings_get();
	char folder[PATH_MAX];
	int e;

	if (s->log_level == GT_LOG_OFF)
		return;
	/* before there can be a child, which must not ask */
	utc_offset_at(time(NULL));
	if (s->log_to_console) {
		min_level = s->log_level;
		return;
	}
	if (s->log_name_too_long)
		gt_stderr_line("cannot write the log: its name is too long; the program runs on "
			       "without it");
	if (!s->log)
		return;
	strcpy(folder, s->log);
	mkdir(dirname(folder), 0755); /* if that fails, the open below reports why */
	e = gt_append_file_open(&file, s->log, O_CREAT, GT_APPEND_STREAM);
	if (e) {
		gt_stderr_line("cannot write the log %s: %s; the program runs on without it",
			       s->log, gt_append_file_error(e));
		return;
	}
	min_level = s->log_level;
}

void gt_log_restart(void)
{
	atomic_store(&is_child, true);
}

bool gt_log_wants(enum gt_log_level level)
{
	return level >= min_level && min_level != GT_LOG_OFF;
}

static size_t put_head(char *line, size_t size, enum gt_log_level level)
{
	static const char *const names[] = { "trace",   "debug", "info",
					     "warning", "error", "critical" };
	struct timespec now;
	int64_t local;
	int second;
	size_t used;

	clock_gettime(CLOCK_REALTIME, &now);
	local = now.tv_sec + utc_offset_at(now.tv_sec);
	second = (int)(local % DAY_S);
	used = put_date(line, size, local / DAY_S);
	used += (size_t)snprintf(line + used, size - used,
				 "%02d:%02d:%02d.%03ld] [thread-id: %u] [%s] ", second / 3600,
				 second / 60 % 60, second % 60, now.tv_nsec / 1000000,
				 gt_thread_id(), names[level]);
	return used;
}

/* The console is whatever stderr is; a file is written only while it is ours. */
static void put(const char *line, size_t size)
{
	static _Atomic bool has_failed;
	ssize_t n;

	if (gt_settings_get()->log_to_console) {
		gt_write_without_signals(STDERR_FILENO, line, size, true);
		return;
	}
	n = gt_append_file_write(&file, line, size, gt_now_ns());
	if (n != (ssize_t)size && !atomic_exchange(&has_failed, true))
		gt_stderr_line(
			"the tracker's log lacks lines from here on: %s; the program runs on",
			n < 0 ? strerror(errno) : "disk full");
}

void gt_log(enum gt_log_level level, const char *format, ...)
{
	char line[LINE_MAX_BYTES];
	size_t used;
	va_list args;
	int n;

	if (!gt_log_wants(level))
		return;
	used = put_head(line, sizeof line, level);
	va_start(args, format);
	n = vsnprintf(line + used, sizeof line - used - 1, format, args);
	va_end(args);
	if (n > 0)
		used += (size_t)n < sizeof line - used - 1 ? (size_t)n : sizeof line - used - 2;
	line[used++] = '\n';
	put(line, used);
}
