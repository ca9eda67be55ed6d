/* SPDX-License-Identifier: MIT */
/* check_levelzero.c - the doctor's check of Level Zero: loader, drivers, our layer. */
#include <dlfcn.h>
#include <limits.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/tool.h"
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

/* In the child: the layer that a loader gets by its name. */
static void find_layer(FILE *out, const void *unused)
{
	(void)unused;
	gt_child_load(out, "libze_validation_layer.so.1");
}

static bool is_same_file(const char *a, const char *b)
{
	struct stat x, y;

	return !stat(a, &x) && !stat(b, &y) && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

/* True if a list of folders contains that of the file. */
static bool lists_folder_of(const char *list, const char *path)
{
	size_t size = (size_t)(strrchr(path, '/') - path);

	for (const char *at = list; at && *at; at = strchr(at, ':') ? strchr(at, ':') + 1 : NULL)
		if (!strncmp(at, path, size) && strchr(":/", at[size]))
			return true;
	return false;
}

/* Which layer a program gets that sets only the variables of Level Zero's own tracker, and why. */
static void check_layer_by_name(struct gt_doctor *d, const char *own)
{
	static char text[1 << 12];
	char path[PATH_MAX] = "";
	const char *other = getenv("ZEL_LIBRARY_PATH");

	gt_child_explore(find_layer, NULL, text, sizeof text);
	if (other && *other)
		gt_doctor_say(d, GT_FINDING_NOTE, "by variables",
			      "ZEL_LIBRARY_PATH is set: newer loaders take the layer in %s", other);
	else if (!gt_child_first(text, "path", path, sizeof path))
		gt_doctor_say(d, GT_FINDING_NOTE, "by variables", "no validation layer is found");
	else if (is_same_file(path, own))
		gt_doctor_say(d, GT_FINDING_GOOD, "by variables",
			      "gputrack's layer is found, by %s",
			      lists_folder_of(getenv("LD_LIBRARY_PATH"), path) ?
				      "LD_LIBRARY_PATH" :
				      "the linker's configuration (/etc/ld.so.conf.d)");
	else
		gt_doctor_say(d, GT_FINDING_NOTE, "by variables",
			      "the system's own layer is found: %s", path);
	if (!(other && *other) && is_same_file(path, own))
		return;
	gt_doctor_remedy(
		d,
		"only without `gputrack run`: eval \"$(%s env levelzero)\", or for all users "
		"see doc/ENVIRONMENT.md",
		gt_tool_name());
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
	int status;

	if (gt_doctor_loads_none(d, "loader"))
		return false;
	status = gt_child_explore(explore, NULL, text, sizeof text);
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
	check_layer_by_name(d, path);
	return check_drivers(d, text, status);
}
