/* SPDX-License-Identifier: MIT */
/* service.c - the agent as a service of systemd: readiness, watchdog, journal. */
#include "cli/agent/service.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/format.h"
#include "cli/cli.h"

/* systemd says which file the journal is, so that it can be told from a redirection. */
static bool is_journal(void)
{
	const char *stream = getenv("JOURNAL_STREAM");
	unsigned long long dev, ino;
	struct stat st;

	return stream && sscanf(stream, "%llu:%llu", &dev, &ino) == 2 &&
	       !fstat(STDERR_FILENO, &st) && st.st_dev == dev && st.st_ino == ino;
}

void gt_service_log(enum gt_level level, const char *format, ...)
{
	char text[1024];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof text, format, args);
	va_end(args);
	if (is_journal())
		fprintf(stderr, "<%d>", (int)level);
	gt_tell("%s", text);
}

void gt_service_notify(const char *state)
{
	const char *path = getenv("NOTIFY_SOCKET");
	struct sockaddr_un to = { .sun_family = AF_UNIX };
	size_t size = path ? strlen(path) : 0;
	int fd;

	if (!size || size >= sizeof to.sun_path || (*path != '/' && *path != '@'))
		return;
	memcpy(to.sun_path, path, size);
	/* an abstract name */
	if (*path == '@')
		to.sun_path[0] = '\0';
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return;
	(void)!sendto(fd, state, strlen(state), MSG_NOSIGNAL, (struct sockaddr *)&to,
		      (socklen_t)(offsetof(struct sockaddr_un, sun_path) + size));
	close(fd);
}

uint64_t gt_service_watchdog_ns(void)
{
	const char *us = getenv("WATCHDOG_USEC"), *pid = getenv("WATCHDOG_PID");
	uint64_t value, who;

	if (!us || !gt_count_parse(us, &value) || value > UINT64_MAX / 1000 ||
	    (pid && (!gt_count_parse(pid, &who) || who != (uint64_t)getpid())))
		return 0;
	/* twice as often as it must be */
	return value * 1000 / 2;
}
