/* SPDX-License-Identifier: MIT */
/*
 * c10.c - PyTorch's libc10 as far as its allocators see it: where they report blocks.
 *
 * GENERATION is that of the functions' names. Counts what arrives: a tool that stands before these
 * functions must pass every call on.
 */
#include <stddef.h>
#include <stdint.h>

struct device {
	int8_t type, index;
};

struct arrived {
	uint64_t blocks, freed, shortages;
	int64_t bytes;
};

__attribute__((visibility("default"))) struct arrived fake_torch_arrived;

static void arrive(int64_t size)
{
	fake_torch_arrived.blocks += size > 0;
	fake_torch_arrived.freed += size < 0;
	fake_torch_arrived.bytes += size;
}

#define NAMED(symbol) __asm__(symbol) __attribute__((visibility("default")))

#if GENERATION == 1
void usage(void *ptr, int64_t size, struct device device)
	NAMED("_ZN3c1027reportMemoryUsageToProfilerEPvlNS_6DeviceE");
void usage(void *ptr, int64_t size, struct device device)
{
	arrive(size);
}
#else
#if GENERATION == 2
typedef int64_t total;
#define TOTALS "ll"
#else
typedef size_t total;
#define TOTALS "mm"
#endif
void usage(void *ptr, int64_t size, total allocated, total reserved, struct device device)
	NAMED("_ZN3c1027reportMemoryUsageToProfilerEPvl" TOTALS "NS_6DeviceE");
void usage(void *ptr, int64_t size, total allocated, total reserved, struct device device)
{
	arrive(size);
}

void shortage(int64_t size, total allocated, total reserved, struct device device)
	NAMED("_ZN3c1027reportOutOfMemoryToProfilerEl" TOTALS "NS_6DeviceE");
void shortage(int64_t size, total allocated, total reserved, struct device device)
{
	fake_torch_arrived.shortages++;
}
#endif

/* The CPU's blocks, by methods: the first argument is the object. */
void cpu_new(void *self, void *ptr, size_t size)
	NAMED("_ZN3c1025ProfiledCPUMemoryReporter3NewEPvm");
void cpu_new(void *self, void *ptr, size_t size)
{
	arrive((int64_t)size);
}

void cpu_delete(void *self, void *ptr) NAMED("_ZN3c1025ProfiledCPUMemoryReporter6DeleteEPv");
void cpu_delete(void *self, void *ptr)
{
	arrive(-1);
}
