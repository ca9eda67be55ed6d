/* service.c - answers requests, with a cache of what it knows: problem 2 of doc/guide.md. */
#include "../opencl.h"

enum { REQUESTS = 400, CACHED = 512, ANSWER_BYTES = 256 * 1024, SCRATCH_BYTES = 1024 * 1024 };

struct entry {
	long key;
	cl_mem answer;
};

static struct entry cache[CACHED];
static size_t cached;

static cl_mem cache_find(long key)
{
	for (size_t i = 0; i < cached; i++)
		if (cache[i].key == key)
			return cache[i].answer;
	return NULL;
}

static cl_mem make_scratch(struct gpu *gpu)
{
	return gpu_buffer(gpu, SCRATCH_BYTES);
}

static cl_mem make_answer(struct gpu *gpu)
{
	return gpu_buffer(gpu, ANSWER_BYTES);
}

static cl_mem compute_answer(struct gpu *gpu)
{
	cl_mem scratch = make_scratch(gpu);
	cl_mem answer = make_answer(gpu);

	clReleaseMemObject(scratch);
	return answer;
}

/* Ten different questions come again and again; each request has a number of its own. */
static cl_mem handle_request(struct gpu *gpu, long request)
{
	long key = request % 10;
	cl_mem answer = cache_find(key);

	if (!answer && cached < CACHED) {
		answer = compute_answer(gpu);
		cache[cached++] = (struct entry){ key, answer };
	}
	return answer;
}

int main(void)
{
	struct gpu gpu;

	gpu_open(&gpu);
	for (long request = 0; request < REQUESTS; request++) {
		handle_request(&gpu, request);
		usleep(5000);
	}
	while (cached)
		clReleaseMemObject(cache[--cached].answer);
	gpu_close(&gpu);
	printf("answered %d requests\n", REQUESTS);
	return 0;
}
/* SPDX-License-Identifier: MIT */
