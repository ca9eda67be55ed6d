/* SPDX-License-Identifier: MIT */
/*
 * cuda_touches.c - blocks of device memory that GPU work uses, or does not: WHAT
 *
 *   all        a block for each case below; none is freed before the end
 *   blind      a block that no call names, and a kernel whose parameters nobody knows
 *   graph      the same with a graph
 *   many       a launch with 40 blocks in one parameter
 *   reload     two kernels of one address: the first one's code is unloaded
 *   cost N     N launches of a kernel with three pointers; ns for each
 */
#include <string.h>
#include <time.h>

#include "cuda_common.h"

enum { BYTES = 1 << 20, MANY = 40 };

static CUmodule module;

static void __attribute__((noinline)) allocate(CUdeviceptr *p, size_t bytes)
{
	need(cuMemAlloc_v2(p, bytes), "cuMemAlloc");
	/* no tail call: each case has a frame of its own */
	__asm__ volatile("" : : : "memory");
}

#define CASE(name)                                                                                 \
	static CUdeviceptr __attribute__((noinline)) name(void)                                    \
	{                                                                                          \
		CUdeviceptr p;                                                                     \
                                                                                                   \
		allocate(&p, BYTES);                                                               \
		return p;                                                                          \
	}
CASE(never_used)
CASE(only_set)
CASE(only_copied_to)
CASE(copied_out)
CASE(launched_with)
CASE(inside_a_struct)
CASE(packed)
CASE(by_a_kernel_of_the_runtime)
CASE(shared)
CASE(bound_to_a_texture)
CASE(written_by_rows)

static CUfunction function(const char *name)
{
	CUfunction f;

	need(cuModuleGetFunction(&f, module, name), "cuModuleGetFunction");
	return f;
}

static void launch(CUfunction f, void **params, void **extra)
{
	need(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, params, extra), "cuLaunchKernel");
}

static void with_arguments(void)
{
	CUdeviceptr plain = launched_with(), other = by_a_kernel_of_the_runtime();
	struct {
		int n, m;
		CUdeviceptr inside;
		double more[3];
	} big = { 1, 2, inside_a_struct() + 4096, { 0 } };
	int small = 3;
	void *params[] = { &plain, &small, &big };
	void *others[] = { &other };
	CUdeviceptr buffer[2] = { 7, packed() };
	size_t size = sizeof buffer;
	void *extra[] = { CU_LAUNCH_PARAM_BUFFER_POINTER, buffer, CU_LAUNCH_PARAM_BUFFER_SIZE,
			  &size, CU_LAUNCH_PARAM_END };
	CUlaunchConfig config = { .gridDimX = 1 };

	launch(function("add:8,4,40"), params, NULL);
	launch(function("kernel:8"), others, NULL);
	need(cuLaunchKernelEx(&config, function("packed:8,8"), NULL, extra), "cuLaunchKernelEx");
}

static void all(void)
{
	CUdeviceptr p = copied_out(), rows = written_by_rows();
	static char bytes[BYTES];
	CUDA_RESOURCE_DESC resource = { .resType = CU_RESOURCE_TYPE_LINEAR };
	CUDA_MEMCPY2D copy = { .srcMemoryType = CU_MEMORYTYPE_HOST,
			       .srcHost = bytes,
			       .srcPitch = 64,
			       .dstMemoryType = CU_MEMORYTYPE_DEVICE,
			       .dstDevice = rows,
			       .dstPitch = 128,
			       .WidthInBytes = 64,
			       .Height = 8 };
	CUipcMemHandle handle;
	CUtexObject texture;
	void *managed;

	never_used();
	need(cuMemsetD8_v2(only_set(), 0, BYTES), "cuMemsetD8");
	need(cuMemcpyHtoD_v2(only_copied_to(), bytes, BYTES), "cuMemcpyHtoD");
	need(cuMemsetD8Async(p, 0, BYTES, NULL), "cuMemsetD8Async");
	need(cuMemcpyDtoH_v2(bytes, p, BYTES), "cuMemcpyDtoH");
	need(cuMemcpy2D_v2(&copy), "cuMemcpy2D");
	with_arguments();
	need(cuIpcGetMemHandle(&handle, shared()), "cuIpcGetMemHandle");
	resource.res.linear.devPtr = bound_to_a_texture();
	need(cuTexObjectCreate(&texture, &resource, NULL, NULL), "cuTexObjectCreate");
	need(cuMemAllocManaged((CUdeviceptr *)&managed, BYTES, CU_MEM_ATTACH_GLOBAL), "managed");
}

static void blind(void)
{
	void *params[] = { &(int){ 0 } };

	never_used();
	launch(function("unknown"), params, NULL);
}

static void graph(void)
{
	CUgraph g;
	CUgraphExec exec;

	never_used();
	need(cuGraphCreate(&g, 0), "cuGraphCreate");
	need(cuGraphInstantiateWithFlags(&exec, g, 0), "cuGraphInstantiate");
	need(cuGraphLaunch(exec, NULL), "cuGraphLaunch");
}

static void many(void)
{
	struct {
		CUdeviceptr pointers[MANY];
	} all_of_them;
	void *params[] = { &all_of_them };

	for (int i = 0; i < MANY; i++)
		all_of_them.pointers[i] = launched_with();
	launch(function("foreach:320"), params, NULL);
}

static void reload(void)
{
	CUdeviceptr first = launched_with(), second = inside_a_struct();
	CUdeviceptr both[2] = { 0, second };
	void *params[] = { &first }, *others[] = { both };
	CUfunction f = function("one:8"), g = function("two:16");

	launch(f, params, NULL);
	need(cuModuleUnload(module), "cuModuleUnload");
	/* as a driver may: the same address, another kernel */
	memcpy((void *)f, (void *)g, 128 + 18 * sizeof(size_t));
	launch(f, others, NULL);
}

static void cost(long count)
{
	CUdeviceptr a = launched_with(), b = packed(), c = copied_out();
	CUfunction f = function("add:8,8,8,4");
	int n = 3;
	void *params[] = { &a, &b, &c, &n };

	for (int round = 0; round < 5; round++) {
		struct timespec begun, ended;

		clock_gettime(CLOCK_MONOTONIC, &begun);
		for (long i = 0; i < count; i++)
			launch(f, params, NULL);
		clock_gettime(CLOCK_MONOTONIC, &ended);
		printf("%.1f ns a launch\n", ((double)(ended.tv_sec - begun.tv_sec) * 1e9 +
					      (double)(ended.tv_nsec - begun.tv_nsec)) /
						     (double)count);
	}
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	CUcontext context;

	need(cuInit(0), "cuInit");
	need(cuCtxCreate_v2(&context, 0, 0), "cuCtxCreate");
	need(cuModuleLoadData(&module, "no code"), "cuModuleLoadData");
	if (!strcmp(what, "all"))
		all();
	else if (!strcmp(what, "blind"))
		blind();
	else if (!strcmp(what, "graph"))
		graph();
	else if (!strcmp(what, "many"))
		many();
	else if (!strcmp(what, "reload"))
		reload();
	else if (!strcmp(what, "cost") && argc > 2)
		cost(atol(argv[2]));
	else
		return 2;
	puts("done");
	return 0;
}
