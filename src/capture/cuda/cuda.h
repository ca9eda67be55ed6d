/* SPDX-License-Identifier: MIT */
/*
 * cuda.h - what both ways into CUDA share: what a call means, and what only the driver knows.
 *
 * The direct way (direct.c) wraps the driver's functions; CUPTI's way (subscriber.h) is called back
 * around them. A process is tracked by one of them.
 */
#pragma once

#include <stdatomic.h>

#include "capture/cuda/cuda_types.h"
#include "guest/guest.h"

/* True if preload.c is in this process: CUPTI's way is not taken then. */
bool gt_cuda_is_preloaded(void);

/* `device_of`: the device of a context; `device_name`: the driver's cuDeviceGetName, or NULL. */
struct gt_cuda_driver {
	bool (*device_of)(CUcontext context, uint32_t *device);
	CUresult (*device_name)(char *name, int size, CUdevice device);
};

void gt_cuda_driver_start(const struct gt_cuda_driver *driver);
/* Exit handlers are running: the runtime now releases what it held for the whole process. */
void gt_cuda_driver_exiting(void);

/* The row under which a call of `function` is recorded: its own, except for embedded code. */
enum gt_function_id gt_cuda_row(enum gt_function_id function, const uint64_t *argv);
/* Before a call: replaces the device of a primary context with the context. */
void gt_cuda_before(enum gt_function_id function, uint64_t *argv);
/* After a successful call: remembers primary contexts, forgets ended ones. */
void gt_cuda_after(enum gt_function_id function, const uint64_t *argv);

/* For a gt_call_door: the size of what a call made. */
uint64_t gt_cuda_size(const struct gt_call *call, enum gt_function_id row, uint64_t handle);
/* The device it is on. `context` is current; `in_driver`: only what is known already. */
uint16_t gt_cuda_place(const struct gt_call *call, enum gt_function_id row, CUcontext context,
		       bool in_driver);

/* The direct way: after a call that loaded code, its static variables are recorded … */
void gt_cuda_code_loaded(enum gt_function_id function, const uint64_t *argv, CUcontext context,
			 const void *caller);
/* … and after one that unloaded it, that they have ended. */
void gt_cuda_code_unloaded(uint64_t module, const void *caller);

/*
 * The direct way: device memory that the driver takes for itself (measure.c). A call that begins or
 * returns during a measurement, and changes what is allocated, says so: the measurement is dropped.
 */
extern _Atomic uint32_t gt_cuda_measuring, gt_cuda_memory_changes;

static inline void gt_cuda_memory_changes_now(void)
{
	if (atomic_load_explicit(&gt_cuda_measuring, memory_order_relaxed))
		atomic_fetch_add_explicit(&gt_cuda_memory_changes, 1, memory_order_relaxed);
}

struct gt_cuda_reading {
	uint64_t used;
	uint32_t changes;
	bool is_known;
	bool is_skipped; /* it is not measured */
};

void gt_cuda_measure_start(void *(*find)(void *, const char *), void *handle);
void gt_cuda_measure_begin(struct gt_cuda_reading *r);
/* The change since then; 0 also if it is not known. Every beginning has its end. */
int64_t gt_cuda_measure_end(const struct gt_cuda_reading *r);
/* Records what was measured, under a row of cuda_static.def. */
void gt_cuda_measured(enum gt_function_id row, uint64_t handle, uint64_t bytes, CUcontext context,
		      const void *caller);
