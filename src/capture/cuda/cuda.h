/* SPDX-License-Identifier: MIT */
/* cuda.h - declarations that the files of the CUDA door share. */
#pragma once

#include <cupti.h>

#include "capture/cuda/old_names.h" /* before our table is read */
#include "guest/guest.h"

/* The functions of CUPTI that we call. It is loaded, never linked. */
struct gt_cupti {
	CUptiResult (*subscribe)(CUpti_SubscriberHandle *subscriber, CUpti_CallbackFunc callback,
				 void *userdata);
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

/* A static variable of device code. */
struct gt_cuda_variable {
	const char *name; /* as the compiler mangled it */
	uint64_t bytes;
	uint32_t index; /* of its symbol */
	bool managed;
};

typedef void gt_cuda_variable_fn(void *context, const struct gt_cuda_variable *variable);

/* Calls `each` on every variable of a cubin. Bytes that are no cubin have none. */
void gt_cuda_variables(const void *bytes, size_t size, gt_cuda_variable_fn *each, void *context);
/* A module was loaded, or is about to be unloaded: its variables come or go. */
void gt_cuda_module(CUpti_CallbackId cbid, const CUpti_ResourceData *data, const void *caller);

/* cuda_driver.c: what only the driver knows of new resources. */
extern const struct gt_call_door gt_cuda_door;
void gt_cuda_driver_start(const struct gt_cupti *cupti);
/* Exit handlers are running: the runtime now releases what it held for the whole process. */
void gt_cuda_driver_exiting(void);
/* The row under which a call of `function` is recorded: its own, except for embedded code. */
enum gt_function_id gt_cuda_row(enum gt_function_id function, const uint64_t *argv);
/* Before a call: replaces the device of a primary context with the context. */
void gt_cuda_before(enum gt_function_id function, uint64_t *argv);
/* After a successful call: remembers primary contexts, forgets ended ones. */
void gt_cuda_after(enum gt_function_id function, const uint64_t *argv);
