/* frames.c - clears an image buffer a thousand times and waits for each: problem 1 of doc/guide.md. */
#include "../opencl.h"

enum { FRAMES = 1000, FRAME_BYTES = 64 * 1024 };

static cl_event start_frame(struct gpu *gpu, cl_mem image, cl_uchar shade)
{
	cl_event done;

	check(clEnqueueFillBuffer(gpu->queue, image, &shade, sizeof(shade), 0, FRAME_BYTES, 0, NULL,
				  &done),
	      "clEnqueueFillBuffer");
	return done;
}

static void draw_frame(struct gpu *gpu, cl_mem image, cl_uchar shade)
{
	cl_event done = start_frame(gpu, image, shade);

	check(clWaitForEvents(1, &done), "clWaitForEvents");
}

int main(void)
{
	struct gpu gpu;
	cl_mem image;

	gpu_open(&gpu);
	image = gpu_buffer(&gpu, FRAME_BYTES);
	for (int i = 0; i < FRAMES; i++)
		draw_frame(&gpu, image, (cl_uchar)i);
	clReleaseMemObject(image);
	gpu_close(&gpu);
	printf("drew %d frames\n", FRAMES);
	return 0;
}
/* SPDX-License-Identifier: MIT */
