/* log.c - the resource tracker's log: whole lines, each on its way to disk when it is written. */
#include "guest/log.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/quiet.h"
#include "guest/recorder.h"
#include "guest/say.h"

enum { LINE_MAX_BYTES = 8192 };

static int file = -1;
static struct gt_file_id id;
static bool quietly = true;
static enum gt_log_level least = GT_LOG_OFF;

void gt_log_start(void)
{
	const struct gt_settings *s = gt_settings_get();
	char folder[PATH_MAX];

	if (s->log_level == GT_LOG_OFF)
		return;
	if (s->log_to_console) {
		file = STDERR_FILENO;
		least = s->log_level;
		return;
	}
	if (s->log_name_too_long)
		gt_say("cannot write the log: its name is too long; the program runs on "
		       "without it");
	if (!s->log)
		return;
	strcpy(folder, s->log);
	mkdir(dirname(folder), 0755); /* if that fails, open says what is wrong */
	file = open(s->log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
	if (file < 0) {
		gt_say("cannot write the log %s: %s; the program runs on without it", s->log,
		       strerror(errno));
		return;
	}
	file = gt_fd_aside(file);
	gt_file_id_of(&id, file);
	quietly = gt_quiet_is_needed(file);
	least = s->log_level;
}

bool gt_log_wants(enum gt_log_level level)
{
	return level >= least && least != GT_LOG_OFF;
}

static size_t put_head(char *line, size_t size, enum gt_log_level level)
{
	static const char *const names[] = { "trace", "debug", "info",
					     "warning", "error", "critical" };
	struct timespec now;
	struct tm local;
	size_t used;

	clock_gettime(CLOCK_REALTIME, &now);
	localtime_r(&now.tv_sec, &local);
	used = strftime(line, size, "[%Y-%m-%d %H:%M:%S", &local);
	used += (size_t)snprintf(line + used, size - used, ".%03ld] [thread-id: %u] [%s] ",
				 now.tv_nsec / 1000000, gt_thread_id(), names[level]);
	return used;
}

/* The console is whatever the program has there; a file is only written to while it is ours. */
static void put(const char *line, size_t size)
{
	const struct gt_settings *s = gt_settings_get();
	static _Atomic uint64_t checked_ns;
	bool check = !s->log_to_console && gt_fd_is_due(&checked_ns, gt_now_ns());
	int fd = check ? gt_fd_again(file, &id, s->log, O_WRONLY | O_APPEND) : file;

	if (fd >= 0 && gt_write_quiet(fd, line, size, quietly) < 0 && errno == EBADF &&
	    !s->log_to_console) {
		/* closed by the program: opened again */
		fd = gt_fd_again(-1, &id, s->log, O_WRONLY | O_APPEND);
		if (fd >= 0)
			gt_write_quiet(fd, line, size, quietly);
	}
	if (fd >= 0)
		file = fd;
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
