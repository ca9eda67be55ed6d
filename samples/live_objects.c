/*
 * live_objects: the sample of the extension cl_altera_live_object_tracking, with its gaps filled.
 *
 * The text between here and the end is the extension's own, in its own layout, so that the two
 * can be compared; what was added stands in for its `...`. Link with -lgputrack_live -lOpenCL:
 * the first answers the two calls, with or without gputrack around the program.
 * `live_objects --no-debug` runs without tracking.
 */
#define CL_TARGET_OPENCL_VERSION 300
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS /* clEnqueueTask, clCreateCommandQueue */
#undef NDEBUG				  /* CHECK makes its calls inside assert() */

/* clang-format off */
#include <CL/opencl.h>
#include <gputrack/live_objects.h>
#include <assert.h>
#include <stdio.h>
#include <string.h>
#define CHECK(X) assert(CL_SUCCESS == (X))

/* the extension's text says cl_platform, which no header has ever defined */
typedef cl_platform_id cl_platform;

#ifdef __clang__
#pragma clang diagnostic ignored "-Wself-assign" /* user_data below is the extension's text */
#endif

#ifdef cl_altera_live_object_tracking
// Define the callback used to enumerate each live OpenCL API object.
#ifdef __cplusplus
extern "C"
#endif
static void CL_CALLBACK show_live_obj(
   void *user_data,
   void* object,
   const char* type_name,
   cl_uint refcount )
{
   // We didn't need the user_data context in this example.
   // But maybe we could have used it to provide a logger object,
   // or an output file descriptor.
   user_data = user_data;

   printf(" Live %s object: %p refcount %u\n", type_name, object, refcount );
}
#endif

static const char *source =
   "kernel void increment(global int *counter) { *counter += 1; }";

int main(int argc, char **argv) {
   cl_platform platform = 0;
   cl_device_id device = 0;
   int debug_leaks = !( argc > 1 && !strcmp(argv[1], "--no-debug") );

   CHECK( clGetPlatformIDs(1,&platform,0) );

   #ifdef cl_altera_live_object_tracking
   // I want to list the live objects later.
   // Register this interest very soon after getting the platform handle.
   if ( debug_leaks ) clTrackLiveObjectsIntelFPGA(platform);
   #endif

   cl_int status = CL_SUCCESS;
   cl_int counter = 0;
   CHECK( clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, 0) );
   cl_context context = clCreateContext(0, 1, &device, 0, 0, &status);
   CHECK( status );
   cl_command_queue queue = clCreateCommandQueue(context, device, 0, &status);
   CHECK( status );
   cl_program program = clCreateProgramWithSource(context, 1, &source, 0, &status);
   CHECK( status );
   CHECK( clBuildProgram(program, 1, &device, 0, 0, 0) );
   cl_kernel kernel = clCreateKernel(program, "increment", &status);
   CHECK( status );
   cl_mem buffer = clCreateBuffer(context, CL_MEM_COPY_HOST_PTR, sizeof(counter), &counter,
      &status);
   CHECK( status );
   CHECK( clSetKernelArg(kernel, 0, sizeof(buffer), &buffer) );

   for ( int i = 0; i < 10 ;  i++ ) {
      // We leak these events, but don't know it until we use
      // the live object tracking and enumeration APIs.
      cl_event leaked_event, another;
      clEnqueueTask(queue, kernel, 0, 0, &leaked_event );
      clEnqueueReadBuffer(queue, buffer, CL_FALSE, 0, sizeof(counter), &counter,
         1, &leaked_event, &another );
      // The events are not released!
   }

   CHECK( clFinish(queue) );
   CHECK( clReleaseMemObject(buffer) );
   CHECK( clReleaseKernel(kernel) );
   CHECK( clReleaseProgram(program) );
   CHECK( clReleaseCommandQueue(queue) );
   CHECK( clReleaseContext(context) );

   // Request an enumeration of all the live objects.
   // We should see 20 leaked cl_event objects.
   #ifdef cl_altera_live_object_tracking
   if ( debug_leaks ) clReportLiveObjectsIntelFPGA( platform, show_live_obj, 0 );
   #endif

   printf("counted to %d\n", counter);
   return 0;
}
/* SPDX-License-Identifier: MIT */
