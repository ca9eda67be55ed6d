/* SPDX-License-Identifier: MIT */
/* subscriber.h - CUPTI's way into CUDA: the driver loads us, CUPTI calls us back around each call.
 */
#pragma once

#include <cupti.h>

#include "capture/cuda/cuda.h"

/* CUpti_SubscriberParams, as of CUPTI 13.2. */
struct gt_cupti_wish {
	size_t size; /* up to and with the last field */
	const char *name;
	char *other; /* where the name of the one subscriber goes; NULL: we do not ask */
	size_t other_size;
	uint8_t several; /* others may subscribe, too */
};

/* The functions of CUPTI that we call. It is loaded, never linked. */
struct gt_cupti {
	CUptiResult (*subscribe)(CUpti_SubscriberHandle *subscriber, CUpti_CallbackFunc callback,
				 void *userdata);
	/* since CUPTI 13.2, several at once; NULL: there is none */
	CUptiResult (*subscribe_v2)(CUpti_SubscriberHandle *subscriber, CUpti_CallbackFunc callback,
				    void *userdata, struct gt_cupti_wish *wish);
	CUptiResult (*enable)(uint32_t enable, CUpti_SubscriberHandle subscriber,
			      CUpti_CallbackDomain domain, CUpti_CallbackId cbid);
	CUptiResult (*device_of)(CUcontext context, uint32_t *device);
	CUptiResult (*text_of)(CUptiResult result, const char **text);
	char path[4096];
};

/* The next CUPTI that can be loaded here (find_cupti.h); false when there are no more. */
bool gt_cupti_load(struct gt_cupti *cupti, unsigned *next);

/* One call in flight, from CUPTI's callback at its entry to the one at its exit. */
struct gt_cuda_call {
	struct gt_guest_call guest;
	uint64_t argv[GT_ARGS_MAX];
	CUcontext context; /* the thread's current one */
	uint32_t correlation;
	bool free;                  /* not in use */
	bool in_driver;             /* made inside the driver, which must not be called then */
	struct gt_cuda_call *below; /* the call that made this one */
};

/* CUPTI's callback for all rows of cuda.def; `userdata` is unused. */
void gt_cuda_called(void *userdata, CUpti_CallbackDomain domain, CUpti_CallbackId cbid,
		    const void *data);
/* Enables the callbacks of the rows and of modules; returns the number of rows enabled. */
size_t gt_cuda_enable_rows(const struct gt_cupti *cupti, CUpti_SubscriberHandle subscriber);
