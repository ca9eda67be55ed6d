/* SPDX-License-Identifier: MIT */
/* unfollowed.c - functions that a driver handed out by address and that we do not track. */
#include "guest/unfollowed.h"

#include <pthread.h>
#include <string.h>

#include "guest/recorder.h"
#include "tracker/log.h"
#include "tracker/meter.h"

/* A name that is longer is cut; the last entry stands for all further names. */
enum { NAMES_MAX = 64, NAME_BYTES = 64 };

static char names[NAMES_MAX][NAME_BYTES];
static unsigned count;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static bool is_listed(const char *name)
{
	for (unsigned i = 0; i < count; i++)
		if (!strncmp(names[i], name, NAME_BYTES - 1))
			return true;
	return count == NAMES_MAX;
}

void gt_unfollowed_add(const char *name)
{
	pthread_mutex_lock(&lock);
	if (!is_listed(name)) {
		strncpy(names[count], count == NAMES_MAX - 1 ? "others" : name, NAME_BYTES - 1);
		gt_recorder_info("unfollowed", names[count]);
		gt_log(GT_LOG_WARNING, "%s was handed out by address and is not followed",
		       names[count]);
		gt_meter_invalidate();
		count++;
	}
	pthread_mutex_unlock(&lock);
}

void gt_unfollowed_restart(void)
{
	pthread_mutex_init(&lock, NULL);
	for (unsigned i = 0; i < count; i++)
		gt_recorder_info("unfollowed", names[i]);
}
