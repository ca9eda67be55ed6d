/* SPDX-License-Identifier: MIT */
/*
 * A driver for user events alone, behind a dispatch table as a loader hands it to a layer.
 *
 * Its functions take no lock and no memory, so whatever waits in a signal handler is the layer.
 */
#ifndef FAKE_TABLE_H
#define FAKE_TABLE_H

#include "cl_common.h"

#include <dlfcn.h>

#include <CL/cl_icd.h>
#include <CL/cl_layer.h>

#define TABLE_ENTRIES (sizeof(cl_icd_dispatch) / sizeof(void *)) /* Debian's */
#define TABLE_MAX     (TABLE_ENTRIES + 8)
#define FAKE_EVENTS   4096

typedef cl_int(CL_API_CALL *layer_info_fn)(cl_layer_info, size_t, void *, size_t *);
typedef cl_int(CL_API_CALL *layer_init_fn)(cl_uint, const cl_icd_dispatch *, cl_uint *,
					   const cl_icd_dispatch **);
typedef cl_int(CL_API_CALL *layer_init_properties_fn)(cl_uint, const cl_icd_dispatch *, cl_uint *,
						      const cl_icd_dispatch **,
						      const cl_properties *);
typedef cl_int(CL_API_CALL *layer_deinit_fn)(void);

struct layer {
	layer_info_fn info;
	layer_init_fn init;
	layer_init_properties_fn init_with_properties;
	layer_deinit_fn deinit;
};

/* A newer loader's table is longer than ours: the union makes room for that. */
static union {
	cl_icd_dispatch table;
	void *entries[TABLE_MAX];
} below;

/* Every object begins with a pointer to its driver's table. */
struct fake_object {
	void *driver;
	volatile int used;
};

static struct fake_object fake_platform = { .driver = &below };
static struct fake_object fake_events[FAKE_EVENTS];

static inline cl_int CL_API_CALL fake_platforms(cl_uint room, cl_platform_id *platforms,
						cl_uint *count)
{
	if (platforms && room)
		platforms[0] = (cl_platform_id)&fake_platform;
	if (count)
		*count = 1;
	return CL_SUCCESS;
}

static inline cl_int CL_API_CALL fake_platform_info(cl_platform_id platform, cl_platform_info name,
						    size_t size, void *value, size_t *size_ret)
{
	static const char text[] = "fake";

	(void)platform;
	(void)name;
	if (value && size < sizeof(text))
		return CL_INVALID_VALUE;
	if (value)
		memcpy(value, text, sizeof(text));
	if (size_ret)
		*size_ret = sizeof(text);
	return CL_SUCCESS;
}

static inline cl_event CL_API_CALL fake_create_user_event(cl_context context, cl_int *err)
{
	static volatile unsigned int next;

	(void)context;
	for (int tries = 0; tries < FAKE_EVENTS; tries++) {
		struct fake_object *event =
			&fake_events[__atomic_fetch_add(&next, 1, __ATOMIC_RELAXED) % FAKE_EVENTS];
		int unused = 0;

		if (!__atomic_compare_exchange_n(&event->used, &unused, 1, false, __ATOMIC_SEQ_CST,
						 __ATOMIC_SEQ_CST))
			continue;
		event->driver = &below;
		if (err)
			*err = CL_SUCCESS;
		return (cl_event)event;
	}
	if (err)
		*err = CL_OUT_OF_RESOURCES;
	return NULL;
}

static inline cl_int CL_API_CALL fake_release_event(cl_event event)
{
	__atomic_store_n(&((struct fake_object *)event)->used, 0, __ATOMIC_SEQ_CST);
	return CL_SUCCESS;
}

static struct fake_object fake_device __attribute__((unused)) = { .driver = &below };
static struct fake_object fake_parts[2] = { { .driver = &below }, { .driver = &below } };

static inline cl_int CL_API_CALL fake_device_info(cl_device_id device, cl_device_info name,
						  size_t size, void *value, size_t *size_ret)
{
	cl_platform_id platform = (cl_platform_id)&fake_platform;

	(void)device;
	if (name != CL_DEVICE_PLATFORM || (value && size < sizeof(platform)))
		return CL_INVALID_VALUE;
	if (value)
		memcpy(value, &platform, sizeof(platform));
	if (size_ret)
		*size_ret = sizeof(platform);
	return CL_SUCCESS;
}

static inline cl_int CL_API_CALL fake_sub_devices(cl_device_id device, const cl_ulong *properties,
						  cl_uint room, cl_device_id *parts, cl_uint *count)
{
	(void)device;
	(void)properties;
	for (cl_uint i = 0; parts && i < room && i < 2; i++)
		parts[i] = (cl_device_id)&fake_parts[i];
	if (count)
		*count = 2;
	return CL_SUCCESS;
}

static inline cl_int CL_API_CALL fake_count_device(cl_device_id device)
{
	return device ? CL_SUCCESS : CL_INVALID_DEVICE;
}

static inline cl_int CL_API_CALL fake_finish(cl_command_queue queue)
{
	return queue ? CL_INVALID_COMMAND_QUEUE : CL_SUCCESS;
}

/* Entries without a function are marks, to be found again or not; none of them is ever called. */
static inline void *mark(size_t entry)
{
	return (void *)(0x1000 + 16 * entry);
}

static inline void fake_table_init(void)
{
	for (size_t i = 0; i < TABLE_MAX; i++)
		below.entries[i] = mark(i);
	below.table.clGetPlatformIDs = fake_platforms;
	below.table.clGetPlatformInfo = fake_platform_info;
	below.table.clCreateUserEvent = fake_create_user_event;
	below.table.clReleaseEvent = fake_release_event;
	below.table.clFinish = fake_finish;
	below.table.clGetDeviceInfo = fake_device_info;
	below.table.clCreateSubDevicesEXT = fake_sub_devices;
	below.table.clRetainDeviceEXT = fake_count_device;
	below.table.clReleaseDeviceEXT = fake_count_device;
}

/* dlsym's answer as a function: C has no cast for it. */
static inline void symbol_find(void *function, void *library, const char *name)
{
	void *address = dlsym(library, name);

	if (!address)
		quit(STATUS_FAILED, "the layer has no %s", name);
	memcpy(function, &address, sizeof(address));
}

static inline void layer_load(struct layer *layer, const char *path)
{
	void *library = path ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;

	if (!library)
		quit(STATUS_FAILED, "cannot load the layer: %s", path ? dlerror() : "no --layer");
	symbol_find(&layer->info, library, "clGetLayerInfo");
	symbol_find(&layer->init, library, "clInitLayer");
	symbol_find(&layer->init_with_properties, library, "clInitLayerWithProperties");
	symbol_find(&layer->deinit, library, "clDeinitLayer");
}

/* The table of a layer that has been put over the small driver. */
static inline const cl_icd_dispatch *layer_open(const char *path)
{
	const cl_icd_dispatch *table;
	struct layer layer;
	cl_uint entries;

	layer_load(&layer, path);
	fake_table_init();
	if (layer.init(TABLE_ENTRIES, &below.table, &entries, &table) != CL_SUCCESS)
		quit(STATUS_FAILED, "the layer refused");
	return table;
}

#endif
