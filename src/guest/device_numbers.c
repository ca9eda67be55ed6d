/* SPDX-License-Identifier: MIT */
/* device_numbers.c - the devices and platforms that resources are on, each with a number. */
#include "guest/device_numbers.h"

#include <pthread.h>
#include <string.h>

#include "guest/recorder.h"

enum { PLACES_MAX = 64 };

static struct {
	char name[64];
	enum gt_api api;
} places[PLACES_MAX];
static uint16_t place_count;
static pthread_mutex_t places_lock = PTHREAD_MUTEX_INITIALIZER;

uint16_t gt_device_number(enum gt_api api, const char *name)
{
	uint16_t found = 0;

	pthread_mutex_lock(&places_lock);
	for (uint16_t i = 0; i < place_count && !found; i++)
		if (places[i].api == api &&
		    !strncmp(places[i].name, name, sizeof places[i].name - 1))
			found = (uint16_t)(i + 1);
	if (!found && place_count < PLACES_MAX - 1) {
		strncpy(places[place_count].name, name, sizeof places[0].name - 1);
		places[place_count].api = api;
		found = ++place_count;
		gt_recorder_place(found, api, places[found - 1].name);
	}
	pthread_mutex_unlock(&places_lock);
	return found;
}

void gt_device_numbers_restart(void)
{
	pthread_mutex_init(&places_lock, NULL);
	for (uint16_t i = 0; i < place_count; i++)
		gt_recorder_place((uint16_t)(i + 1), places[i].api, places[i].name);
}
