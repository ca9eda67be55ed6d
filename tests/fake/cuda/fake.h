/* SPDX-License-Identifier: MIT */
/*
 * fake.h - a CUDA driver on host memory and a CUPTI over it, for tests without a GPU.
 *
 * README.md says what they prove. Glossary:
 *   object  anything that a call creates: one entry of a table, known by its class and handle
 *   class   objects that one function ends; each class has a name space of its own
 *   owner   the context that an object dies with; NULL for those that outlive contexts
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cuda.h>
#include <cupti.h>

#include "../../../src/capture/cuda/old_names.h"

#define FAKE_EXPORT __attribute__((visibility("default")))

/* clang-format off */
enum fake_class {
	FAKE_CONTEXT, FAKE_GREEN, FAKE_MEMORY, FAKE_HOST, FAKE_REGISTERED, FAKE_PHYSICAL,
	FAKE_RESERVATION, FAKE_MAPPING, FAKE_POOL, FAKE_ARRAY, FAKE_MIPMAP, FAKE_IPC, FAKE_EXTERNAL,
	FAKE_SEMAPHORE, FAKE_STREAM, FAKE_EVENT, FAKE_MODULE, FAKE_LIBRARY, FAKE_GRAPH,
	FAKE_EXEC, FAKE_CODE, FAKE_TEXTURE, FAKE_SURFACE, FAKE_CLASS_COUNT
};
/* clang-format on */

struct fake_object {
	uint64_t handle;
	uint64_t size;
	uint64_t key; /* IPC memory: what was opened; a context: its device */
	CUcontext owner;
	void *block; /* what is freed with it */
	uint32_t refs;
	uint8_t class;
	struct fake_object *next;
};

/* objects.c: all of it thread-safe */

/* A new object whose handle is the address of `bytes` fresh bytes (at least 1). */
CUresult fake_new(enum fake_class class, uint64_t *handle, size_t bytes, CUcontext owner);
/* A new object under a handle that is given. */
CUresult fake_new_at(enum fake_class class, uint64_t handle, size_t size, CUcontext owner);
/* Takes one reference away, the object with the last; CUDA_ERROR_INVALID_VALUE: not alive. */
CUresult fake_end(enum fake_class class, uint64_t handle);
CUresult fake_retain(enum fake_class class, uint64_t handle);
bool fake_is_alive(enum fake_class class, uint64_t handle);
uint64_t fake_size(enum fake_class class, uint64_t handle);
void fake_set_key(enum fake_class class, uint64_t handle, uint64_t key);
uint64_t fake_key(enum fake_class class, uint64_t handle);
/* The object of a class with this key, one reference more; 0: there is none. */
uint64_t fake_find_key(enum fake_class class, uint64_t key);
/* The object of a class whose bytes hold this address, one reference more; 0: there is none. */
uint64_t fake_find_address(enum fake_class class, uint64_t address);
/* Ends everything that a context owns. */
void fake_end_owned(CUcontext context);
/* How many are alive, all classes, and their device bytes. */
FAKE_EXPORT uint64_t fake_cuda_alive(void);
FAKE_EXPORT uint64_t fake_cuda_bytes(void);
/* What the device has for this driver. */
uint64_t fake_cuda_total(void);

/* call.c */

/* What CUPTI is told about a call; in the caller's frame while the call lasts. */
struct fake_call {
	uint32_t cbid;
	const char *name;
	const void *params;
	CUresult *result;
	CUcontext context;
	uint64_t data; /* the subscriber's own, from entry to exit */
	uint32_t id;
};

/* CUPTI's way in: called with 0 before and 1 after each call of a function that has a cbid. */
typedef void fake_hook(struct fake_call *call, int after);
FAKE_EXPORT void fake_cuda_hook(fake_hook *hook);

/* A module that was loaded (true) or is about to go, with its file's bytes. */
typedef void fake_module_hook(uint32_t id, CUcontext context, const void *cubin, size_t size,
			      bool loaded);
FAKE_EXPORT void fake_cuda_module_hook(fake_module_hook *hook);
void fake_tell_module(uint32_t id, const void *cubin, size_t size, bool loaded);

/* False: the call must not be made, *result says why. */
bool fake_begin(struct fake_call *call);
void fake_finish(struct fake_call *call);
/* Writes the names of calls that fail into the file FAKE_CUDA_ERRORS; returns the result. */
CUresult fake_result(const char *name, CUresult result);

/* context.c */
CUcontext fake_current(void);
int fake_devices(void);

/* An address that handles are read from and written to, whatever their type. */
#define H(handle)   ((uint64_t)(uintptr_t)(handle))
#define OUT(handle) ((uint64_t *)(handle))
/* Functions that need a context. */
#define NEED_CONTEXT(body)  (fake_current() ? (body) : CUDA_ERROR_INVALID_CONTEXT)
#define NEED(pointer, body) ((pointer) ? (body) : CUDA_ERROR_INVALID_VALUE)

#define UNPACK(...) __VA_ARGS__
/* A function of the driver that CUPTI can be told of: its body is an expression, its result. */
#define TRACED(fn, parameters, names, body)                                                        \
	FAKE_EXPORT CUresult CUDAAPI fn parameters                                                 \
	{                                                                                          \
		fn##_params params = { UNPACK names };                                             \
		CUresult result = CUDA_SUCCESS;                                                    \
		struct fake_call call = { .cbid = CUPTI_DRIVER_TRACE_CBID_##fn,                    \
					  .name = #fn,                                             \
					  .params = &params,                                       \
					  .result = &result };                                     \
                                                                                                   \
		if (fake_begin(&call))                                                             \
			result = (body);                                                           \
		fake_finish(&call);                                                                \
		return result;                                                                     \
	}
/* One that nobody is told of. */
#define PLAIN(fn, parameters, body)                                                                \
	FAKE_EXPORT CUresult CUDAAPI fn parameters                                                 \
	{                                                                                          \
		return fake_result(#fn, (body));                                                   \
	}

/* nsight.c: the driver that it stands before. */
void *fake_behind(void);
