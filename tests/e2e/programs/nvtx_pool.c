/* SPDX-License-Identifier: MIT */
/* nvtx_pool.c - an allocator that registers its blocks with NVTX, as compute-sanitizer asks for it.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#include <nvtx3/nvToolsExtMem.h>

enum { SEGMENT = 1 << 20 };

static char *segment;
static nvtxDomainHandle_t domain;

static void *call(const char *name)
{
	static void *driver;

	if (!driver)
		driver = dlopen("libcuda.so.1", RTLD_NOW);
	return dlsym(driver, name);
}

static void take_segment(void)
{
	int (*init)(unsigned) = (int (*)(unsigned))call("cuInit");
	int (*retain)(void **, int) = (int (*)(void **, int))call("cuDevicePrimaryCtxRetain");
	int (*use)(void *) = (int (*)(void *))call("cuCtxSetCurrent");
	int (*alloc)(char **, size_t) = (int (*)(char **, size_t))call("cuMemAlloc_v2");
	void *context;

	if (init(0) || retain(&context, 0) || use(context) || alloc(&segment, SEGMENT))
		exit(3);
}

static nvtxMemHeapHandle_t new_heap(const char *name, void *at, size_t size, uint32_t usage)
{
	nvtxMemVirtualRangeDesc_t range = { size, at };
	nvtxMemHeapDesc_t heap = { .extCompatID = NVTX_EXT_COMPATID_MEM,
				   .structSize = sizeof heap,
				   .usage = usage,
				   .type = NVTX_MEM_TYPE_VIRTUAL_ADDRESS,
				   .typeSpecificDescSize = sizeof range,
				   .typeSpecificDesc = &range,
				   .messageType = NVTX_MESSAGE_TYPE_ASCII,
				   .message = { .ascii = name } };

	return nvtxMemHeapRegister(domain, &heap);
}

static __attribute__((noinline)) void add(nvtxMemHeapHandle_t heap,
					  const nvtxMemVirtualRangeDesc_t *ranges, size_t count,
					  nvtxMemRegionHandle_t *handles)
{
	nvtxMemRegionsRegisterBatch_t batch = { .extCompatID = NVTX_EXT_COMPATID_MEM,
						.structSize = sizeof batch,
						.regionType = NVTX_MEM_TYPE_VIRTUAL_ADDRESS,
						.heap = heap,
						.regionCount = count,
						.regionDescElementSize = sizeof *ranges,
						.regionDescElements = ranges,
						.regionHandleElementsOut = handles };

	nvtxMemRegionsRegister(domain, &batch);
}

static void add_one(nvtxMemHeapHandle_t heap, void *at, size_t size)
{
	add(heap, &(nvtxMemVirtualRangeDesc_t){ size, at }, 1, NULL);
}

static void end(uint32_t type, nvtxMemRegionRef_t region)
{
	nvtxMemRegionsUnregisterBatch_t batch = { .extCompatID = NVTX_EXT_COMPATID_MEM,
						  .structSize = sizeof batch,
						  .refType = type,
						  .refCount = 1,
						  .refElementSize = sizeof region,
						  .refElements = &region };

	nvtxMemRegionsUnregister(domain, &batch);
}

static void resize(void *at, size_t size)
{
	nvtxMemVirtualRangeDesc_t range = { size, at };
	nvtxMemRegionsResizeBatch_t batch = { .extCompatID = NVTX_EXT_COMPATID_MEM,
					      .structSize = sizeof batch,
					      .regionType = NVTX_MEM_TYPE_VIRTUAL_ADDRESS,
					      .regionDescCount = 1,
					      .regionDescElementSize = sizeof range,
					      .regionDescElements = &range };

	nvtxMemRegionsResize(domain, &batch);
}

static __attribute__((noinline)) void *keep(nvtxMemHeapHandle_t heap, size_t at, size_t size)
{
	add_one(heap, segment + at, size);
	__asm__ volatile("");
	return segment + at;
}

int main(void)
{
	nvtxMemHeapHandle_t arena, scratch, layout, host;
	nvtxMemRegionHandle_t handles[3] = { 0 };
	void *main_memory = malloc(4096);

	take_segment();
	domain = nvtxDomainCreateA("pools");
	arena = new_heap("arena", segment, SEGMENT / 2, NVTX_MEM_HEAP_USAGE_TYPE_SUB_ALLOCATOR);
	scratch = new_heap("scratch", segment + SEGMENT / 2, SEGMENT / 4,
			   NVTX_MEM_HEAP_USAGE_TYPE_SUB_ALLOCATOR);
	layout = new_heap("layout", segment + SEGMENT * 3 / 4, SEGMENT / 4,
			  NVTX_MEM_HEAP_USAGE_TYPE_LAYOUT);
	host = new_heap("host", main_memory, 4096, NVTX_MEM_HEAP_USAGE_TYPE_SUB_ALLOCATOR);
	for (size_t i = 0; i < 10; i++)
		keep(arena, i * 1024, 1000);
	for (size_t i = 0; i < 4; i++)
		end(NVTX_MEM_REGION_REF_TYPE_POINTER,
		    (nvtxMemRegionRef_t){ .pointer = segment + i * 1024 });
	add(arena,
	    (nvtxMemVirtualRangeDesc_t[]){ { 1 << 14, segment + (1 << 16) },
					   { 1 << 15, segment + (1 << 17) },
					   { 1 << 16, segment + (1 << 18) } },
	    3, handles);
	end(NVTX_MEM_REGION_REF_TYPE_HANDLE, (nvtxMemRegionRef_t){ .handle = handles[1] });
	resize(segment + (1 << 16), 20000);
	for (size_t i = 0; i < 5; i++)
		keep(scratch, SEGMENT / 2 + i * 512, 512);
	nvtxMemHeapReset(domain, scratch);
	keep(scratch, SEGMENT / 2, 77);
	keep(layout, SEGMENT * 3 / 4, 55);
	keep(NVTX_MEM_HEAP_HANDLE_PROCESS_WIDE, SEGMENT * 3 / 4 + 1024, 44);
	add_one(host, main_memory, 33);
	if (getenv("UNREGISTER"))
		nvtxMemHeapUnregister(domain, arena);
	puts("done");
	free(main_memory);
	return 0;
}
