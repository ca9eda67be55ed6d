/* SPDX-License-Identifier: MIT */
/*
 * context.c - devices and contexts.
 *
 * FAKE_CUDA_DEVICES=N   how many there are (1); 0: cuInit fails, as on a machine without a GPU
 */
#include "fake.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DEVICES_MAX = 8, STACK_MAX = 32 };

static struct {
	CUcontext context;
	unsigned refs;
} primary[DEVICES_MAX];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static bool ready;

static __thread CUcontext stack[STACK_MAX];
static __thread int depth;

int fake_devices(void)
{
	const char *text = getenv("FAKE_CUDA_DEVICES");
	int count = text ? atoi(text) : 1;

	return count < 0 ? 0 : count > DEVICES_MAX ? DEVICES_MAX : count;
}

CUcontext fake_current(void)
{
	return depth ? stack[depth - 1] : NULL;
}

/* As the driver does it: the library named by the environment is loaded and started. */
static void start(void)
{
	const char *path = getenv("CUDA_INJECTION64_PATH");
	void *library = path && *path ? dlopen(path, RTLD_NOW) : NULL;
	int (*initialize)(void) =
		library ? (int (*)(void))dlsym(library, "InitializeInjection") : NULL;

	ready = true;
	if (initialize)
		initialize();
}

static CUresult init(void)
{
	if (!fake_devices())
		return CUDA_ERROR_NO_DEVICE;
	pthread_once(&once, start);
	return CUDA_SUCCESS;
}

static bool is_device(CUdevice dev)
{
	return dev >= 0 && dev < fake_devices();
}

static CUresult create(CUcontext *context, CUdevice dev)
{
	CUresult result;

	if (!ready)
		return CUDA_ERROR_NOT_INITIALIZED;
	if (!context || !is_device(dev))
		return CUDA_ERROR_INVALID_VALUE;
	result = fake_new(FAKE_CONTEXT, OUT(context), 64, NULL);
	if (!result)
		fake_set_key(FAKE_CONTEXT, H(*context), (uint64_t)dev);
	return result;
}

static CUresult create_current(CUcontext *context, CUdevice dev)
{
	CUresult result = create(context, dev);

	if (!result && depth < STACK_MAX)
		stack[depth++] = *context;
	return result;
}

static void leave(CUcontext context)
{
	int kept = 0;

	for (int i = 0; i < depth; i++)
		if (stack[i] != context)
			stack[kept++] = stack[i];
	depth = kept;
}

static CUresult destroy(CUcontext context)
{
	CUresult result;

	if (!fake_is_alive(FAKE_CONTEXT, H(context)))
		return CUDA_ERROR_INVALID_CONTEXT;
	leave(context);
	fake_end_owned(context);
	result = fake_end(FAKE_CONTEXT, H(context));
	return result;
}

static CUresult retain_primary(CUcontext *context, CUdevice dev)
{
	CUresult result = CUDA_SUCCESS;

	if (!is_device(dev))
		return CUDA_ERROR_INVALID_DEVICE;
	pthread_mutex_lock(&lock);
	if (!primary[dev].context)
		result = create(&primary[dev].context, dev);
	if (!result) {
		primary[dev].refs++;
		*context = primary[dev].context;
	}
	pthread_mutex_unlock(&lock);
	return result;
}

static CUresult end_primary(CUdevice dev, bool whole)
{
	CUresult result = CUDA_SUCCESS;

	if (!is_device(dev))
		return CUDA_ERROR_INVALID_DEVICE;
	pthread_mutex_lock(&lock);
	if (!primary[dev].context) {
		result = whole ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
	} else if (whole || !--primary[dev].refs) {
		result = destroy(primary[dev].context);
		primary[dev].context = NULL;
		primary[dev].refs = 0;
	}
	pthread_mutex_unlock(&lock);
	return result;
}

TRACED(cuCtxCreate, (CUcontext * pctx, unsigned int flags, CUdevice dev), (pctx, flags, dev),
       create_current(pctx, dev))
TRACED(cuCtxCreate_v2, (CUcontext * pctx, unsigned int flags, CUdevice dev), (pctx, flags, dev),
       create_current(pctx, dev))
TRACED(cuCtxCreate_v3,
       (CUcontext * pctx, CUexecAffinityParam *paramsArray, int numParams, unsigned int flags,
	CUdevice dev),
       (pctx, paramsArray, numParams, flags, dev), create_current(pctx, dev))
TRACED(cuCtxCreate_v4,
       (CUcontext * pctx, CUctxCreateParams *ctxCreateParams, unsigned int flags, CUdevice dev),
       (pctx, ctxCreateParams, flags, dev), create_current(pctx, dev))
TRACED(cuCtxDestroy, (CUcontext ctx), (ctx), destroy(ctx))
TRACED(cuCtxDestroy_v2, (CUcontext ctx), (ctx), destroy(ctx))
TRACED(cuDevicePrimaryCtxRetain, (CUcontext * pctx, CUdevice dev), (pctx, dev),
       NEED(pctx, retain_primary(pctx, dev)))
TRACED(cuDevicePrimaryCtxRelease, (CUdevice dev), (dev), end_primary(dev, false))
TRACED(cuDevicePrimaryCtxRelease_v2, (CUdevice dev), (dev), end_primary(dev, false))
TRACED(cuDevicePrimaryCtxReset, (CUdevice dev), (dev), end_primary(dev, true))
TRACED(cuDevicePrimaryCtxReset_v2, (CUdevice dev), (dev), end_primary(dev, true))
TRACED(cuGreenCtxCreate,
       (CUgreenCtx * phCtx, CUdevResourceDesc desc, CUdevice dev, unsigned int flags),
       (phCtx, desc, dev, flags),
       is_device(dev) ? fake_new(FAKE_GREEN, OUT(phCtx), 64, NULL) : CUDA_ERROR_INVALID_DEVICE)

static CUresult destroy_green(CUgreenCtx context)
{
	CUresult result =
		fake_is_alive(FAKE_GREEN, H(context)) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;

	if (!result) {
		fake_end_owned((CUcontext)context);
		result = fake_end(FAKE_GREEN, H(context));
	}
	return result;
}

TRACED(cuGreenCtxDestroy, (CUgreenCtx hCtx), (hCtx), destroy_green(hCtx))

PLAIN(cuInit, (unsigned int Flags), init())
PLAIN(cuDriverGetVersion, (int *version), (*version = CUDA_VERSION, CUDA_SUCCESS))
PLAIN(cuDeviceGetCount, (int *count), (*count = fake_devices(), CUDA_SUCCESS))
PLAIN(cuDeviceGet, (CUdevice * device, int ordinal),
      is_device(ordinal) ? (*device = ordinal, CUDA_SUCCESS) : CUDA_ERROR_INVALID_DEVICE)
PLAIN(cuDeviceGetName, (char *name, int len, CUdevice dev),
      (snprintf(name, (size_t)len, "Stand-in GPU"), CUDA_SUCCESS))
PLAIN(cuDeviceTotalMem_v2, (size_t * bytes, CUdevice dev), (*bytes = 16ull << 30, CUDA_SUCCESS))
PLAIN(cuDeviceGetAttribute, (int *pi, CUdevice_attribute attrib, CUdevice dev),
      (*pi = 1, CUDA_SUCCESS))
PLAIN(cuCtxGetCurrent, (CUcontext * pctx), (*pctx = fake_current(), CUDA_SUCCESS))
PLAIN(cuCtxSetCurrent, (CUcontext ctx),
      (depth -= depth > 0, ctx ? (stack[depth++] = ctx) : ctx, CUDA_SUCCESS))
PLAIN(cuCtxPushCurrent_v2, (CUcontext ctx),
      ctx &&depth < STACK_MAX ? (stack[depth++] = ctx, CUDA_SUCCESS) : CUDA_ERROR_INVALID_VALUE)

static CUresult pop(CUcontext *context)
{
	if (!depth)
		return CUDA_ERROR_INVALID_CONTEXT;
	depth--;
	if (context)
		*context = stack[depth];
	return CUDA_SUCCESS;
}

PLAIN(cuCtxPopCurrent_v2, (CUcontext * pctx), pop(pctx))
PLAIN(cuCtxGetDevice, (CUdevice * device),
      NEED_CONTEXT((*device = (CUdevice)fake_key(FAKE_CONTEXT, H(fake_current())), CUDA_SUCCESS)))
PLAIN(cuCtxSynchronize, (void), NEED_CONTEXT(CUDA_SUCCESS))

/* For CUPTI: the device of any context. */
FAKE_EXPORT int fake_cuda_device_of(CUcontext context);
int fake_cuda_device_of(CUcontext context)
{
	return fake_is_alive(FAKE_CONTEXT, H(context)) ? (int)fake_key(FAKE_CONTEXT, H(context)) :
							 -1;
}

PLAIN(cuGetErrorName, (CUresult error, const char **pStr),
      (*pStr = error ? "CUDA_ERROR" : "CUDA_SUCCESS", CUDA_SUCCESS))
PLAIN(cuGetErrorString, (CUresult error, const char **pStr),
      (*pStr = error ? "an error" : "no error", CUDA_SUCCESS))
