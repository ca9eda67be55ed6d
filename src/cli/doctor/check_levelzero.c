/* SPDX-License-Identifier: MIT */
/* check_levelzero.c - the doctor's check of Level Zero: loader, drivers, our layer. */
#include <dlfcn.h>
#include <limits.h>
#include <stdint.h>
#include <stdlib.h>

#include "cli/doctor/doctor.h"
#include "cli/launch.h"
#include "cli/driver_abi.h"

#define DOOR "levelzero/libze_validation_layer.so.1"

/* In the child: loads Level Zero as a program would, and reports what it finds. */
static void explore(FILE *out, const void *unused)
{
	void *loader;
	gt_ze_init_fn *init;
	gt_ze_get_drivers_fn *get_drivers;
	uint32_t count = 0;

	(void)unused;
	unsetenv("ZE_ENABLE_VALIDATION_LAYER");
	loader = gt_child_load(out, GT_ZE_LIBRARY);
	if (!loader)
		return;
	init = (gt_ze_init_fn *)dlsym(loader, "zeInit");
	get_drivers = (gt_ze_get_drivers_fn *)dlsym(loader, "zeDriverGet");
	if (init && get_drivers && !init(0))
		get_drivers(&count, NULL);
	gt_child_tell_number(out, "drivers", count);
}

static bool check_drivers(struct gt_doctor *d, const char *found, int status)
{
	long count = gt_child_number(found, "drivers", 0);

	if (status) {
		gt_child_say_end(d, "driver", status);
		return false;
	}
	if (count > 0) {
		gt_doctor_say(d, GT_FINDING_GOOD, "drivers", "%ld", count);
		return true;
	}
	gt_doctor_say(d, GT_FINDING_NOTE, "drivers", "no driver responds");
	gt_doctor_remedy(d, "install your GPU vendor's driver, for example intel-level-zero-gpu");
	return false;
}

bool gt_doctor_levelzero(struct gt_doctor *d)
{
	static char text[1 << 12];
	char path[PATH_MAX];
	int status = gt_child_explore(explore, NULL, text, sizeof text);

	if (gt_child_first(text, "missing", path, sizeof path)) {
		gt_doctor_say(d, GT_FINDING_NOTE, "loader", "%s", path);
		gt_doctor_remedy(d, "needed only for Level Zero programs: apt install libze1");
		return false;
	}
	if (gt_child_first(text, "path", path, sizeof path))
		gt_doctor_say(d, GT_FINDING_GOOD, "loader", "%s", path);
	if (!gt_doors_find(path, sizeof path, DOOR)) {
		gt_doctor_say(d, GT_FINDING_NOTE, "layer", "not in this build");
		return false;
	}
	gt_doctor_say(d, GT_FINDING_GOOD, "layer", "%s", path);
	return check_drivers(d, text, status);
}
