/* SPDX-License-Identifier: MIT */
/* ten_leaks_opencl.c - ten OpenCL objects that are never released, and ten that are. */
#define CL_TARGET_OPENCL_VERSION          300
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS /* clCreateSampler: PoCL 3.1 has no other */
#include <CL/cl.h>

#include "ten_leaks.h"

enum { PLATFORMS_MAX = 16, BYTES = 65536, SIDE = 64 };

static const char *source = "kernel void nothing(global int *out) { out[0] = 1; }";
static cl_device_id device;
static cl_context context;
static cl_mem whole;
static cl_program built;
static cl_int error;

static cl_mem make_buffer(void)
{
	return clCreateBuffer(context, CL_MEM_READ_WRITE, BYTES, NULL, &error);
}

static cl_mem make_sub_buffer(void)
{
	cl_buffer_region half = { .origin = 0, .size = BYTES / 2 };

	return clCreateSubBuffer(whole, CL_MEM_READ_WRITE, CL_BUFFER_CREATE_TYPE_REGION, &half,
				 &error);
}

static cl_mem make_image(void)
{
	cl_image_format format = { CL_RGBA, CL_UNORM_INT8 };
	cl_image_desc desc = { .image_type = CL_MEM_OBJECT_IMAGE2D,
			       .image_width = SIDE,
			       .image_height = SIDE };

	return clCreateImage(context, CL_MEM_READ_WRITE, &format, &desc, NULL, &error);
}

static cl_sampler make_sampler(void)
{
	return clCreateSampler(context, CL_TRUE, CL_ADDRESS_CLAMP, CL_FILTER_NEAREST, &error);
}

static cl_program make_program(void)
{
	return clCreateProgramWithSource(context, 1, &source, NULL, &error);
}

static cl_kernel make_kernel(void)
{
	return clCreateKernel(built, "nothing", &error);
}

static cl_command_queue make_queue(void)
{
	return clCreateCommandQueueWithProperties(context, device, NULL, &error);
}

static cl_event make_event(void)
{
	return clCreateUserEvent(context, &error);
}

static void *make_shared_memory(void)
{
	return clSVMAlloc(context, CL_MEM_READ_WRITE, BYTES, 0);
}

static cl_context make_context(void)
{
	return clCreateContext(NULL, 1, &device, NULL, NULL, &error);
}

#define release_buffer(x)        must(clReleaseMemObject(x), "clReleaseMemObject")
#define release_sub_buffer(x)    must(clReleaseMemObject(x), "clReleaseMemObject")
#define release_image(x)         must(clReleaseMemObject(x), "clReleaseMemObject")
#define release_sampler(x)       must(clReleaseSampler(x), "clReleaseSampler")
#define release_program(x)       must(clReleaseProgram(x), "clReleaseProgram")
#define release_kernel(x)        must(clReleaseKernel(x), "clReleaseKernel")
#define release_queue(x)         must(clReleaseCommandQueue(x), "clReleaseCommandQueue")
#define release_event(x)         must(clReleaseEvent(x), "clReleaseEvent")
#define release_shared_memory(x) clSVMFree(context, x)
#define release_context(x)       must(clReleaseContext(x), "clReleaseContext")

#define KINDS(_)                                                                                   \
	_(buffer)                                                                                  \
	_(sub_buffer)                                                                              \
	_(image)                                                                                   \
	_(sampler)                                                                                 \
	_(program)                                                                                 \
	_(kernel)                                                                                  \
	_(queue)                                                                                   \
	_(event)                                                                                   \
	_(shared_memory)                                                                           \
	_(context)

KINDS(TEN_LEAKS_KIND)

static const struct ten_leaks_row rows[] = { KINDS(TEN_LEAKS_ROW) };

static void find_device(void)
{
	cl_platform_id platforms[PLATFORMS_MAX];
	cl_uint count = 0;

	must(clGetPlatformIDs(PLATFORMS_MAX, platforms, &count), "clGetPlatformIDs");
	for (cl_uint i = 0; i < count && i < PLATFORMS_MAX; i++)
		if (!clGetDeviceIDs(platforms[i], CL_DEVICE_TYPE_ALL, 1, &device, NULL))
			return;
	must(CL_DEVICE_NOT_FOUND, "clGetDeviceIDs");
}

int main(void)
{
	find_device();
	context = make_context();
	whole = make_buffer();
	built = make_program();
	must(clBuildProgram(built, 1, &device, "", NULL, NULL), "clBuildProgram");
	run_rows(rows, sizeof rows / sizeof *rows);
	must(error, "a create");
	release_program(built);
	release_buffer(whole);
	release_context(context);
	return 0;
}
