/* driver.c - what only the driver knows of new resources: sizes, owners, devices. */
#include "capture/cuda/cuda.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

enum { DEVICES_MAX = 64, CONTEXTS_MAX = 64 };

static CUptiResult (*device_of)(CUcontext context, uint32_t *device);
static CUresult (*device_name)(char *name, int size, CUdevice device);
static _Atomic bool exiting;

/* Primary contexts by device, as cuDevicePrimaryCtxRetain told them. */
static _Atomic uint64_t primary[DEVICES_MAX];

/* Devices of contexts seen so far; CUPTI is asked about others. */
static struct {
	_Atomic uint64_t context;
	_Atomic uint16_t place;
} known[CONTEXTS_MAX];

_Static_assert(offsetof(CUDA_EXTERNAL_MEMORY_BUFFER_DESC, size) == 8,
	       "cuda.def: cuExternalMemoryGetMappedBuffer");

void gt_cuda_driver_start(const struct gt_cupti *cupti)
{
	void *driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);

	device_of = cupti->device_of;
	if (driver)
		device_name = (CUresult(*)(char *, int, CUdevice))dlsym(driver, "cuDeviceGetName");
}

void gt_cuda_driver_exiting(void)
{
	atomic_store(&exiting, true);
}

/*
 * nvcc wraps the code that it puts into a program; the runtime loads it from there when it is first
 * needed and keeps it. Programs that load code of their own have it without that wrapper.
 */
enum gt_function_id gt_cuda_row(enum gt_function_id function, const uint64_t *argv)
{
	const uint32_t wrapper = 0x466243b1;
	const void *code;

	if (function != GT_FN_cuLibraryLoadData)
		return function;
	code = (const void *)(uintptr_t)argv[cuLibraryLoadData__code];
	return code && !memcmp(code, &wrapper, sizeof wrapper) ? GT_FN_cudaOwnCode : function;
}

static bool ends_primary(enum gt_function_id function)
{
	return gt_functions[function].kind == GT_PRIMARY_CONTEXT &&
	       gt_function_ends(&gt_functions[function]);
}

void gt_cuda_before(enum gt_function_id function, uint64_t *argv)
{
	if (!ends_primary(function))
		return;
	/* what the program leaves to the end of the process must not look given back */
	argv[0] = argv[0] < DEVICES_MAX && !atomic_load(&exiting) ?
		  atomic_load(&primary[argv[0]]) : 0;
}

void gt_cuda_after(enum gt_function_id function, const uint64_t *argv)
{
	const struct gt_function *fn = &gt_functions[function];

	if (function == GT_FN_cuDevicePrimaryCtxRetain &&
	    argv[cuDevicePrimaryCtxRetain__dev] < DEVICES_MAX)
		atomic_store(&primary[argv[cuDevicePrimaryCtxRetain__dev]],
			     *(const uint64_t *)(uintptr_t)argv[cuDevicePrimaryCtxRetain__pctx]);
	/* its handle may be the next one's, on another device */
	if (gt_function_ends(fn) && gt_kinds[fn->kind].family == GT_CUDA_CONTEXT)
		for (size_t i = 0; i < CONTEXTS_MAX; i++)
			atomic_store(&known[i].context, 0);
}

static const struct gt_cuda_call *cuda_call(const struct gt_call *call)
{
	return (const struct gt_cuda_call *)((const char *)call -
					     offsetof(struct gt_cuda_call, guest.call));
}

static uint64_t owner_of(const struct gt_call *call, enum gt_function_id row, uint64_t handle)
{
	return (uint64_t)(uintptr_t)cuda_call(call)->context;
}

static uint16_t place_of_device(uint32_t device)
{
	static _Atomic uint16_t places[DEVICES_MAX];
	uint16_t place = device < DEVICES_MAX ? atomic_load(&places[device]) : 0;
	char name[40] = "", text[64];

	if (place || device >= DEVICES_MAX)
		return place;
	if (!device_name || device_name(name, sizeof name, (CUdevice)device))
		snprintf(name, sizeof name, "CUDA device");
	snprintf(text, sizeof text, "GPU %u: %s", device, name);
	place = gt_guest_place(GT_CUDA, text);
	atomic_store(&places[device], place);
	return place;
}

/* With `quiet` only what is known already. */
static uint16_t place_of_context(CUcontext context, bool quiet)
{
	uint64_t key = (uint64_t)(uintptr_t)context;
	uint32_t device;
	uint16_t place;
	size_t i;

	for (i = 0; i < CONTEXTS_MAX && atomic_load(&known[i].context); i++)
		if (atomic_load(&known[i].context) == key)
			return atomic_load(&known[i].place);
	if (quiet || !context || !device_of || device_of(context, &device))
		return 0;
	place = place_of_device(device);
	if (i < CONTEXTS_MAX) {
		atomic_store(&known[i].place, place);
		atomic_store(&known[i].context, key);
	}
	return place;
}

static uint16_t place_of_location(const CUmemLocation *location)
{
	return location->type == CU_MEM_LOCATION_TYPE_DEVICE ?
	       place_of_device((uint32_t)location->id) : 0;
}

#define ARG(call, fn, name) ((call)->argv[fn##__##name])
#define POINTER(call, fn, name) ((const void *)(uintptr_t)ARG(call, fn, name))

static uint16_t place_of(const struct gt_call *call, enum gt_function_id row, uint64_t handle)
{
	switch (row) {
	case GT_FN_cuCtxCreate:
	case GT_FN_cuCtxCreate_v2:
	case GT_FN_cuCtxCreate_v3:
	case GT_FN_cuCtxCreate_v4:
	case GT_FN_cuDevicePrimaryCtxRetain: /* the device is the last argument */
		return place_of_device((uint32_t)call->argv[gt_functions[row].argc - 1]);
	case GT_FN_cuGreenCtxCreate:
		return place_of_device((uint32_t)ARG(call, cuGreenCtxCreate, dev));
	case GT_FN_cuMemCreate: {
		const CUmemAllocationProp *prop = POINTER(call, cuMemCreate, prop);

		return prop ? place_of_location(&prop->location) : 0;
	}
	case GT_FN_cuMemPoolCreate: {
		const CUmemPoolProps *props = POINTER(call, cuMemPoolCreate, poolProps);

		return props ? place_of_location(&props->location) : 0;
	}
	default:
		return place_of_context(cuda_call(call)->context, cuda_call(call)->quiet);
	}
}

/* Bytes of one element, all channels; of compressed formats those of a block of 4 × 4. */
static uint64_t element_bytes(CUarray_format format, unsigned channels, bool *blocks)
{
	*blocks = format >= CU_AD_FORMAT_BC1_UNORM && format <= CU_AD_FORMAT_BC7_UNORM_SRGB;
	switch ((int)format) {
	case CU_AD_FORMAT_UNSIGNED_INT8:
	case CU_AD_FORMAT_SIGNED_INT8:     return channels;
	case CU_AD_FORMAT_UNSIGNED_INT16:
	case CU_AD_FORMAT_SIGNED_INT16:
	case CU_AD_FORMAT_HALF:            return 2 * channels;
	case CU_AD_FORMAT_UNSIGNED_INT32:
	case CU_AD_FORMAT_SIGNED_INT32:
	case CU_AD_FORMAT_FLOAT:           return 4 * channels;
	case CU_AD_FORMAT_UNORM_INT8X1:
	case CU_AD_FORMAT_SNORM_INT8X1:    return 1;
	case CU_AD_FORMAT_UNORM_INT8X2:
	case CU_AD_FORMAT_SNORM_INT8X2:
	case CU_AD_FORMAT_UNORM_INT16X1:
	case CU_AD_FORMAT_SNORM_INT16X1:   return 2;
	case CU_AD_FORMAT_UNORM_INT8X4:
	case CU_AD_FORMAT_SNORM_INT8X4:
	case CU_AD_FORMAT_UNORM_INT16X2:
	case CU_AD_FORMAT_SNORM_INT16X2:   return 4;
	case CU_AD_FORMAT_UNORM_INT16X4:
	case CU_AD_FORMAT_SNORM_INT16X4:   return 8;
	case CU_AD_FORMAT_BC1_UNORM:
	case CU_AD_FORMAT_BC1_UNORM_SRGB:
	case CU_AD_FORMAT_BC4_UNORM:
	case CU_AD_FORMAT_BC4_SNORM:       return 8;
	default:                           return *blocks ? 16 : channels;
	}
}

static uint64_t at_least_one(uint64_t n)
{
	return n ? n : 1;
}

static uint64_t array_bytes(const CUDA_ARRAY3D_DESCRIPTOR *d, unsigned level)
{
	bool layered = d->Flags & (CUDA_ARRAY3D_LAYERED | CUDA_ARRAY3D_CUBEMAP), blocks;
	uint64_t element = element_bytes(d->Format, d->NumChannels, &blocks);
	uint64_t width = at_least_one(d->Width >> level), height = at_least_one(d->Height >> level);
	uint64_t depth = at_least_one(layered ? d->Depth : d->Depth >> level);

	/* memory for these comes later, by cuMemMapArrayAsync */
	if (d->Flags & (CUDA_ARRAY3D_SPARSE | CUDA_ARRAY3D_DEFERRED_MAPPING))
		return 0;
	if (blocks) {
		width = (width + 3) / 4;
		height = (height + 3) / 4;
	}
	return element * width * height * depth;
}

static uint64_t plain_array_bytes(const CUDA_ARRAY_DESCRIPTOR *d)
{
	CUDA_ARRAY3D_DESCRIPTOR whole = { .Width = d->Width, .Height = d->Height,
					  .Format = d->Format, .NumChannels = d->NumChannels };

	return array_bytes(&whole, 0);
}

static uint64_t size_of(const struct gt_call *call, enum gt_function_id row, uint64_t handle)
{
	const void *descriptor;
	uint64_t bytes = 0;

	switch (row) {
	case GT_FN_cuMemAllocPitch_v2: {
		const size_t *pitch = POINTER(call, cuMemAllocPitch_v2, pPitch);

		return pitch ? *pitch * ARG(call, cuMemAllocPitch_v2, Height) : 0;
	}
	case GT_FN_cuArrayCreate_v2:
		descriptor = POINTER(call, cuArrayCreate_v2, pAllocateArray);
		return descriptor ? plain_array_bytes(descriptor) : 0;
	case GT_FN_cuArray3DCreate_v2:
		descriptor = POINTER(call, cuArray3DCreate_v2, pAllocateArray);
		return descriptor ? array_bytes(descriptor, 0) : 0;
	case GT_FN_cuMipmappedArrayCreate:
		descriptor = POINTER(call, cuMipmappedArrayCreate, pMipmappedArrayDesc);
		for (unsigned i = 0; descriptor && i < 32 &&
				     i < ARG(call, cuMipmappedArrayCreate, numMipmapLevels); i++)
			bytes += array_bytes(descriptor, i);
		return bytes;
	default:
		return 0;
	}
}

const struct gt_call_door gt_cuda_door = { .size = size_of, .owner = owner_of, .place = place_of };
