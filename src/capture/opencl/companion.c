/* SPDX-License-Identifier: MIT */
/*
 * companion.c - libgputrack_live.so: the live-object functions for programs that link them.
 *
 * Each asks the loader for the layer's function of the same name, and does nothing without a layer.
 * By name alone: asking for a platform would make the loader follow a wrong platform's pointer.
 * Where nobody has said which layers the loader is to take, it is to take ours.
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

static bool was_set; /* by somebody else: layers are as he wants them */

/* Beside this library, as it is built, or in a folder of its own, as it is installed. */
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
 * Before main, and so before anybody else looks at the environment, or makes the first call, at
 * which a loader reads it. Not for a setuid program, whose environment is not to be trusted, nor
 * changed.
 */
__attribute__((constructor)) static void bring_the_layer(void)
{
	char path[PATH_MAX];

	was_set = getauxval(AT_SECURE) || secure_getenv("OPENCL_LAYERS");
	if (!was_set && find_layer(path, sizeof path))
		setenv("OPENCL_LAYERS", path, 0);
}

/* Who asks for tracking and has it switched off nowhere is told, once, that there is none. */
static void tell_there_is_no_layer(void)
{
	static const char line[] =
		"gputrack: live objects are not tracked: the OpenCL loader has not taken " LAYER
		"; run the program with `gputrack run`, or name that file in OPENCL_LAYERS\n";
	static atomic_flag told = ATOMIC_FLAG_INIT;

	if (!was_set && !atomic_flag_test_and_set(&told))
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
		tell_there_is_no_layer();
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
