/* SPDX-License-Identifier: MIT */
/* system_look.c - queries drivers for GPUs and file systems for free space, in a child process. */
#include <dlfcn.h>
#include <inttypes.h>
#include <mntent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include "base/mem.h"
#include "base/tool.h"
#include "cli/doctor/doctor.h"
#include "cli/driver_abi.h"
#include "cli/nvml.h"
#include "cli/doctor/system.h"

enum { FOUND_MAX = 1 << 16, HANDLES_MAX = 64, MIB = 1 << 20 };

static void explore_nvidia(FILE *out, const void *unused)
{
	char why[256], driver[GT_NVML_NAME], text[GT_NVML_NAME];
	struct gt_nvml *nvml = gt_nvml_open(why, sizeof why);

	(void)unused;
	if (!nvml)
		return;
	gt_nvml_driver(nvml, driver);
	for (unsigned i = 0; i < gt_nvml_count(nvml); i++) {
		uint64_t total = 0, used = 0, available = 0;

		gt_child_tell_number(out, "index", i);
		gt_nvml_name(nvml, i, text);
		gt_child_tell(out, "name", text);
		gt_nvml_uuid(nvml, i, text);
		gt_child_tell(out, "uuid", text);
		gt_child_tell(out, "driver", driver);
		gt_nvml_memory(nvml, i, &total, &used, &available);
		gt_child_tell_number(out, "total", (int64_t)total);
		gt_child_tell_number(out, "used", (int64_t)used);
		gt_child_tell_number(out, "free", (int64_t)available);
		gt_child_tell_number(out, "busy", gt_nvml_busy(nvml, i));
		fflush(out);
	}
	gt_nvml_close(nvml);
}

static void explore_levelzero(FILE *out, const void *unused)
{
	const char *why;
	void *library = gt_tool_load(GT_ZE_LIBRARY, RTLD_NOW | RTLD_LOCAL, &why);
	void *drivers[HANDLES_MAX], *devices[HANDLES_MAX];
	gt_ze_init_fn *init = NULL;
	gt_ze_get_drivers_fn *get_drivers = NULL;
	gt_ze_get_devices_fn *get_devices = NULL;
	gt_ze_get_properties_fn *get_properties = NULL;
	gt_ze_get_memory_fn *get_memory = NULL;
	uint32_t count = HANDLES_MAX;

	(void)unused;
	if (library) {
		init = (gt_ze_init_fn *)dlsym(library, "zeInit");
		get_drivers = (gt_ze_get_drivers_fn *)dlsym(library, "zeDriverGet");
		get_devices = (gt_ze_get_devices_fn *)dlsym(library, "zeDeviceGet");
		get_properties = (gt_ze_get_properties_fn *)dlsym(library, "zeDeviceGetProperties");
		get_memory = (gt_ze_get_memory_fn *)dlsym(library, "zeDeviceGetMemoryProperties");
	}
	if (!init || !get_drivers || !get_devices || !get_properties || !get_memory || init(0) ||
	    get_drivers(&count, drivers))
		return;
	for (uint32_t i = 0; i < count; i++) {
		uint32_t found = HANDLES_MAX;

		if (get_devices(drivers[i], &found, devices))
			continue;
		for (uint32_t k = 0; k < found; k++) {
			struct gt_ze_device_properties p = { .stype = GT_ZE_DEVICE_PROPERTIES };
			struct gt_ze_memory_properties m = {
				.stype = GT_ZE_DEVICE_MEMORY_PROPERTIES
			};
			char text[512];
			uint32_t one = 1;

			if (get_properties(devices[k], &p) || get_memory(devices[k], &one, &m))
				continue;
			snprintf(text, sizeof text, "%.255s, %" PRIu64 " MiB", p.name,
				 m.total_size / MIB);
			gt_child_tell(out, "device", text);
			fflush(out);
		}
	}
}

static void explore_opencl(FILE *out, const void *unused)
{
	const char *why;
	void *library = gt_tool_load(GT_CL_LIBRARY, RTLD_NOW | RTLD_LOCAL, &why);
	void *platforms[HANDLES_MAX], *devices[HANDLES_MAX];
	gt_cl_get_platforms_fn *get_platforms = NULL;
	gt_cl_get_devices_fn *get_devices = NULL;
	gt_cl_get_info_fn *platform_info = NULL, *device_info = NULL;
	uint32_t count = 0;

	(void)unused;
	if (library) {
		get_platforms = (gt_cl_get_platforms_fn *)dlsym(library, "clGetPlatformIDs");
		get_devices = (gt_cl_get_devices_fn *)dlsym(library, "clGetDeviceIDs");
		platform_info = (gt_cl_get_info_fn *)dlsym(library, "clGetPlatformInfo");
		device_info = (gt_cl_get_info_fn *)dlsym(library, "clGetDeviceInfo");
	}
	if (!get_platforms || !get_devices || !platform_info || !device_info ||
	    get_platforms(HANDLES_MAX, platforms, &count))
		return;
	for (uint32_t i = 0; i < count && i < HANDLES_MAX; i++) {
		uint32_t found = 0;

		if (get_devices(platforms[i], GT_CL_DEVICE_TYPE_ALL, HANDLES_MAX, devices, &found))
			continue;
		for (uint32_t k = 0; k < found && k < HANDLES_MAX; k++) {
			char platform[256] = "?", device[256] = "?", driver[128] = "?", text[768];
			uint64_t bytes = 0;

			platform_info(platforms[i], GT_CL_PLATFORM_NAME, sizeof platform, platform,
				      NULL);
			device_info(devices[k], GT_CL_DEVICE_NAME, sizeof device, device, NULL);
			device_info(devices[k], GT_CL_DRIVER_VERSION, sizeof driver, driver, NULL);
			device_info(devices[k], GT_CL_DEVICE_GLOBAL_MEM_SIZE, sizeof bytes, &bytes,
				    NULL);
			snprintf(text, sizeof text, "%s, %s, %s, %" PRIu64 " MiB", device, platform,
				 driver, bytes / MIB);
			gt_child_tell(out, "device", text);
			fflush(out);
		}
	}
}

/* Counts every file system once, however often it is mounted. */
static void explore_disks(FILE *out, const void *unused)
{
	FILE *mounts = setmntent("/proc/self/mounts", "re");
	struct gt_disks sum = { 0 };
	dev_t *seen = NULL;
	size_t count = 0, room = 0, i;
	struct mntent *m;

	(void)unused;
	while (mounts && (m = getmntent(mounts))) {
		struct statvfs fs;
		struct stat st;

		if (stat(m->mnt_dir, &st) || statvfs(m->mnt_dir, &fs) || !fs.f_blocks)
			continue;
		for (i = 0; i < count && seen[i] != st.st_dev; i++)
			;
		if (i < count)
			continue;
		GT_GROW(seen, count, room);
		seen[count++] = st.st_dev;
		sum.size_bytes += (uint64_t)fs.f_blocks * fs.f_frsize;
		sum.used_bytes += (uint64_t)(fs.f_blocks - fs.f_bfree) * fs.f_frsize;
		sum.available_bytes += (uint64_t)fs.f_bavail * fs.f_frsize;
	}
	gt_child_tell_number(out, "size", (int64_t)sum.size_bytes);
	gt_child_tell_number(out, "used", (int64_t)sum.used_bytes);
	gt_child_tell_number(out, "available", (int64_t)sum.available_bytes);
}

static uint64_t next_number(const char **at, const char *key)
{
	char text[32] = "0";

	gt_child_next(at, key, text, sizeof text);
	return strtoull(text, NULL, 10);
}

static void take_nvidia(struct gt_system *s, const char *found)
{
	enum { ROOM = sizeof s->gpus / sizeof *s->gpus };
	char index[32];

	while (s->gpu_count < ROOM && gt_child_next(&found, "index", index, sizeof index)) {
		struct gt_nvidia_gpu *g = &s->gpus[s->gpu_count++];

		g->index = (unsigned)strtoul(index, NULL, 10);
		gt_child_next(&found, "name", g->name, sizeof g->name);
		gt_child_next(&found, "uuid", g->uuid, sizeof g->uuid);
		gt_child_next(&found, "driver", g->driver, sizeof g->driver);
		g->total_bytes = next_number(&found, "total");
		g->used_bytes = next_number(&found, "used");
		g->free_bytes = next_number(&found, "free");
		g->busy_percent = (unsigned)next_number(&found, "busy");
	}
}

static void add_devices(FILE *others, const char *title, const char *found, int status)
{
	char text[1024];
	unsigned count = 0;

	for (; gt_child_next(&found, "device", text, sizeof text); count++)
		fprintf(others, "%s%u, %s\n", count ? "" : title, count, text);
	if (status)
		fprintf(others, "%s(a driver failed)\n", count ? "" : title);
}

void gt_system_look(struct gt_system *s)
{
	static char found[FOUND_MAX];
	const char *at = found;
	static char *others; /* never freed: s->others points to it */
	size_t size;
	FILE *lines = gt_memstream(&others, &size);
	int status;

	gt_child_explore(explore_disks, NULL, found, sizeof found);
	s->disks.size_bytes = next_number(&at, "size");
	s->disks.used_bytes = next_number(&at, "used");
	s->disks.available_bytes = next_number(&at, "available");
	gt_child_explore(explore_nvidia, NULL, found, sizeof found);
	take_nvidia(s, found);
	s->others = "";
	if (!lines)
		return;
	status = gt_child_explore(explore_levelzero, NULL, found, sizeof found);
	add_devices(lines, "[Level Zero devices]\n", found, status);
	status = gt_child_explore(explore_opencl, NULL, found, sizeof found);
	add_devices(lines, "[OpenCL devices]\n", found, status);
	gt_memstream_close(lines);
	s->others = others;
}
