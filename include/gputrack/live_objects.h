/* SPDX-License-Identifier: MIT */
/*
 * live_objects.h - the OpenCL extension cl_altera_live_object_tracking, for any platform.
 *
 * The functions work while gputrack's OpenCL layer is loaded; otherwise they do nothing. Link with
 * -lgputrack_live, which brings the layer along where OPENCL_LAYERS is not set, or ask
 * clGetExtensionFunctionAddressForPlatform for them by name: then the layer is there under
 * `gputrack run ./app`, or with OPENCL_LAYERS naming libgputrack_opencl.so. doc/live-objects.md
 */
#ifndef GPUTRACK_LIVE_OBJECTS_H
#define GPUTRACK_LIVE_OBJECTS_H

#include <stddef.h>

#include <CL/cl.h>

#ifdef __cplusplus
extern "C" {
#endif

#define cl_altera_live_object_tracking    1
#define cl_intelfpga_live_object_tracking 1
#define cl_gputrack_live_object_stacks    1

/* From here on, remember the objects of this platform. */
void CL_API_CALL clTrackLiveObjectsIntelFPGA(cl_platform_id platform);
void CL_API_CALL clTrackLiveObjectsAltera(cl_platform_id platform);

typedef void(CL_CALLBACK *gputrack_report_fn)(void *user_data, void *object, const char *type_name,
					      cl_uint refcount);

/*
 * Calls `report_fn` once for each live object made since tracking began, the newest first, one call
 * at a time. No lock is held: the callback may make any OpenCL call and release any object. With a
 * wrong platform, or NULL for the callback, nothing happens.
 */
void CL_API_CALL clReportLiveObjectsIntelFPGA(cl_platform_id platform, gputrack_report_fn report_fn,
					      void *user_data);
void CL_API_CALL clReportLiveObjectsAltera(cl_platform_id platform, gputrack_report_fn report_fn,
					   void *user_data);

/* One frame of a creation stack. Text that is not known is NULL, a line that is not known is 0. */
typedef struct gputrack_frame {
	const char *function;
	const char *file;
	unsigned line;
	int inlined;        /* inlined into the next frame */
	const char *module; /* path of the executable or library */
	size_t offset;      /* address within it */
} gputrack_frame;

typedef struct gputrack_live_object {
	size_t struct_size; /* sizeof of this struct in the library: later ones are longer */
	void *object;
	const char *type_name;  /* "cl_mem" */
	const char *kind;       /* "buffer", "sub-buffer", "image", … */
	const char *created_by; /* "clCreateBuffer" */
	cl_uint refcount;       /* creations + retains - releases by the program */
	size_t size;            /* bytes; 0 for objects without */
	unsigned long thread;   /* the creating thread's id, as ps and gdb show it */
	cl_ulong time_ns;       /* CLOCK_MONOTONIC */
	size_t frame_count;
	const gputrack_frame *frames; /* innermost first; valid during the callback */
} gputrack_live_object;

typedef void(CL_CALLBACK *gputrack_report_stacks_fn)(void *user_data,
						     const gputrack_live_object *object);

/*
 * The same enumeration with what the extension's "Issue 1" asks for: size, creating thread, and
 * where the object was created, with file and line. Memory from clSVMAlloc and Intel's USM calls is
 * listed too.
 */
void CL_API_CALL clReportLiveObjectsWithStacksGPUTRACK(cl_platform_id platform,
						       gputrack_report_stacks_fn report_fn,
						       void *user_data);

typedef void(CL_API_CALL *clTrackLiveObjectsIntelFPGA_fn)(cl_platform_id);
typedef void(CL_API_CALL *clReportLiveObjectsIntelFPGA_fn)(cl_platform_id, gputrack_report_fn,
							   void *);
typedef void(CL_API_CALL *clReportLiveObjectsWithStacksGPUTRACK_fn)(cl_platform_id,
								    gputrack_report_stacks_fn,
								    void *);

#ifdef __cplusplus
}
#endif

#endif
