/* SPDX-License-Identifier: MIT */
/*
 * lifetimes.c - what ends with another CUDA resource, and what does not: one case at a time.
 * usage: lifetimes CASE | --list
 *
 * Each step prints what the driver answered; "freed: N" is the device memory, in MiB, that became
 * free since the case allocated it. The driver is opened at run time: no toolkit is needed there.
 * Build: cc -o lifetimes tests/gpu/lifetimes.c -I CUDA/include -ldl
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cuda_calls.h"

#define SAY(what, function, ...) printf("%s: %d\n", what, (int)CALL(function, __VA_ARGS__))

enum { MIB = 1 << 20, SIZE = 256 * MIB };

static CUdevice device;
static CUcontext context;
static size_t before;

static size_t free_bytes(void)
{
	size_t now, all;

	NEED(cuMemGetInfo, &now, &all);
	return now;
}

static void tell_freed(void)
{
	long mib = ((long)free_bytes() - (long)before) / MIB;

	printf("freed: %s\n", mib >= SIZE / MIB * 9 / 10 ? "yes" : "no");
}

static CUdeviceptr allocate(void)
{
	CUdeviceptr block;

	NEED(cuMemAlloc, &block, SIZE);
	before = free_bytes();
	return block;
}

/* Addresses inside a block. */

static void memory_freed_inside(void)
{
	CUdeviceptr block = allocate();

	SAY("inside", cuMemFree, block + 64);
	tell_freed();
	SAY("free", cuMemFree, block);
}

static void managed_freed_inside(void)
{
	CUdeviceptr block;

	NEED(cuMemAllocManaged, &block, MIB, CU_MEM_ATTACH_GLOBAL);
	SAY("inside", cuMemFree, block + 64);
	SAY("free", cuMemFree, block);
}

static void host_freed_inside(void)
{
	void *block;

	NEED(cuMemAllocHost, &block, MIB);
	SAY("inside", cuMemFreeHost, (char *)block + 64);
	SAY("free", cuMemFreeHost, block);
}

static void async_freed_inside(void)
{
	CUdeviceptr block;

	NEED(cuMemAllocAsync, &block, MIB, NULL);
	SAY("inside", cuMemFreeAsync, block + 256, NULL);
	SAY("free", cuMemFreeAsync, block, NULL);
	NEED(cuStreamSynchronize, NULL);
}

/* Contexts. */

/* A context of its own with one of each; destroying it ends them all. */
static void left_in_context(void)
{
	const CUDA_ARRAY_DESCRIPTOR desc = {
		.Width = 64, .Height = 64, .Format = CU_AD_FORMAT_FLOAT, .NumChannels = 1
	};
	CUresult (*create)(CUcontext *, unsigned, CUdevice) = address("cuCtxCreate_v2");
	CUdeviceptr block;
	CUcontext own;
	CUstream stream;
	CUevent event;
	CUarray array;
	void *host;

	need("cuCtxCreate_v2", create(&own, 0, device));
	NEED(cuMemAlloc, &block, SIZE);
	before = free_bytes();
	NEED(cuMemAllocHost, &host, MIB);
	NEED(cuStreamCreate, &stream, CU_STREAM_NON_BLOCKING);
	NEED(cuEventCreate, &event, CU_EVENT_DEFAULT);
	NEED(cuArrayCreate, &array, &desc);
	SAY("destroy", cuCtxDestroy, own);
	NEED(cuCtxSetCurrent, context);
	tell_freed();
}

/* Ends the only reference to the primary context: what it owns ends with it. */
static void left_in_primary_context(void)
{
	allocate();
	SAY("release", cuDevicePrimaryCtxRelease, device);
	NEED(cuDevicePrimaryCtxRetain, &context, device);
	NEED(cuCtxSetCurrent, context);
	tell_freed();
}

/* A second reference keeps it, and the memory. */
static void primary_context_kept(void)
{
	CUdeviceptr block = allocate();
	CUcontext again;

	NEED(cuDevicePrimaryCtxRetain, &again, device);
	printf("context: %s\n", again == context ? "the same" : "another");
	SAY("release", cuDevicePrimaryCtxRelease, device);
	tell_freed();
	SAY("free", cuMemFree, block);
}

/* After a reset the context is gone, though its reference is still counted: a question needs
 * another.
 */
static void left_at_reset(void)
{
	allocate();
	SAY("reset", cuDevicePrimaryCtxReset, device);
	NEED(cuDevicePrimaryCtxRetain, &context, device);
	NEED(cuCtxSetCurrent, context);
	tell_freed();
}

/* Memory pools. */

static CUmemoryPool make_pool(void)
{
	const CUmemPoolProps props = { .allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
				       .location = { .type = CU_MEM_LOCATION_TYPE_DEVICE,
						     .id = device } };
	CUmemoryPool pool;

	NEED(cuMemPoolCreate, &pool, &props);
	return pool;
}

/* The block lives on, and may be freed. */
static void block_after_pool(void)
{
	CUmemoryPool pool = make_pool();
	CUdeviceptr block;

	NEED(cuMemAllocFromPoolAsync, &block, MIB, pool, NULL);
	SAY("pool", cuMemPoolDestroy, pool);
	SAY("use", cuMemsetD8, block, 1, MIB);
	SAY("free", cuMemFreeAsync, block, NULL);
	NEED(cuStreamSynchronize, NULL);
}

static void block_left_in_pool(void)
{
	CUmemoryPool pool = make_pool();
	CUdeviceptr block;

	NEED(cuMemAllocFromPoolAsync, &block, MIB, pool, NULL);
	NEED(cuStreamSynchronize, NULL);
	SAY("pool", cuMemPoolDestroy, pool);
	SAY("use", cuMemsetD8, block, 1, MIB);
}

static void block_after_stream(void)
{
	CUdeviceptr block;
	CUstream stream;

	NEED(cuStreamCreate, &stream, CU_STREAM_NON_BLOCKING);
	NEED(cuMemAllocAsync, &block, MIB, stream);
	SAY("stream", cuStreamDestroy, stream);
	SAY("free", cuMemFreeAsync, block, NULL);
	NEED(cuStreamSynchronize, NULL);
}

/* Virtual memory: a mapping keeps its physical memory. */

static CUmemAllocationProp physical(void)
{
	return (CUmemAllocationProp){ .type = CU_MEM_ALLOCATION_TYPE_PINNED,
				      .location = { .type = CU_MEM_LOCATION_TYPE_DEVICE,
						    .id = device } };
}

/* Mapped, and its handle released. */
static CUdeviceptr map(CUmemGenericAllocationHandle *handle)
{
	const CUmemAllocationProp prop = physical();
	CUdeviceptr at;

	NEED(cuMemCreate, handle, SIZE, &prop, 0);
	before = free_bytes();
	NEED(cuMemAddressReserve, &at, SIZE, 0, 0, 0);
	NEED(cuMemMap, at, SIZE, 0, *handle, 0);
	SAY("release", cuMemRelease, *handle);
	tell_freed();
	return at;
}

static void unmap(CUdeviceptr at)
{
	SAY("unmap", cuMemUnmap, at, SIZE);
	tell_freed();
	NEED(cuMemAddressFree, at, SIZE);
}

static void memory_kept_by_mapping(void)
{
	CUmemGenericAllocationHandle handle;

	unmap(map(&handle));
}

/* The mapping is asked for its memory, which is retained after its last release. */
static void memory_retained_by_mapping(bool keep)
{
	CUmemGenericAllocationHandle handle, found;
	CUdeviceptr at = map(&handle);

	SAY("retain", cuMemRetainAllocationHandle, &found, (void *)at);
	printf("memory: %s\n", found == handle ? "the same" : "another");
	if (!keep)
		SAY("release", cuMemRelease, found);
	unmap(at);
}

static void memory_retained(void)
{
	memory_retained_by_mapping(false);
}

static void memory_retained_and_left(void)
{
	memory_retained_by_mapping(true);
}

/* Graphs, modules, arrays, events, IPC. */

static void exec_after_graph(void)
{
	CUgraphExec exec;
	CUgraphNode node;
	CUgraph graph;

	NEED(cuGraphCreate, &graph, 0);
	NEED(cuGraphAddEmptyNode, &node, graph, NULL, 0);
	NEED(cuGraphInstantiate, &exec, graph, 0);
	SAY("graph", cuGraphDestroy, graph);
	SAY("launch", cuGraphLaunch, exec, NULL);
	NEED(cuStreamSynchronize, NULL);
	SAY("exec", cuGraphExecDestroy, exec);
}

static void function_of_module(void)
{
	static const char code[] = ".version 7.0\n.target sm_50\n.address_size 64\n"
				   ".visible .entry one() { ret; }\n";
	CUfunction function;
	CUmodule module;

	NEED(cuModuleLoadData, &module, code);
	NEED(cuModuleGetFunction, &function, module, "one");
	SAY("unload", cuModuleUnload, module);
}

static void texture_after_array(void)
{
	const CUDA_ARRAY_DESCRIPTOR desc = {
		.Width = 64, .Height = 64, .Format = CU_AD_FORMAT_FLOAT, .NumChannels = 1
	};
	CUDA_RESOURCE_DESC resource = { .resType = CU_RESOURCE_TYPE_ARRAY };
	const CUDA_TEXTURE_DESC how = { .filterMode = CU_TR_FILTER_MODE_POINT };
	CUtexObject texture;
	CUarray array;

	NEED(cuArrayCreate, &array, &desc);
	resource.res.array.hArray = array;
	NEED(cuTexObjectCreate, &texture, &resource, &how, NULL);
	SAY("array", cuArrayDestroy, array);
	SAY("texture", cuTexObjectDestroy, texture);
}

static void event_recorded(void)
{
	CUstream stream;
	CUevent event;

	NEED(cuStreamCreate, &stream, CU_STREAM_NON_BLOCKING);
	NEED(cuEventCreate, &event, CU_EVENT_DISABLE_TIMING);
	NEED(cuEventRecord, event, stream);
	SAY("event", cuEventDestroy, event);
	SAY("stream", cuStreamDestroy, stream);
}

static void ipc_handle_left(void)
{
	CUdeviceptr block = allocate();
	CUipcMemHandle handle;

	SAY("get", cuIpcGetMemHandle, &handle, block);
	SAY("free", cuMemFree, block);
	tell_freed();
}

static const struct {
	const char *name;
	void (*run)(void);
} cases[] = {
	{ "memory-freed-inside", memory_freed_inside },
	{ "managed-freed-inside", managed_freed_inside },
	{ "host-freed-inside", host_freed_inside },
	{ "async-freed-inside", async_freed_inside },
	{ "left-in-context", left_in_context },
	{ "left-in-primary-context", left_in_primary_context },
	{ "primary-context-kept", primary_context_kept },
	{ "left-at-reset", left_at_reset },
	{ "block-after-pool", block_after_pool },
	{ "block-left-in-pool", block_left_in_pool },
	{ "block-after-stream", block_after_stream },
	{ "memory-kept-by-mapping", memory_kept_by_mapping },
	{ "memory-retained", memory_retained },
	{ "memory-retained-and-left", memory_retained_and_left },
	{ "exec-after-graph", exec_after_graph },
	{ "function-of-module", function_of_module },
	{ "texture-after-array", texture_after_array },
	{ "event-recorded", event_recorded },
	{ "ipc-handle-left", ipc_handle_left },
};

enum { CASES = sizeof cases / sizeof *cases };

int main(int argc, char **argv)
{
	bool list = argc == 2 && !strcmp(argv[1], "--list");

	for (int i = 0; list && i < CASES; i++)
		puts(cases[i].name);
	if (list)
		return 0;
	setvbuf(stdout, NULL, _IONBF, 0); /* the answers must be out before a crash */
	for (int i = 0; argc == 2 && i < CASES; i++)
		if (!strcmp(argv[1], cases[i].name)) {
			if (CALL(cuInit, 0) || CALL(cuDeviceGet, &device, 0)) {
				fputs("skipped: no GPU\n", stderr);
				return 77;
			}
			NEED(cuDevicePrimaryCtxRetain, &context, device);
			NEED(cuCtxSetCurrent, context);
			cases[i].run();
			return 0;
		}
	fprintf(stderr, "usage: %s CASE | --list\n", argv[0]);
	return 2;
}
