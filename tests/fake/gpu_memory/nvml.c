/* SPDX-License-Identifier: MIT */
/*
 * nvml.c - a stand-in for libnvidia-ml.so.1: GPU 0 uses 512 MiB and what the stand-in driver says.
 *
 * FAKE_NVML_SHARE=FILE   where the driver writes how much it has given out; none: 0 bytes
 * FAKE_NVML_GPUS=N       how many GPUs there are (2)
 * FAKE_GPU_MIB=N         how much memory each has, for the stand-in driver as well (16384)
 * FAKE_NVML_INIT=CODE    nvmlInit_v2 fails with it
 * FAKE_NVML_MIG=N        GPU 0 is divided into N instances of 4 GiB, numbered from 7 on; the
 *                        driver's memory is in the first
 * FAKE_NVML_OLD=1        it has only the older of the two questions for memory
 *
 * Proves that the tool asks, writes down and shows; not what NVIDIA's library answers.
 */
#include <stdio.h>
#include <string.h>

#include "share.h"

#define EXPORT __attribute__((visibility("default")))
#define BASE   (512ull << 20)

struct memory {
	unsigned long long total, free, used;
};

struct memory_v2 {
	unsigned version;
	unsigned long long total, reserved, free, used;
};

struct utilization {
	unsigned gpu, memory;
};

struct process {
	unsigned pid;
	unsigned long long used;
	unsigned gpu_instance, compute_instance;
};

static struct fake_share *share;
static int devices[8], instances[7];

static unsigned number(const char *name, unsigned otherwise)
{
	const char *text = getenv(name);

	return text ? (unsigned)atoi(text) : otherwise;
}

EXPORT int nvmlInit_v2(void)
{
	share = fake_share_open();
	return (int)number("FAKE_NVML_INIT", 0);
}

EXPORT int nvmlShutdown(void)
{
	return 0;
}

EXPORT int nvmlDeviceGetCount_v2(unsigned *count)
{
	*count = number("FAKE_NVML_GPUS", 2);
	return 0;
}

EXPORT int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **device)
{
	*device = &devices[index];
	return 0;
}

static bool is_instance(const void *device)
{
	return (const int *)device >= instances && (const int *)device < instances + 7;
}

EXPORT int nvmlDeviceGetMigMode(void *device, unsigned *current, unsigned *pending)
{
	*current = *pending = device == &devices[0] && number("FAKE_NVML_MIG", 0);
	return 0;
}

EXPORT int nvmlDeviceGetMaxMigDeviceCount(void *device, unsigned *count)
{
	*count = 7;
	return 0;
}

EXPORT int nvmlDeviceGetMigDeviceHandleByIndex(void *device, unsigned index, void **instance)
{
	*instance = &instances[index];
	return index < number("FAKE_NVML_MIG", 0) ? 0 : 6; /* there is none */
}

EXPORT int nvmlDeviceGetGpuInstanceId(void *device, unsigned *id)
{
	*id = 7 + (unsigned)((int *)device - instances);
	return 0;
}

EXPORT int nvmlDeviceGetName(void *device, char *name, unsigned size)
{
	snprintf(name, size, is_instance(device) ? "Stand-in GPU MIG 1g.4gb" : "Stand-in GPU");
	return 0;
}

EXPORT int nvmlSystemGetDriverVersion(char *version, unsigned size)
{
	snprintf(version, size, "0.0.1");
	return 0;
}

EXPORT int nvmlDeviceGetMemoryInfo(void *device, struct memory *memory)
{
	memory->used = BASE + (share && device == &devices[0] ? atomic_load(&share->bytes) : 0);
	memory->total = (unsigned long long)number("FAKE_GPU_MIB", 16384) << 20;
	if (is_instance(device)) {
		memory->used = device == &instances[0] && share ? atomic_load(&share->bytes) : 0;
		memory->used += 110ull << 20; /* of which 100 are the driver's */
		memory->total = 4ull << 30;
	}
	memory->free = memory->total - memory->used;
	if (share && device == &devices[0])
		atomic_fetch_add(&share->readings, 1);
	return 0;
}

/* 100 MiB of what is used are the driver's own. */
EXPORT int nvmlDeviceGetMemoryInfo_v2(void *device, struct memory_v2 *memory)
{
	struct memory old;

	if (number("FAKE_NVML_OLD", 0))
		return 13; /* there is no such function */
	if (memory->version != (sizeof *memory | 2u << 24))
		return 2; /* an argument is wrong */
	nvmlDeviceGetMemoryInfo(device, &old);
	memory->total = old.total;
	memory->reserved = 100ull << 20;
	memory->used = old.used - memory->reserved;
	memory->free = old.free;
	return 0;
}

EXPORT int nvmlDeviceGetUUID(void *device, char *uuid, unsigned size)
{
	snprintf(uuid, size, "GPU-0000-%d", (int)((int *)device - devices));
	return 0;
}

EXPORT int nvmlDeviceGetUtilizationRates(void *device, struct utilization *utilization)
{
	*utilization = (struct utilization){ .gpu = 17, .memory = 5 };
	return 0;
}

EXPORT int nvmlDeviceGetComputeRunningProcesses_v3(void *device, unsigned *count,
						   struct process *list)
{
	bool any = share && device == &devices[0] && atomic_load(&share->pid);

	*count = any ? 2 : 0;
	if (any) {
		/* a context of 100 MiB, and somebody else who is no child of ours */
		list[0] = (struct process){ (unsigned)atomic_load(&share->pid),
					    atomic_load(&share->bytes) + (100ull << 20), 7, 0 };
		list[1] = (struct process){ 1, 1ull << 30, 8, 0 };
	}
	return 0;
}

EXPORT const char *nvmlErrorString(int result)
{
	return result ? "Driver Not Loaded" : "Success";
}
