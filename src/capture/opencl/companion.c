/* SPDX-License-Identifier: MIT */
/*
 * companion.c - libgputrack_live.so: the live-object functions for programs that link them.
 *
 * Each asks the loader for the layer's function of the same name, and does nothing without a layer.
 * It asks without a platform: the loader would dereference an invalid one. If the environment names
 * no layers, we add ours.
 */
#define CL_TARGET_OPENCL_VERSION 300
#define CL_USE_DEPRECATED_OPENCL_1_1_APIS
#include "gputrack/live_objects.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "base/guest_file.h"

#define EXPORT __attribute__((visibility("default")))
#define LAYER  "libgputrack_opencl.so"

static bool was_set; /* OPENCL_LAYERS, by the user: not changed */

/* Beside this library in a build folder, or in a subfolder when installed. */
static bool find_layer(char *path, size_t size)
{
	static const char *const places[] = { "", "gputrack/" };
	char own[PATH_MAX];
	Dl_info info;
	int folder;

	if (!dladdr(&was_set, &info) || !info.dli_fname || !realpath(info.dli_fname, own))
		return false;
	folder = (int)(strrchr(own, '/') - own);
	for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
		int used = snprintf(path, size, "%.*s/%s" LAYER, folder, own, places[i]);

		if (used > 0 && (size_t)used < size && !access(path, R_OK))
			return true;
	}
	return false;
}

/*
 * Runs before main, and so before the first call, at which the loader reads the environment. The
 * environment of a setuid program is neither trusted nor changed.
 */
__attribute__((constructor)) static void add_layer(void)
{
	char path[PATH_MAX];

	was_set = getauxval(AT_SECURE) || secure_getenv("OPENCL_LAYERS");
	if (!was_set && find_layer(path, sizeof path))
		setenv("OPENCL_LAYERS", path, 0);
}

/* Warns once that tracking was requested but the loader has not loaded our layer. */
static void warn_without_layer(void)
{
	static const char line[] =
		"gputrack: live objects are not tracked: the OpenCL loader has not loaded " LAYER
		"; run the program with `gputrack run`, or name that file in OPENCL_LAYERS\n";
	static atomic_flag has_warned = ATOMIC_FLAG_INIT;

	if (!was_set && !atomic_flag_test_and_set(&has_warned))
		gt_write_without_signals(STDERR_FILENO, line, sizeof line - 1, true);
}

EXPORT void CL_API_CALL clTrackLiveObjectsIntelFPGA(cl_platform_id platform)
{
	clTrackLiveObjectsIntelFPGA_fn track =
		(clTrackLiveObjectsIntelFPGA_fn)clGetExtensionFunctionAddress(
			"clTrackLiveObjectsIntelFPGA");

	if (track)
		track(platform);
	else
		warn_without_layer();
}

EXPORT void CL_API_CALL clTrackLiveObjectsAltera(cl_platform_id platform)
{
	clTrackLiveObjectsIntelFPGA(platform);
}

EXPORT void CL_API_CALL clReportLiveObjectsIntelFPGA(cl_platform_id platform,
						     gputrack_report_fn report_fn, void *user_data)
{
	clReportLiveObjectsIntelFPGA_fn report =
		(clReportLiveObjectsIntelFPGA_fn)clGetExtensionFunctionAddress(
			"clReportLiveObjectsIntelFPGA");

	if (report)
		report(platform, report_fn, user_data);
}

EXPORT void CL_API_CALL clReportLiveObjectsAltera(cl_platform_id platform,
						  gputrack_report_fn report_fn, void *user_data)
{
	clReportLiveObjectsIntelFPGA(platform, report_fn, user_data);
}

EXPORT void CL_API_CALL clReportLiveObjectsWithStacksGPUTRACK(cl_platform_id platform,
							      gputrack_report_stacks_fn report_fn,
							      void *user_data)
{
	clReportLiveObjectsWithStacksGPUTRACK_fn report =
		(clReportLiveObjectsWithStacksGPUTRACK_fn)clGetExtensionFunctionAddress(
			"clReportLiveObjectsWithStacksGPUTRACK");

	if (report)
		report(platform, report_fn, user_data);
}
