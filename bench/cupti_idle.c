/* SPDX-License-Identifier: MIT */
/*
 * cupti_idle.c - subscribes to the calls that bench/cuda_calls makes, and does nothing in them.
 *
 * This is CUPTI's own cost: no tool based on CUPTI can be cheaper. Loaded by the driver
 * through CUDA_INJECTION64_PATH, as the door is.
 */
#include "capture/cuda/subscriber.h"

#include <stdio.h>

int InitializeInjection(void);

static void called(void *userdata, CUpti_CallbackDomain domain, CUpti_CallbackId cbid,
		   const void *data)
{
	(void)userdata;
	(void)domain;
	(void)cbid;
	(void)data;
}

__attribute__((visibility("default"))) int InitializeInjection(void)
{
	static const CUpti_CallbackId calls[] = {
		CUPTI_DRIVER_TRACE_CBID_cuMemAlloc_v2,   CUPTI_DRIVER_TRACE_CBID_cuMemFree_v2,
		CUPTI_DRIVER_TRACE_CBID_cuMemAllocAsync, CUPTI_DRIVER_TRACE_CBID_cuMemFreeAsync,
		CUPTI_DRIVER_TRACE_CBID_cuEventCreate,   CUPTI_DRIVER_TRACE_CBID_cuEventDestroy_v2,
	};
	static struct gt_cupti cupti;
	CUpti_SubscriberHandle subscriber;
	unsigned next = 0;

	if (!gt_cupti_load(&cupti, &next) || cupti.subscribe(&subscriber, called, NULL)) {
		fprintf(stderr, "cupti_idle: CUPTI would not have us\n");
		return 1;
	}
	for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
		cupti.enable(1, subscriber, CUPTI_CB_DOMAIN_DRIVER_API, calls[i]);
	return 1;
}
