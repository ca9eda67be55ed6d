/* SPDX-License-Identifier: MIT */
/* upload.c - uploads a picture, and takes a smaller one if it does not fit: problem 6 of
 * doc/guide.md. */
#include "../opencl.h"

enum { PICTURE_BYTES = 4 << 20, ROWS_BYTES = 256 * 1024 };

/* How much the device takes now: other programs use it, too. The night's second run has less. */
static size_t room_bytes(void)
{
	const char *night = getenv("NIGHT");

	return night && *night == '2' ? PICTURE_BYTES / 4 : PICTURE_BYTES;
}

static cl_mem upload(struct gpu *gpu, size_t size_bytes)
{
	cl_mem picture = gpu_buffer(gpu, size_bytes), rows = gpu_buffer(gpu, ROWS_BYTES);

	if (size_bytes > room_bytes())
		return upload(gpu, size_bytes / 4);
	clReleaseMemObject(rows);
	return picture;
}

int main(void)
{
	struct gpu gpu;
	cl_mem picture;

	gpu_open(&gpu);
	picture = upload(&gpu, PICTURE_BYTES);
	clReleaseMemObject(picture);
	gpu_close(&gpu);
	return 0;
}
