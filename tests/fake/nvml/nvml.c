/*
 * nvml.c - a stand-in for NVIDIA's management library, with as many GPUs as FAKE_NVML_DEVICES says.
 *
 * It has both forms of the memory question: FAKE_NVML_OLD=1 refuses the newer, as old drivers do.
 */
#include <stdio.h>
#include <stdlib.h>

#include "cli/nvml_abi.h"

#define EXPORT __attribute__((visibility("default")))

int nvmlInit_v2(void);
int nvmlDeviceGetCount_v2(uint32_t *count);
int nvmlDeviceGetHandleByIndex_v2(uint32_t index, void **device);
int nvmlSystemGetDriverVersion(char *text, uint32_t size);
int nvmlDeviceGetName(void *device, char *text, uint32_t size);
int nvmlDeviceGetUUID(void *device, char *text, uint32_t size);
int nvmlDeviceGetMemoryInfo(void *device, struct gt_nvml_memory *memory);
int nvmlDeviceGetMemoryInfo_v2(void *device, struct gt_nvml_memory_v2 *memory);
int nvmlDeviceGetUtilizationRates(void *device, struct gt_nvml_utilization *utilization);

enum { MIB = 1 << 20 };

static uint32_t devices(void)
{
	const char *text = getenv("FAKE_NVML_DEVICES");

	return text ? (uint32_t)atoi(text) : 1;
}

EXPORT int nvmlInit_v2(void)
{
	return devices() ? 0 : 9; /* 9: no driver is loaded */
}

EXPORT int nvmlDeviceGetCount_v2(uint32_t *count)
{
	*count = devices();
	return 0;
}

EXPORT int nvmlDeviceGetHandleByIndex_v2(uint32_t index, void **device)
{
	*device = (void *)(uintptr_t)(index + 1);
	return 0;
}

EXPORT int nvmlSystemGetDriverVersion(char *text, uint32_t size)
{
	snprintf(text, size, "570.133.07");
	return 0;
}

EXPORT int nvmlDeviceGetName(void *device, char *text, uint32_t size)
{
	(void)device;
	snprintf(text, size, "Stand-in GPU");
	return 0;
}

EXPORT int nvmlDeviceGetUUID(void *device, char *text, uint32_t size)
{
	snprintf(text, size, "GPU-0000-%u", (unsigned)(uintptr_t)device - 1);
	return 0;
}

EXPORT int nvmlDeviceGetMemoryInfo(void *device, struct gt_nvml_memory *memory)
{
	(void)device;
	*memory = (struct gt_nvml_memory){ .total = 32607ull * MIB, .free = 27620ull * MIB,
					   .used = 4987ull * MIB };
	return 0;
}

EXPORT int nvmlDeviceGetMemoryInfo_v2(void *device, struct gt_nvml_memory_v2 *memory)
{
	(void)device;
	if (getenv("FAKE_NVML_OLD"))
		return 13; /* a function that is not there */
	if (memory->version != GT_NVML_MEMORY_V2)
		return 2; /* an argument is wrong */
	memory->total = 32607ull * MIB;
	memory->reserved = 495ull * MIB;
	memory->used = 4492ull * MIB;
	memory->free = 27620ull * MIB;
	return 0;
}

EXPORT int nvmlDeviceGetUtilizationRates(void *device, struct gt_nvml_utilization *utilization)
{
	(void)device;
	*utilization = (struct gt_nvml_utilization){ .gpu = 17, .memory = 5 };
	return 0;
}
