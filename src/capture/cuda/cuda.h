/* SPDX-License-Identifier: MIT */
/* cuda.h - what the files of the CUDA door share. */
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
	bool free;                  /* nobody's */
	bool quiet;                 /* made inside the driver: it must not be asked anything */
	struct gt_cuda_call *below; /* the call that this one was made in */
};

/* CUPTI's callback for all rows of cuda.def; `userdata` is none. */
void gt_cuda_called(void *userdata, CUpti_CallbackDomain domain, CUpti_CallbackId cbid,
		    const void *data);
/* Enables the callback of each row, and of nothing else; how many there are. */
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

/* driver.c: what only the driver knows of new resources. */
extern const struct gt_call_door gt_cuda_door;
void gt_cuda_driver_start(const struct gt_cupti *cupti);
/* The exit handlers are running: the runtime now gives back what it held for the whole process. */
void gt_cuda_driver_exiting(void);
/* The row that a call of `function` is recorded under: its own, but for the program's own code. */
enum gt_function_id gt_cuda_row(enum gt_function_id function, const uint64_t *argv);
/* Before a call: puts the primary context in the place of its device. */
void gt_cuda_before(enum gt_function_id function, uint64_t *argv);
/* After a call that succeeded: notes primary contexts, forgets contexts that are gone. */
void gt_cuda_after(enum gt_function_id function, const uint64_t *argv);
