/* SPDX-License-Identifier: MIT */
/*
 * cupti.c - a CUPTI over the stand-in driver: callbacks with the real structs, and nothing else.
 *
 * FAKE_CUPTI_SUBSCRIBE=CODE   cuptiSubscribe fails with it (39: somebody else has subscribed)
 * FAKE_CUPTI_SEVERAL=1        cuptiSubscribe_v2 exists and lets several subscribe, as since 13.2
 * FAKE_CUPTI_ENABLE=CODE      cuptiEnableCallback fails with it for each function
 */
#include <dlfcn.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "fake.h"

enum { CBIDS = CUPTI_DRIVER_TRACE_CBID_SIZE };

static _Atomic unsigned char enabled[CBIDS];
static CUpti_CallbackFunc callback;
static void *userdata;
static _Atomic int subscribed;

/* A frame more, as the real one has several. */
static __attribute__((noinline)) void deliver(struct fake_call *call, int after)
{
	CUpti_CallbackData data = {
		.callbackSite = after ? CUPTI_API_EXIT : CUPTI_API_ENTER,
		.functionName = call->name,
		.functionParams = call->params,
		.functionReturnValue = after ? call->result : NULL,
		.context = call->context,
		.contextUid = 1,
		.correlationData = &call->data,
		.correlationId = call->id,
	};

	callback(userdata, CUPTI_CB_DOMAIN_DRIVER_API, call->cbid, &data);
	__asm__ volatile("" ::: "memory");
}

static void hook(struct fake_call *call, int after)
{
	if (call->cbid < CBIDS && atomic_load_explicit(&enabled[call->cbid], memory_order_relaxed))
		deliver(call, after);
}

static _Atomic unsigned char told[CUPTI_CBID_RESOURCE_SIZE];

static void tell_module(uint32_t id, CUcontext context, const void *cubin, size_t size, bool loaded)
{
	CUpti_ModuleResourceData module = { .moduleId = id, .cubinSize = size, .pCubin = cubin };
	CUpti_ResourceData data = { .context = context, .resourceDescriptor = &module };
	CUpti_CallbackId cbid = loaded ? CUPTI_CBID_RESOURCE_MODULE_LOADED :
					 CUPTI_CBID_RESOURCE_MODULE_UNLOAD_STARTING;

	if (atomic_load(&told[cbid]))
		callback(userdata, CUPTI_CB_DOMAIN_RESOURCE, cbid, (void *)&data);
}

static CUptiResult subscribe(CUpti_SubscriberHandle *subscriber, CUpti_CallbackFunc function,
			     void *data)
{
	void *driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
	void (*set)(fake_hook *) =
		driver ? (void (*)(fake_hook *))dlsym(driver, "fake_cuda_hook") : NULL;
	void (*set_modules)(fake_module_hook *) =
		driver ? (void (*)(fake_module_hook *))dlsym(driver, "fake_cuda_module_hook") :
			 NULL;

	if (!set)
		return CUPTI_ERROR_NOT_INITIALIZED;
	if (atomic_exchange(&subscribed, 1))
		return CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
	callback = function;
	userdata = data;
	*subscriber = (CUpti_SubscriberHandle)&subscribed;
	set(hook);
	if (set_modules)
		set_modules(tell_module);
	return CUPTI_SUCCESS;
}

FAKE_EXPORT CUptiResult CUPTIAPI cuptiSubscribe(CUpti_SubscriberHandle *subscriber,
						CUpti_CallbackFunc function, void *data)
{
	const char *refuse = getenv("FAKE_CUPTI_SUBSCRIBE");

	return refuse ? (CUptiResult)atoi(refuse) : subscribe(subscriber, function, data);
}

FAKE_EXPORT CUptiResult CUPTIAPI cuptiSubscribe_v2(CUpti_SubscriberHandle *subscriber,
						   CUpti_CallbackFunc function, void *data,
						   CUpti_SubscriberParams *params)
{
	/* the field behind those of the header that this was first compiled with */
	const unsigned char *several = (const unsigned char *)(&params->oldSubscriberSize + 1);

	if (!getenv("FAKE_CUPTI_SEVERAL") || params->structSize != sizeof *params + 1)
		return CUPTI_ERROR_INVALID_PARAMETER;
	return *several ? subscribe(subscriber, function, data) :
			  cuptiSubscribe(subscriber, function, data);
}

FAKE_EXPORT CUptiResult CUPTIAPI cuptiEnableCallback(uint32_t enable,
						     CUpti_SubscriberHandle subscriber,
						     CUpti_CallbackDomain domain,
						     CUpti_CallbackId cbid)
{
	const char *refuse = getenv("FAKE_CUPTI_ENABLE");

	if (refuse)
		return (CUptiResult)atoi(refuse);
	if (domain == CUPTI_CB_DOMAIN_RESOURCE && cbid < CUPTI_CBID_RESOURCE_SIZE) {
		atomic_store(&told[cbid], enable ? 1 : 0);
		return CUPTI_SUCCESS;
	}
	if (domain != CUPTI_CB_DOMAIN_DRIVER_API || cbid >= CBIDS)
		return CUPTI_ERROR_INVALID_PARAMETER;
	atomic_store(&enabled[cbid], enable ? 1 : 0);
	return CUPTI_SUCCESS;
}

FAKE_EXPORT CUptiResult CUPTIAPI cuptiGetDeviceId(CUcontext context, uint32_t *device)
{
	void *driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
	int (*ask)(CUcontext) =
		driver ? (int (*)(CUcontext))dlsym(driver, "fake_cuda_device_of") : NULL;
	int found = ask ? ask(context) : -1;

	if (found < 0)
		return CUPTI_ERROR_INVALID_CONTEXT;
	*device = (uint32_t)found;
	return CUPTI_SUCCESS;
}

FAKE_EXPORT CUptiResult CUPTIAPI cuptiGetVersion(uint32_t *version)
{
	*version = CUPTI_API_VERSION;
	return CUPTI_SUCCESS;
}

FAKE_EXPORT CUptiResult CUPTIAPI cuptiGetResultString(CUptiResult result, const char **text)
{
	*text = result == CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED ?
			"CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED" :
			"CUPTI_ERROR";
	return CUPTI_SUCCESS;
}
