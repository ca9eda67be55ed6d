/* SPDX-License-Identifier: MIT */
/*
 * opencl_calls.c - times OpenCL calls; bench/opencl.sh runs it bare and under the layer.
 *
 * Each thread has its own context: drivers lock theirs, and threads waiting for that lock would
 * hide the cost of the recorder.
 */
#define CL_TARGET_OPENCL_VERSION 300
#include <stdio.h>
#include <stdlib.h>

#include <CL/cl.h>

#include "calls.h"

enum { PLATFORMS_MAX = 16, BUFFER_BYTES = 4096, EVENTS_OF_SELF = 4 };

struct self {
	cl_context context;
	cl_mem buffer;
};

static void must(cl_int error, const char *what)
{
	if (error == CL_SUCCESS)
		return;
	fprintf(stderr, "opencl_calls: error %d from %s\n", (int)error, what);
	exit(1);
}

static void buffers(void *arg, long repeats)
{
	struct self *self = arg;

	for (long i = 0; i < repeats; i++) {
		cl_int error;
		cl_mem buffer = clCreateBuffer(self->context, CL_MEM_READ_WRITE, BUFFER_BYTES, NULL,
					       &error);

		must(error, "clCreateBuffer");
		must(clReleaseMemObject(buffer), "clReleaseMemObject");
	}
}

static void references(void *arg, long repeats)
{
	struct self *self = arg;

	for (long i = 0; i < repeats; i++) {
		must(clRetainMemObject(self->buffer), "clRetainMemObject");
		must(clReleaseMemObject(self->buffer), "clReleaseMemObject");
	}
}

static void user_events(void *arg, long repeats)
{
	struct self *self = arg;

	for (long i = 0; i < repeats; i++) {
		cl_int error;
		cl_event event = clCreateUserEvent(self->context, &error);

		must(error, "clCreateUserEvent");
		must(clReleaseEvent(event), "clReleaseEvent");
	}
}

/* A call that yields no event is only announced, in case the process ends in it. */
static void without_event(void *arg, long repeats)
{
	(void)arg;
	for (long i = 0; i < repeats; i++)
		if (clReleaseEvent(NULL) == CL_SUCCESS)
			must(CL_INVALID_EVENT, "clReleaseEvent");
}

static void queries(void *arg, long repeats)
{
	struct self *self = arg;

	for (long i = 0; i < repeats; i++) {
		cl_uint devices;

		must(clGetContextInfo(self->context, CL_CONTEXT_NUM_DEVICES, sizeof devices,
				      &devices, NULL),
		     "clGetContextInfo");
	}
}

static const struct bench_case cases[] = {
	{ .name = "create + release, 4 KiB buffer", .calls = 2, .events = 2, .run = buffers },
	{ .name = "retain + release, buffer", .calls = 2, .events = 2, .run = references },
	{ .name = "create + release, user event", .calls = 2, .events = 2, .run = user_events },
	{ .name = "release of NULL, no event", .calls = 1, .events = 0, .run = without_event },
	{ .name = "query, not tracked", .calls = 1, .events = 0, .run = queries },
};

/* The first device of the first platform that has one. */
static cl_device_id find_device(void)
{
	cl_platform_id platforms[PLATFORMS_MAX];
	cl_uint count = 0;
	char name[128];

	must(clGetPlatformIDs(PLATFORMS_MAX, platforms, &count), "clGetPlatformIDs");
	for (cl_uint i = 0; i < count && i < PLATFORMS_MAX; i++) {
		cl_device_id device;

		if (clGetDeviceIDs(platforms[i], CL_DEVICE_TYPE_ALL, 1, &device, NULL))
			continue;
		must(clGetPlatformInfo(platforms[i], CL_PLATFORM_NAME, sizeof name, name, NULL),
		     "clGetPlatformInfo");
		printf("driver\t%s\n", name);
		return device;
	}
	fprintf(stderr, "opencl_calls: no OpenCL device\n");
	exit(1);
}

int main(int argc, char **argv)
{
	struct bench_plan plan = { .cases = cases,
				   .case_count = sizeof cases / sizeof *cases,
				   .rounds = bench_rounds(argc, argv, 3) };
	static struct self selves[BENCH_THREADS_MAX];
	cl_device_id device = find_device();
	struct bench_total total;

	for (int i = 0; i < BENCH_THREADS_MAX; i++) {
		cl_int error;

		selves[i].context = clCreateContext(NULL, 1, &device, NULL, NULL, &error);
		must(error, "clCreateContext");
		selves[i].buffer = clCreateBuffer(selves[i].context, CL_MEM_READ_WRITE,
						  BUFFER_BYTES, NULL, &error);
		must(error, "clCreateBuffer");
		plan.selves[i] = &selves[i];
	}
	total = bench_calls(&plan);
	for (int i = 0; i < BENCH_THREADS_MAX; i++) {
		must(clReleaseMemObject(selves[i].buffer), "clReleaseMemObject");
		must(clReleaseContext(selves[i].context), "clReleaseContext");
	}
	printf("calls\t%ld\nevents\t%ld\n", total.calls + BENCH_THREADS_MAX * EVENTS_OF_SELF,
	       total.events + BENCH_THREADS_MAX * EVENTS_OF_SELF);
	return 0;
}
