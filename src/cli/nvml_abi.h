/* nvml_abi.h - the little of NVIDIA's management library that the tool calls. */
#pragma once

#include <stdint.h>

#define GT_NVML_LIBRARY "libnvidia-ml.so.1"

/* The first form; `used` has what the driver keeps for itself in it. */
struct gt_nvml_memory {
	uint64_t total, free, used;
};

/* The second, which counts that apart, as nvidia-smi does. */
struct gt_nvml_memory_v2 {
	uint32_t version;
	uint64_t total, reserved, free, used;
};
#define GT_NVML_MEMORY_V2 ((uint32_t)sizeof(struct gt_nvml_memory_v2) | 2u << 24)

struct gt_nvml_utilization {
	uint32_t gpu, memory;
};

typedef int gt_nvml_init_fn(void);
typedef int gt_nvml_text_fn(char *text, uint32_t size);
typedef int gt_nvml_count_fn(uint32_t *count);
typedef int gt_nvml_device_fn(uint32_t index, void **device);
typedef int gt_nvml_device_text_fn(void *device, char *text, uint32_t size);
typedef int gt_nvml_memory_fn(void *device, struct gt_nvml_memory *memory);
typedef int gt_nvml_memory_v2_fn(void *device, struct gt_nvml_memory_v2 *memory);
typedef int gt_nvml_utilization_fn(void *device, struct gt_nvml_utilization *utilization);
