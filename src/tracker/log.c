/* SPDX-License-Identifier: MIT */
/* log.c - the resource tracker's log: whole lines, never buffered. */
#include "tracker/log.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/guest_file.h"
#include "base/process.h"
#include "base/small_printf.h"
#include "guest/fork_guard.h"
#include "guest/recorder.h"

enum { LINE_MAX_BYTES = 8192 }; /* no less than a path */

/* Every time zone changes its offset at a quarter of an hour. */
enum { QUARTER_S = 900, DAY_S = 24 * 60 * 60 };

static struct gt_append_file file = GT_APPEND_NONE;

/* The line in the making. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char line[LINE_MAX_BYTES];
static size_t used;

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
static void put_date(int64_t day)
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
	gt_log_add("[%d-%02d-%02d ", year, month + 1, (int)day + 1);
}

void gt_log_start(void)
{
	const struct gt_settings *s = gt_settings_get();
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
	strcpy(line, s->log);
	mkdir(dirname(line), 0755); /* if that fails, the open below reports why */
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
	pthread_mutex_init(&lock, NULL);
	atomic_store(&is_child, true);
}

bool gt_log_wants(enum gt_log_level level)
{
	return level >= min_level && min_level != GT_LOG_OFF;
}

static void put_head(enum gt_log_level level)
{
	static const char *const names[] = { "trace",   "debug", "info",
					     "warning", "error", "critical" };
	struct timespec now;
	int64_t local;
	int second;

	clock_gettime(CLOCK_REALTIME, &now);
	local = now.tv_sec + utc_offset_at(now.tv_sec);
	second = (int)(local % DAY_S);
	put_date(local / DAY_S);
	gt_log_add("%02d:%02d:%02d.%03ld] [thread-id: %u] [%s] ", second / 3600, second / 60 % 60,
		   second % 60, now.tv_nsec / 1000000, gt_thread_id(), names[level]);
}

/* The console is whatever stderr is; a file is written only while it is ours. */
static void put(void)
{
	static _Atomic bool has_failed;
	ssize_t n;

	if (gt_settings_get()->log_to_console) {
		gt_write_without_signals(STDERR_FILENO, line, used, true);
		return;
	}
	n = gt_append_file_write(&file, line, used, gt_now_ns());
	if (n != (ssize_t)used && !atomic_exchange(&has_failed, true))
		gt_stderr_line(
			"the tracker's log lacks lines from here on: %s; the program runs on",
			gt_error_text(errno));
}

void gt_log_open(enum gt_log_level level)
{
	pthread_mutex_lock(&lock);
	used = 0;
	put_head(level);
}

static void add(const char *format, va_list args)
{
	size_t room = sizeof line - 1 - used;
	int n = gt_vsnprintf(line + used, room, format, args);

	used += (size_t)n < room ? (size_t)n : room - 1;
}

void gt_log_add(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	add(format, args);
	va_end(args);
}

void gt_log_close(void)
{
	line[used++] = '\n';
	put();
	pthread_mutex_unlock(&lock);
}

void gt_log(enum gt_log_level level, const char *format, ...)
{
	va_list args;

	if (!gt_log_wants(level))
		return;
	gt_log_open(level);
	va_start(args, format);
	add(format, args);
	va_end(args);
	gt_log_close();
}
