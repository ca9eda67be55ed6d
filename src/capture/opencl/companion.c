/*
 * companion.c - libgputrack_live.so: the live-object functions for programs that link them.
 *
 * Each asks the loader for the layer's function of the same name, and does nothing without a layer.
 * By name alone: asking for a platform would make the loader follow a wrong platform's pointer.
 */
#define CL_TARGET_OPENCL_VERSION 300
#define CL_USE_DEPRECATED_OPENCL_1_1_APIS
#include "gputrack/live_objects.h"

#define EXPORT __attribute__((visibility("default")))

EXPORT void CL_API_CALL clTrackLiveObjectsIntelFPGA(cl_platform_id platform)
{
	clTrackLiveObjectsIntelFPGA_fn track = (clTrackLiveObjectsIntelFPGA_fn)
		clGetExtensionFunctionAddress("clTrackLiveObjectsIntelFPGA");

	if (track)
		track(platform);
}

EXPORT void CL_API_CALL clTrackLiveObjectsAltera(cl_platform_id platform)
{
	clTrackLiveObjectsIntelFPGA(platform);
}

EXPORT void CL_API_CALL clReportLiveObjectsIntelFPGA(cl_platform_id platform,
						     gputrack_report_fn report_fn, void *user_data)
{
	clReportLiveObjectsIntelFPGA_fn report = (clReportLiveObjectsIntelFPGA_fn)
		clGetExtensionFunctionAddress("clReportLiveObjectsIntelFPGA");

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
	clReportLiveObjectsWithStacksGPUTRACK_fn report = (clReportLiveObjectsWithStacksGPUTRACK_fn)
		clGetExtensionFunctionAddress("clReportLiveObjectsWithStacksGPUTRACK");

	if (report)
		report(platform, report_fn, user_data);
}
