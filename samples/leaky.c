/*
 * leaky: adds vectors with OpenCL, and forgets to release some of what it made.
 *
 * Run it under gputrack to see what a report looks like. It leaks, on purpose:
 *   - 10 events from clEnqueueTask in start_addition(),
 *   - 10 events from clEnqueueReadBuffer in fetch_sum(),
 *   - 1 buffer of 1 MiB from clCreateBuffer in make_scratch_buffer().
 * Everything else is released. By default it runs on the first platform that has a device;
 * `leaky --platform SUBSTRING` picks one by its name.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#define CL_TARGET_OPENCL_VERSION 300
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS /* clEnqueueTask, clCreateCommandQueue */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <CL/cl.h>

#define ROUNDS	      10
#define LENGTH	      65536
#define VECTOR_BYTES  (LENGTH * sizeof(cl_float))
#define SCRATCH_BYTES (1024 * 1024)

/* A task is a kernel run by one work item, so the loop is in the kernel. */
static const char *add_source =
	"kernel void add(global float *sum, global const float *term, uint length)\n"
	"{\n"
	"	for (uint i = 0; i < length; i++)\n"
	"		sum[i] += term[i];\n"
	"}\n";

struct adder {
	cl_context context;
	cl_command_queue queue;
	cl_program program;
	cl_kernel kernel;
	cl_mem sum;
	cl_mem term;
};

static void check(cl_int err, const char *what)
{
	if (err == CL_SUCCESS)
		return;
	fprintf(stderr, "leaky: %s failed: error %d\n", what, (int)err);
	exit(1);
}

static cl_device_id find_device(const char *wanted)
{
	cl_platform_id platforms[16];
	cl_uint count = 0;

	clGetPlatformIDs(16, platforms, &count);
	for (cl_uint i = 0; i < count && i < 16; i++) {
		char name[256] = "";
		cl_device_id device;

		clGetPlatformInfo(platforms[i], CL_PLATFORM_NAME, sizeof(name), name, NULL);
		if (wanted && !strcasestr(name, wanted))
			continue;
		if (!clGetDeviceIDs(platforms[i], CL_DEVICE_TYPE_ALL, 1, &device, NULL))
			return device;
	}
	fprintf(stderr, "leaky: no OpenCL device found\n");
	exit(77);
}

static cl_mem make_vector(struct adder *a, cl_float value)
{
	static cl_float values[LENGTH];
	cl_int err;
	cl_mem vector;

	for (size_t i = 0; i < LENGTH; i++)
		values[i] = value;
	vector = clCreateBuffer(a->context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, VECTOR_BYTES,
				values, &err);
	check(err, "clCreateBuffer");
	return vector;
}

/* Leak: the caller reads nothing but its size, and nobody releases it. */
static cl_mem make_scratch_buffer(struct adder *a)
{
	cl_int err;
	cl_mem scratch = clCreateBuffer(a->context, CL_MEM_READ_WRITE, SCRATCH_BYTES, NULL, &err);

	check(err, "clCreateBuffer");
	return scratch;
}

static void adder_init(struct adder *a, cl_device_id device)
{
	const cl_uint length = LENGTH;
	cl_int err;

	a->context = clCreateContext(NULL, 1, &device, NULL, NULL, &err);
	check(err, "clCreateContext");
	a->queue = clCreateCommandQueue(a->context, device, 0, &err);
	check(err, "clCreateCommandQueue");
	a->program = clCreateProgramWithSource(a->context, 1, &add_source, NULL, &err);
	check(err, "clCreateProgramWithSource");
	check(clBuildProgram(a->program, 1, &device, NULL, NULL, NULL), "clBuildProgram");
	a->kernel = clCreateKernel(a->program, "add", &err);
	check(err, "clCreateKernel");

	a->sum = make_vector(a, 0.0f);
	a->term = make_vector(a, 1.5f);
	check(clSetKernelArg(a->kernel, 0, sizeof(a->sum), &a->sum), "clSetKernelArg");
	check(clSetKernelArg(a->kernel, 1, sizeof(a->term), &a->term), "clSetKernelArg");
	check(clSetKernelArg(a->kernel, 2, sizeof(length), &length), "clSetKernelArg");
}

static void adder_fini(struct adder *a)
{
	clReleaseMemObject(a->term);
	clReleaseMemObject(a->sum);
	clReleaseKernel(a->kernel);
	clReleaseProgram(a->program);
	clReleaseCommandQueue(a->queue);
	clReleaseContext(a->context);
}

/* Leak: the event is handed on to wait for, and then forgotten. */
static cl_event start_addition(struct adder *a)
{
	cl_event added;

	check(clEnqueueTask(a->queue, a->kernel, 0, NULL, &added), "clEnqueueTask");
	return added;
}

/* Leak: the read's event is waited for, but waiting does not release it. */
static void fetch_sum(struct adder *a, cl_event added, cl_float *sum)
{
	cl_event fetched;

	check(clEnqueueReadBuffer(a->queue, a->sum, CL_FALSE, 0, VECTOR_BYTES, sum, 1, &added,
				  &fetched),
	      "clEnqueueReadBuffer");
	check(clWaitForEvents(1, &fetched), "clWaitForEvents");
}

int main(int argc, char **argv)
{
	const char *wanted = argc == 3 && !strcmp(argv[1], "--platform") ? argv[2] : NULL;
	static cl_float sum[LENGTH];
	const cl_float expected = ROUNDS * 1.5f;
	size_t scratch_bytes = 0;
	size_t wrong = 0;
	struct adder a;

	if (argc > 1 && !wanted) {
		fprintf(stderr, "usage: leaky [--platform SUBSTRING]\n");
		return 1;
	}
	adder_init(&a, find_device(wanted));
	check(clGetMemObjectInfo(make_scratch_buffer(&a), CL_MEM_SIZE, sizeof(scratch_bytes),
				 &scratch_bytes, NULL),
	      "clGetMemObjectInfo");
	for (int round = 0; round < ROUNDS; round++)
		fetch_sum(&a, start_addition(&a), sum);
	adder_fini(&a);

	for (size_t i = 0; i < LENGTH; i++)
		wrong += sum[i] != expected;
	printf("added %d vectors of %d numbers with %zu bytes of scratch: ", ROUNDS, LENGTH,
	       scratch_bytes);
	if (wrong) {
		printf("%zu sums are wrong\n", wrong);
		return 1;
	}
	printf("every sum is %.1f\n", expected);
	return 0;
}
/* SPDX-License-Identifier: MIT */
