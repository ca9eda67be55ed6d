/* SPDX-License-Identifier: MIT */
/*
 * check_opencl.c - the doctor's check of OpenCL: loader, drivers, our layer.
 *
 * Needs no OpenCL headers, so that it works in builds without them too.
 */
#include <dirent.h>
#include <dlfcn.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "cli/doctor/doctor.h"
#include "cli/launch.h"
#include "cli/driver_abi.h"

#define DOOR      "libgputrack_opencl.so"
#define EXTENSION "cl_altera_live_object_tracking"
#define VENDORS   "/etc/OpenCL/vendors"

/* Numbered as in ocl-icd's loader. */
/* clang-format off */
enum {
	LOADER_VERSION = 2, LOADER_NAME = 3, LOADER_VENDOR = 4,
	HANDLES_MAX = 64, TEXT_MAX = 16384,
};
/* clang-format on */

typedef int32_t loader_info_fn(int what, size_t room, void *value, size_t *size);
typedef void *get_address_fn(const char *name);

static void tell_loader(FILE *out, void *loader)
{
	loader_info_fn *info = (loader_info_fn *)dlsym(loader, "clGetICDLoaderInfoOCLICD");
	get_address_fn *address = (get_address_fn *)dlsym(loader, "clGetExtensionFunctionAddress");
	char name[256] = "a loader without a name", version[128] = "", vendor[256] = "";

	if (!info && address)
		info = (loader_info_fn *)address("clGetICDLoaderInfoOCLICD");
	if (info) {
		info(LOADER_NAME, sizeof name, name, NULL);
		info(LOADER_VERSION, sizeof version, version, NULL);
		info(LOADER_VENDOR, sizeof vendor, vendor, NULL);
	}
	gt_child_tell(out, "loader", name);
	gt_child_tell(out, "version", version);
	gt_child_tell(out, "vendor", vendor);
}

static void tell_devices(FILE *out, void *loader, void *platform)
{
	gt_cl_get_devices_fn *get_devices = (gt_cl_get_devices_fn *)dlsym(loader, "clGetDeviceIDs");
	gt_cl_get_info_fn *get_info = (gt_cl_get_info_fn *)dlsym(loader, "clGetDeviceInfo");
	void *devices[HANDLES_MAX];
	uint32_t count = 0;

	if (!get_devices || !get_info ||
	    get_devices(platform, GT_CL_DEVICE_TYPE_ALL, HANDLES_MAX, devices, &count))
		return;
	for (uint32_t i = 0; i < count && i < HANDLES_MAX; i++) {
		char name[1024] = "?";

		get_info(devices[i], GT_CL_DEVICE_NAME, sizeof name, name, NULL);
		gt_child_tell(out, "device", name);
	}
}

/* In the child: loads OpenCL as a program would, with or without our layer; reports findings. */
static void explore(FILE *out, const void *layer)
{
	void *loader, *platforms[HANDLES_MAX];
	gt_cl_get_platforms_fn *get_platforms;
	gt_cl_get_info_fn *get_info;
	uint32_t count = 0;
	char *text;

	if (layer)
		setenv("OPENCL_LAYERS", layer, 1);
	else
		unsetenv("OPENCL_LAYERS");
	loader = gt_child_load(out, GT_CL_LIBRARY);
	if (!loader)
		return;
	tell_loader(out, loader);
	fflush(out);
	get_platforms = (gt_cl_get_platforms_fn *)dlsym(loader, "clGetPlatformIDs");
	get_info = (gt_cl_get_info_fn *)dlsym(loader, "clGetPlatformInfo");
	if (!get_platforms || !get_info || get_platforms(HANDLES_MAX, platforms, &count))
		return;
	text = calloc(1, TEXT_MAX);
	for (uint32_t i = 0; text && i < count && i < HANDLES_MAX; i++) {
		get_info(platforms[i], GT_CL_PLATFORM_NAME, TEXT_MAX - 1, text, NULL);
		gt_child_tell(out, "platform", text);
		get_info(platforms[i], GT_CL_PLATFORM_EXTENSIONS, TEXT_MAX - 1, text, NULL);
		gt_child_tell(out, "extension", strstr(text, EXTENSION) ? "yes" : "no");
		tell_devices(out, loader, platforms[i]);
		fflush(out);
	}
}

static bool check_loader(struct gt_doctor *d, const char *found, int status)
{
	char path[PATH_MAX], name[256], version[128], vendor[256];

	if (gt_child_first(found, "missing", path, sizeof path)) {
		gt_doctor_say(d, GT_FINDING_BAD, "loader", "%s", path);
		gt_doctor_remedy(d, "apt install ocl-icd-libopencl1");
		return false;
	}
	if (!*found) {
		gt_child_say_end(d, "loader", status);
		return false;
	}
	gt_child_first(found, "path", path, sizeof path);
	gt_child_first(found, "loader", name, sizeof name);
	gt_child_first(found, "version", version, sizeof version);
	gt_child_first(found, "vendor", vendor, sizeof vendor);
	gt_doctor_say(d, GT_FINDING_GOOD, "loader", "%s%s%s%s%s%s%s", name, *version ? " " : "",
		      version, *vendor ? " by " : "", vendor, *name ? ", " : "", path);
	return true;
}

static int is_icd(const struct dirent *entry)
{
	size_t length = strlen(entry->d_name);

	return length > 4 && !strcmp(entry->d_name + length - 4, ".icd");
}

static void check_drivers(struct gt_doctor *d)
{
	const char *given = getenv("OCL_ICD_VENDORS"), *folder = given && *given ? given : VENDORS;
	char list[1024] = "";
	struct dirent **entries;
	int count = scandir(folder, &entries, is_icd, alphasort);

	for (int i = 0; i < count; i++) {
		size_t used = strlen(list);

		snprintf(list + used, sizeof list - used, "%s%s", i ? ", " : "",
			 entries[i]->d_name);
		free(entries[i]);
	}
	if (count >= 0)
		free(entries);
	if (count > 0)
		gt_doctor_say(d, GT_FINDING_GOOD, "drivers", "%s in %s", list, folder);
	else if (given && *given)
		/* the loader accepts a file or a library here too */
		gt_doctor_say(d, GT_FINDING_NOTE, "drivers", "OCL_ICD_VENDORS=%s", given);
	else {
		gt_doctor_say(d, GT_FINDING_BAD, "drivers", "no driver in %s", folder);
		gt_doctor_remedy(d, "install your GPU vendor's driver, or PoCL for the CPU: apt "
				    "install pocl-opencl-icd");
	}
}

static void check_platforms(struct gt_doctor *d, const char *found, int status)
{
	char name[1024], device[1024];
	const char *at = found;
	unsigned platforms = 0;

	while (gt_child_next(&at, "platform", name, sizeof name)) {
		const char *end = strstr(at, "\nplatform\t"), *from = at;
		unsigned devices = 0;

		platforms++;
		while (gt_child_next(&from, "device", device, sizeof device) &&
		       (!end || from <= end + 1)) {
			gt_doctor_say(d, GT_FINDING_GOOD, "platform", "%s: %s", name, device);
			devices++;
		}
		if (!devices)
			gt_doctor_say(d, GT_FINDING_NOTE, "platform", "%s: no device", name);
	}
	if (status) {
		gt_child_say_end(d, "driver", status);
		gt_doctor_remedy(d, "find the faulty one by leaving out one driver at a time: "
				    "OCL_ICD_VENDORS=FOLDER gputrack doctor");
	} else if (!platforms) {
		gt_doctor_say(d, GT_FINDING_BAD, "platform", "no OpenCL platform responds");
		gt_doctor_remedy(
			d, "check the files above: each must name an installed driver library");
	}
}

/* With our layer, every platform must list the extension that the layer adds. */
static bool check_layer(struct gt_doctor *d, char *text, size_t size)
{
	char door[PATH_MAX], answer[16];
	const char *at = text;
	unsigned yes = 0, no = 0;
	int status;

	if (!gt_doors_find(door, sizeof door, DOOR)) {
		gt_doctor_say(d, GT_FINDING_BAD, "layer", DOOR " is not beside this program");
		gt_doctor_remedy(d, "reinstall gputrack, or rebuild it with -Dopencl=enabled");
		return false;
	}
	gt_doctor_say(d, GT_FINDING_GOOD, "layer", "%s", door);
	status = gt_child_explore(explore, door, text, size);
	while (gt_child_next(&at, "extension", answer, sizeof answer))
		*(strcmp(answer, "yes") ? &no : &yes) += 1;
	if (status) {
		gt_child_say_end(d, "self-test", status);
		return false;
	}
	if (!yes) {
		gt_doctor_say(d, GT_FINDING_BAD, "self-test",
			      no ? "the loader did not load the layer" :
				   "there is no platform to test the layer on");
		gt_doctor_remedy(d, no ? "use a loader that supports OPENCL_LAYERS: ocl-icd 2.3, "
					 "Khronos' of 2021, or later" :
					 "install an OpenCL driver first");
		return false;
	}
	gt_doctor_say(d, GT_FINDING_GOOD, "self-test", "the layer is loaded and works on %u %s",
		      yes, gt_plural(yes, "platform", "platforms"));
	return true;
}

bool gt_doctor_opencl(struct gt_doctor *d)
{
	static char text[1 << 16];
	int status;

	if (gt_doctor_loads_none(d, "loader"))
		return false;
	status = gt_child_explore(explore, NULL, text, sizeof text);
	if (!check_loader(d, text, status))
		return false;
	check_drivers(d);
	check_platforms(d, text, status);
	return check_layer(d, text, sizeof text);
}
