/* settings.c - what the traced process was asked to do, from its environment. */
#include "guest/settings.h"

#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "trace/layout.h"

enum { DEPTH_DEFAULT = 64 };

static struct gt_settings settings;
static char recording[PATH_MAX];
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void read_recording(void)
{
	const char *folder = secure_getenv("GPUTRACK_RECORDING");
	char here[PATH_MAX];
	int size;

	if (!folder || !*folder)
		return;
	/* absolute, because the program may change its directory before it makes a call */
	if (*folder == '/')
		size = snprintf(recording, sizeof recording, "%s", folder);
	else if (getcwd(here, sizeof here))
		size = snprintf(recording, sizeof recording, "%s/%s", here, folder);
	else
		return;
	if (size > 0 && (size_t)size < sizeof recording)
		settings.recording = recording;
}

static void read_all(void)
{
	const char *depth = secure_getenv("GPUTRACK_STACKS");
	unsigned long frames = DEPTH_DEFAULT;
	char *end;

	if (depth && *depth) {
		frames = strtoul(depth, &end, 10);
		if (*end)
			frames = DEPTH_DEFAULT;
	}
	settings.stack_depth = frames > GT_STACK_FRAMES_MAX ? GT_STACK_FRAMES_MAX : (uint32_t)frames;
	read_recording();
}

const struct gt_settings *gt_settings_get(void)
{
	pthread_once(&once, read_all);
	return &settings;
}
