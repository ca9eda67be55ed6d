/* stages.c - passes data through six stages, from buffer to buffer: problem 3 of doc/guide.md. */
#include "../opencl.h"

enum { STAGES = 6, BUFFER_BYTES = 512 * 1024 * 1024, PART_BYTES = 4096 };

static cl_mem make_buffer(struct gpu *gpu)
{
	cl_mem_flags flags = CL_MEM_READ_WRITE | CL_MEM_ALLOC_HOST_PTR;
	cl_int error;

	return clCreateBuffer(gpu->context, flags, BUFFER_BYTES, NULL, &error);
}

static cl_mem load_input(struct gpu *gpu)
{
	return make_buffer(gpu);
}

static cl_mem run_stage(struct gpu *gpu, cl_mem from)
{
	cl_mem to = make_buffer(gpu);

	if (!to)
		return NULL;
	check(clEnqueueCopyBuffer(gpu->queue, from, to, 0, 0, PART_BYTES, 0, NULL, NULL),
	      "clEnqueueCopyBuffer");
	check(clFinish(gpu->queue), "clFinish");
	return to;
}

int main(void)
{
	cl_mem data[STAGES + 1] = { NULL };
	struct gpu gpu;
	int stage = 0;

	gpu_open(&gpu);
	data[0] = load_input(&gpu);
	while (stage < STAGES && data[stage]) {
		data[stage + 1] = run_stage(&gpu, data[stage]);
		stage++;
	}
	printf(data[stage] ? "passed %d stages\n" : "out of memory in stage %d\n", stage);
	for (int i = 0; i <= stage; i++)
		if (data[i])
			clReleaseMemObject(data[i]);
	gpu_close(&gpu);
	return stage < STAGES;
}
/* SPDX-License-Identifier: MIT */
