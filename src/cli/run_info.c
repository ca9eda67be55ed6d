/* SPDX-License-Identifier: MIT */
/* run_info.c - what a recording's `info` says of who was recorded, where, when and how it ended. */
#include "cli/run_info.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/format.h"
#include "base/mem.h"
#include "base/process.h"

static void add_time(struct gt_info *info, const char *key)
{
	char text[GT_FORMAT_MAX];

	gt_info_set(info, key, gt_format_moment(text, gt_clock_ns(CLOCK_REALTIME)));
}

static void add_command(struct gt_info *info, char *const *argv)
{
	char *text = NULL;
	const char *at;
	size_t size;
	FILE *out = gt_memstream(&text, &size);

	for (; *argv; argv++) {
		if (!**argv || strpbrk(*argv, " \t\n\"'\\$`;&|<>()*?[]#~")) {
			putc('\'', out);
			for (at = *argv; *at; at++)
				fputs(*at == '\'' ? "'\\''" : (char[]){ *at, '\0' }, out);
			putc('\'', out);
		} else {
			fputs(*argv, out);
		}
		if (argv[1])
			putc(' ', out);
	}
	gt_memstream_close(out);
	gt_info_set(info, "command", text);
	free(text);
}

struct gt_info *gt_run_info_begin(char *const *argv)
{
	struct gt_info *info = gt_info_new();
	struct utsname system;
	char here[PATH_MAX];

	gt_info_set(info, "gputrack", GT_VERSION);
	add_command(info, argv);
	if (getcwd(here, sizeof here))
		gt_info_set(info, "directory", here);
	if (!uname(&system)) {
		gt_info_set(info, "host", system.nodename);
		gt_info_setf(info, "kernel", "%s %s", system.sysname, system.release);
	}
	add_time(info, "started");
	return info;
}

void gt_run_info_end(struct gt_info *info, uint64_t duration_ns)
{
	add_time(info, "ended");
	gt_info_setf(info, "duration_ns", "%llu", (unsigned long long)duration_ns);
}

void gt_run_info_status(struct gt_info *info, int status)
{
	if (WIFSIGNALED(status))
		gt_info_setf(info, "signal", "%d", WTERMSIG(status));
	else
		gt_info_setf(info, "exit_status", "%d", WEXITSTATUS(status));
}

struct gt_info *gt_run_info_read(const char *folder)
{
	char path[PATH_MAX + 8];

	snprintf(path, sizeof path, "%s/info", folder);
	return gt_info_read(path);
}

int gt_run_info_write(const struct gt_info *info, const char *folder, struct gt_error *error)
{
	char path[PATH_MAX + 8];

	snprintf(path, sizeof path, "%s/info", folder);
	return gt_info_write(info, path, error);
}

int gt_run_info_make(const struct gt_info *info, struct gt_folder *made, const char *folder,
		     struct gt_error *error)
{
	int e = gt_folder_make(made, folder, error);

	if (e)
		return e;
	e = gt_run_info_write(info, folder, error);
	if (e)
		gt_folder_undo(made);
	return e;
}
