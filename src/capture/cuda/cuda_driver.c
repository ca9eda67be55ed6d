/* SPDX-License-Identifier: MIT */
/* cuda_driver.c - what only the driver knows of new resources: sizes, owners, devices. */
#include "capture/cuda/cuda.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>

#include "api/cuda_abi.h"
#include "base/small_printf.h"
#include "capture/cuda/direct.h"

enum { DEVICES_MAX = 64, CONTEXTS_MAX = 64 };

static struct gt_cuda_driver driver;
static _Atomic bool exiting;

/* Primary contexts by device, as cuDevicePrimaryCtxRetain returned them. */
static _Atomic uint64_t primary[DEVICES_MAX];

/*
 * The devices of known contexts; the driver is asked about others. Context and place share one
 * word, so that no thread sees one without the other: an address has no more than 48 bits.
 */
enum { PLACE_BITS = 16 };

static _Atomic uint64_t known[CONTEXTS_MAX];

bool gt_cuda_is_preloaded(void)
{
	return dlsym(RTLD_DEFAULT, GT_CUDA_PRELOADED);
}

void gt_cuda_driver_start(const struct gt_cuda_driver *d)
{
	driver = *d;
}

void gt_cuda_driver_exiting(void)
{
	atomic_store(&exiting, true);
}

/*
 * nvcc wraps the code that it embeds in a program; the runtime loads it when it is first needed,
 * and keeps it. Code that a program loads itself has no wrapper.
 */
enum gt_function_id gt_cuda_row(enum gt_function_id function, const uint64_t *argv)
{
	const uint32_t wrapper = GT_CUDA_CODE_WRAPPER;
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
	/* what is left to the end of the process must not look released */
	argv[0] = argv[0] < DEVICES_MAX && !atomic_load(&exiting) ? atomic_load(&primary[argv[0]]) :
								    0;
}

void gt_cuda_after(enum gt_function_id function, const uint64_t *argv)
{
	const struct gt_function *fn = &gt_functions[function];

	if (function == GT_FN_cuDevicePrimaryCtxRetain &&
	    argv[cuDevicePrimaryCtxRetain__dev] < DEVICES_MAX)
		atomic_store(&primary[argv[cuDevicePrimaryCtxRetain__dev]],
			     *(const uint64_t *)(uintptr_t)argv[cuDevicePrimaryCtxRetain__pctx]);
	/* the handle may be reused for a context on another device */
	if (gt_function_ends(fn) && gt_kinds[fn->kind].family == GT_CUDA_CONTEXT)
		for (size_t i = 0; i < CONTEXTS_MAX; i++)
			atomic_store(&known[i], 0);
}

static uint16_t place_of_device(uint32_t device)
{
	static _Atomic uint16_t places[DEVICES_MAX];
	uint16_t place = device < DEVICES_MAX ? atomic_load(&places[device]) : 0;
	char name[40] = "", text[64];

	if (place || device >= DEVICES_MAX)
		return place;
	if (!driver.device_name || driver.device_name(name, sizeof name, (CUdevice)device))
		gt_snprintf(name, sizeof name, "CUDA device");
	gt_snprintf(text, sizeof text, "GPU %u: %s", device, name);
	place = gt_guest_place(GT_CUDA, text);
	atomic_store(&places[device], place);
	return place;
}

/* Uses the first free entry; if there is none, the driver is asked again next time. */
static void remember(uint64_t entry)
{
	for (size_t i = 0; i < CONTEXTS_MAX; i++) {
		uint64_t none = 0;

		if (atomic_compare_exchange_strong(&known[i], &none, entry) || none == entry)
			return;
	}
}

static uint16_t place_of_context(CUcontext context, bool in_driver)
{
	uint64_t key = (uint64_t)(uintptr_t)context << PLACE_BITS, entry;
	uint32_t device;
	uint16_t place;

	for (size_t i = 0; i < CONTEXTS_MAX && (entry = atomic_load(&known[i])); i++)
		if (entry >> PLACE_BITS == key >> PLACE_BITS)
			return (uint16_t)entry;
	if (in_driver || !context || !driver.device_of || !driver.device_of(context, &device))
		return 0;
	place = place_of_device(device);
	remember(key | place);
	return place;
}

static uint16_t place_of_location(const CUmemLocation *location)
{
	return location->type == CU_MEM_LOCATION_TYPE_DEVICE ?
		       place_of_device((uint32_t)location->id) :
		       0;
}

#define ARG(call, fn, name)     ((call)->argv[fn##__##name])
#define POINTER(call, fn, name) ((const void *)(uintptr_t)ARG(call, fn, name))

uint16_t gt_cuda_place(const struct gt_call *call, enum gt_function_id row, CUcontext context,
		       bool in_driver)
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
	default: return place_of_context(context, in_driver);
	}
}

#ifdef GT_HAVE_CUDA_H
#define IS(ours, theirs) _Static_assert((int)(ours) == (int)(theirs), "api/cuda_abi.h: " #theirs)

IS(GT_CUDA_ARRAY_LAYERED, CUDA_ARRAY3D_LAYERED);
IS(GT_CUDA_ARRAY_CUBEMAP, CUDA_ARRAY3D_CUBEMAP);
IS(GT_CUDA_ARRAY_SPARSE, CUDA_ARRAY3D_SPARSE);
IS(GT_CUDA_ARRAY_DEFERRED, CUDA_ARRAY3D_DEFERRED_MAPPING);
IS(GT_CUDA_UINT32, CU_AD_FORMAT_UNSIGNED_INT32);
IS(GT_CUDA_INT32, CU_AD_FORMAT_SIGNED_INT32);
IS(GT_CUDA_HALF, CU_AD_FORMAT_HALF);
IS(GT_CUDA_FLOAT, CU_AD_FORMAT_FLOAT);
IS(GT_CUDA_BC1_SRGB, CU_AD_FORMAT_BC1_UNORM_SRGB);
IS(GT_CUDA_BC4_SNORM, CU_AD_FORMAT_BC4_SNORM);
IS(GT_CUDA_BC7_SRGB, CU_AD_FORMAT_BC7_UNORM_SRGB);
IS(GT_CUDA_UNORM16X4, CU_AD_FORMAT_UNORM_INT16X4);
IS(GT_CUDA_SNORM16X4, CU_AD_FORMAT_SNORM_INT16X4);
#endif

static uint64_t array_bytes(const CUDA_ARRAY3D_DESCRIPTOR *d, uint32_t levels)
{
	return gt_cuda_array_bytes(&(struct gt_cuda_array){ .width = d->Width,
							    .height = d->Height,
							    .depth = d->Depth,
							    .format = d->Format,
							    .channels = d->NumChannels,
							    .flags = d->Flags },
				   levels);
}

static uint64_t plain_array_bytes(const CUDA_ARRAY_DESCRIPTOR *d)
{
	return gt_cuda_array_bytes(&(struct gt_cuda_array){ .width = d->Width,
							    .height = d->Height,
							    .format = d->Format,
							    .channels = d->NumChannels },
				   1);
}

uint64_t gt_cuda_size(const struct gt_call *call, enum gt_function_id row, uint64_t handle)
{
	const void *descriptor;

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
		return descriptor ? array_bytes(descriptor, 1) : 0;
	case GT_FN_cuMipmappedArrayCreate:
		descriptor = POINTER(call, cuMipmappedArrayCreate, pMipmappedArrayDesc);
		return descriptor ?
			       array_bytes(descriptor, (uint32_t)ARG(call, cuMipmappedArrayCreate,
								     numMipmapLevels)) :
			       0;
	default: return 0;
	}
}
