/*
 * attach_leaky.cu - a program with the runtime linked in (nvcc's default) that is attached to in
 * mid-run: BEFORE allocations, a line on stdin, PAIRS of allocate and free, KEPT allocations, the
 * first ones freed, another line, the end.
 */
#include <cstdio>
#include <cstdlib>

#include <cuda_runtime.h>

enum { BEFORE = 10, PAIRS = 20000, KEPT = 7 };

static void need(cudaError_t e)
{
	if (e != cudaSuccess) {
		fprintf(stderr, "%s\n", cudaGetErrorString(e));
		exit(1);
	}
}

static void *__attribute__((noinline)) keep_block(size_t size)
{
	void *block;

	need(cudaMalloc(&block, size));
	return block;
}

int main()
{
	void *before[BEFORE], *block;
	char line[16];

	need(cudaFree(0));
	for (int i = 0; i < BEFORE; i++)
		need(cudaMalloc(&before[i], 4096));
	puts("ready");
	fflush(stdout);
	if (!fgets(line, sizeof line, stdin))
		return 1;
	for (int i = 0; i < PAIRS; i++) {
		need(cudaMalloc(&block, 2048));
		need(cudaFree(block));
	}
	for (int i = 0; i < KEPT; i++)
		keep_block(4096 * (i + 1));
	for (int i = 0; i < BEFORE; i++)
		need(cudaFree(before[i]));
	puts("done");
	fflush(stdout);
	if (!fgets(line, sizeof line, stdin))
		return 1;
	/* compute-sanitizer judges when the context dies */
	need(cudaDeviceReset());
	return 0;
}
