/* SPDX-License-Identifier: MIT */
/* settings.c - the recorder's settings, read from the environment. */
#include "guest/settings.h"

#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "api/functions.h"
#include "base/small_printf.h"
#include "trace/layout.h"

enum { DEPTH_DEFAULT = 64 };

static struct gt_settings settings;
static char recording[PATH_MAX], csv[PATH_MAX], logfile[PATH_MAX];
static pthread_once_t once = PTHREAD_ONCE_INIT;
static _Atomic bool are_read;

static bool is_set(const char *name)
{
	const char *value = secure_getenv(name);

	return value && (!strcmp(value, "1") || !strcasecmp(value, "true"));
}

static const char *text_of(const char *name)
{
	const char *value = secure_getenv(name);

	return value && *value ? value : NULL;
}

static int64_t number_of(const char *name, int64_t fallback)
{
	const char *value = text_of(name);
	char *end;
	long long number = value ? strtoll(value, &end, 10) : 0;

	return value && !*end && number >= 0 ? number : fallback;
}

/* Absolute, because the program may change its directory before its first call. */
static const char *absolute_path(char buffer[PATH_MAX], const char *path)
{
	size_t used = 0;

	if (!path)
		return NULL;
	if (*path != '/') {
		if (!getcwd(buffer, PATH_MAX - 1))
			return NULL;
		used = strlen(buffer);
		buffer[used++] = '/';
	}
	used += (size_t)gt_snprintf(buffer + used, PATH_MAX - used, "%s", path);
	return used < PATH_MAX ? buffer : NULL;
}

static enum gt_log_level read_level(const char *name, enum gt_log_level fallback)
{
	static const char *const names[] = { "trace", "debug",    "info", "warn",
					     "error", "critical", "off" };
	const char *value = text_of(name);

	for (int i = 0; value && i <= GT_LOG_OFF; i++)
		if (!strcasecmp(value, names[i]))
			return (enum gt_log_level)i;
	return value && !strcasecmp(value, "warning") ? GT_LOG_WARNING : fallback;
}

/* Our log goes to the file in which Level Zero's loader keeps its own. */
static void read_loader_log(void)
{
	const char *folder = text_of("ZEL_LOADER_LOG_DIR"), *home = text_of("HOME");
	const char *file = text_of("ZEL_LOADER_LOG_FILE");
	static char path[PATH_MAX];
	int size;

	settings.log_level = read_level("ZEL_LOADER_LOGGING_LEVEL", GT_LOG_WARNING);
	settings.log_to_console = is_set("ZEL_LOADER_LOG_CONSOLE");
	if (settings.log_to_console)
		return;
	if (folder)
		size = gt_snprintf(path, sizeof path, "%s/%s", folder,
				   file ? file : "ze_loader.log");
	else
		size = gt_snprintf(path, sizeof path, "%s/.oneapi_logs/%s", home ? home : ".",
				   file ? file : "ze_loader.log");
	if (size < 0 || (size_t)size >= sizeof path) {
		settings.log_name_too_long = true;
		return;
	}
	settings.log = absolute_path(logfile, path);
	if (!settings.log)
		settings.log_name_too_long = true;
}

/* The resource tracker is set by the variables of Level Zero's checker, or by our own. */
static void read_tracker(void)
{
	const char *own_log = text_of("GPUTRACK_LOG"), *own_csv = text_of("GPUTRACK_CSV");
	bool checker = is_set("ZEL_ENABLE_SYSTEM_RESOURCE_TRACKER_CHECKER");

	settings.log_level = GT_LOG_OFF;
	settings.tracker = checker || own_log || own_csv;
	if (checker && is_set("ZEL_ENABLE_LOADER_LOGGING"))
		read_loader_log();
	if (own_log) {
		settings.log_level = read_level("GPUTRACK_LOG_LEVEL", GT_LOG_DEBUG);
		settings.log_to_console = !strcmp(own_log, "-");
		settings.log = settings.log_to_console ? NULL : absolute_path(logfile, own_log);
		settings.log_name_too_long = !settings.log_to_console && !settings.log;
	}
	if (!own_csv && checker)
		own_csv = text_of("ZEL_SYSTEM_RESOURCE_TRACKER_CSV");
	settings.csv = absolute_path(csv, own_csv);
	/* a path that is too long is reported when the file is opened */
	if (own_csv && !settings.csv)
		settings.csv = own_csv;
	settings.csv_extended = is_set("GPUTRACK_CSV_MORE");
	settings.warn_kb = number_of("GPUTRACK_WARN_KB", 0);
	settings.verdict_kb = number_of("GPUTRACK_VERDICT_KB", GT_RESIDUE_LEAK_KB);
}

static void read_all(void)
{
	int64_t frames = number_of("GPUTRACK_STACKS", DEPTH_DEFAULT);

	settings.stack_depth =
		frames > GT_STACK_FRAMES_MAX ? GT_STACK_FRAMES_MAX : (uint32_t)frames;
	settings.max_bytes = (uint64_t)number_of("GPUTRACK_MAX_SIZE", 0);
	settings.watcher = (uint64_t)number_of("GPUTRACK_WATCHER", 0);
	settings.until_ns = (uint64_t)number_of("GPUTRACK_UNTIL", 0);
	settings.touches = is_set("GPUTRACK_TOUCHES");
	settings.recording = absolute_path(recording, text_of("GPUTRACK_RECORDING"));
	read_tracker();
	atomic_store_explicit(&are_read, true, memory_order_release);
}

const struct gt_settings *gt_settings_get(void)
{
	/* nearly always: at every call */
	if (__builtin_expect(!atomic_load_explicit(&are_read, memory_order_acquire), 0))
		pthread_once(&once, read_all);
	return &settings;
}
