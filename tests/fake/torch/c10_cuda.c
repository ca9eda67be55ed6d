/* SPDX-License-Identifier: MIT */
/*
 * c10_cuda.c - PyTorch's allocator for CUDA, in small: caching.c over the driver, every block
 * reported to libc10. As PyTorch, it asks for the driver's functions by name.
 */
#include "c10_cuda.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

struct device {
	int8_t type, index;
};

#if GENERATION == 1
#define USAGE "_ZN3c1027reportMemoryUsageToProfilerEPvlNS_6DeviceE"
extern void usage(void *ptr, int64_t size, struct device device) __asm__(USAGE);
#else
#if GENERATION == 2
typedef int64_t total;
#define NAME(before) before "llNS_6DeviceE"
#else
typedef size_t total;
#define NAME(before) before "mmNS_6DeviceE"
#endif
extern void usage(void *ptr, int64_t size, total allocated, total reserved,
		  struct device device) __asm__(NAME("_ZN3c1027reportMemoryUsageToProfilerEPvl"));
extern void shortage(int64_t size, total allocated, total reserved,
		     struct device device) __asm__(NAME("_ZN3c1027reportOutOfMemoryToProfilerEl"));
#endif

extern void cpu_new(void *self, void *ptr,
		    size_t size) __asm__("_ZN3c1025ProfiledCPUMemoryReporter3NewEPvm");
extern void cpu_delete(void *self,
		       void *ptr) __asm__("_ZN3c1025ProfiledCPUMemoryReporter6DeleteEPv");

static struct {
	int (*init)(unsigned flags);
	int (*retain)(void **context, int device);
	int (*set_current)(void *context);
	int (*alloc)(uint64_t *address, size_t size);
	int (*free)(uint64_t address);
	int (*reserve)(uint64_t *address, size_t size, size_t alignment, uint64_t at,
		       unsigned long long flags);
	int (*create)(uint64_t *handle, size_t size, const void *prop, unsigned long long flags);
	int (*map)(uint64_t address, size_t size, size_t offset, uint64_t handle,
		   unsigned long long flags);
	int (*unmap)(uint64_t address, size_t size);
	int (*release)(uint64_t handle);
} cuda;

static struct caching pool;
static uint64_t handles[CACHING_POOLS][CACHING_RESERVED / CACHING_PIECE];

static void need(int result, const char *what)
{
	if (result) {
		fprintf(stderr, "fake torch: %s fails with %d\n", what, result);
		exit(1);
	}
}

static uint64_t allocate(void *context, uint64_t size)
{
	uint64_t address = 0;

	return cuda.alloc(&address, size) ? 0 : address;
}

static void free_memory(void *context, uint64_t address)
{
	need(cuda.free(address), "cuMemFree");
}

static uint64_t reserve(void *context, uint64_t size)
{
	uint64_t address;

	need(cuda.reserve(&address, size, 0, 0, 0), "cuMemAddressReserve");
	return address;
}

static uint64_t *handle_of(uint64_t address)
{
	for (int i = 0; i < CACHING_POOLS; i++)
		if (pool.reservation[i] && address - pool.reservation[i] < CACHING_RESERVED)
			return &handles[i][(address - pool.reservation[i]) / CACHING_PIECE];
	abort();
}

static void map(void *context, uint64_t address, uint64_t size)
{
	/* CUmemAllocationProp: pinned memory, on device 0 */
	static const int prop[16] = { 1, 0, 1, 0 };
	uint64_t *handle = handle_of(address);

	need(cuda.create(handle, size, prop, 0), "cuMemCreate");
	need(cuda.map(address, size, 0, *handle, 0), "cuMemMap");
}

static void unmap(void *context, uint64_t address, uint64_t size)
{
	need(cuda.unmap(address, size), "cuMemUnmap");
	need(cuda.release(*handle_of(address)), "cuMemRelease");
}

static void report(void *context, uint64_t address, int64_t size, uint64_t allocated,
		   uint64_t reserved)
{
	struct device device = { .type = 1, .index = 0 };

#if GENERATION == 1
	usage((void *)(uintptr_t)address, size, device);
#else
	usage((void *)(uintptr_t)address, size, (total)allocated, (total)reserved, device);
#endif
}

static void load(void *library, void *function, const char *name)
{
	*(void **)function = dlsym(library, name);
	need(!*(void **)function, name);
}

void fake_torch_start(bool expandable)
{
	void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL), *context;

	need(!driver, "dlopen");
	load(driver, &cuda.init, "cuInit");
	load(driver, &cuda.retain, "cuDevicePrimaryCtxRetain");
	load(driver, &cuda.set_current, "cuCtxSetCurrent");
	load(driver, &cuda.alloc, "cuMemAlloc_v2");
	load(driver, &cuda.free, "cuMemFree_v2");
	load(driver, &cuda.reserve, "cuMemAddressReserve");
	load(driver, &cuda.create, "cuMemCreate");
	load(driver, &cuda.map, "cuMemMap");
	load(driver, &cuda.unmap, "cuMemUnmap");
	load(driver, &cuda.release, "cuMemRelease");
	need(cuda.init(0), "cuInit");
	need(cuda.retain(&context, 0), "cuDevicePrimaryCtxRetain");
	need(cuda.set_current(context), "cuCtxSetCurrent");
	pool.expandable = expandable;
	pool.driver = (struct caching_driver){ .allocate = allocate,
					       .free = free_memory,
					       .reserve = reserve,
					       .map = map,
					       .unmap = unmap,
					       .report = report };
}

struct caching *fake_torch_pool(void)
{
	return &pool;
}

uint64_t fake_torch_malloc(int private, uint64_t size)
{
	uint64_t address = caching_malloc(&pool, private, size);

#if GENERATION > 1
	if (!address)
		shortage((int64_t)size, (total)pool.allocated, (total)pool.reserved,
			 (struct device){ .type = 1 });
#endif
	return address;
}

void fake_torch_free(uint64_t address)
{
	for (size_t i = 0; i < pool.block_count; i++)
		if (pool.blocks[i].address == address) {
			caching_free(&pool, i);
			return;
		}
}

void fake_torch_trim(void)
{
	caching_trim(&pool);
}

void fake_torch_cpu(void *block, size_t size)
{
	if (size)
		cpu_new(NULL, block, size);
	else
		cpu_delete(NULL, block);
}
