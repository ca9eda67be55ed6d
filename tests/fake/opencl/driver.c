/* SPDX-License-Identifier: MIT */
/*
 * driver.c - a small OpenCL driver for the real loader: OCL_ICD_VENDORS=…/cl_fake.icd
 *
 * It has one platform with one device, contexts, buffers and user events. No function takes a lock,
 * allocates memory, starts a thread or opens a file, so whatever a program notices comes from the
 * layers above it. CL_MEM_COPY_HOST_PTR reads the pointer it was given, and crashes on a wrong one.
 */
#include <stdbool.h>
#include <string.h>

#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl.h>
#include <CL/cl_icd.h>

#define EXPORT __attribute__((visibility("default")))

enum { OBJECTS = 1 << 16, ENTRIES = sizeof(cl_icd_dispatch) / sizeof(void *) };

typedef void(CL_CALLBACK *destructor)(cl_mem, void *);

/* Every object begins with a pointer to its driver's table. */
struct object {
	const void *table;
	int refs; /* 0: not in use */
	size_t size;
	cl_context context;
	destructor called;
	void *called_with;
};

static union {
	cl_icd_dispatch table;
	void *entries[ENTRIES];
} driver;

static struct object platform = { .table = &driver, .refs = 1 };
static struct object device = { .table = &driver, .refs = 1 };
static struct object objects[OBJECTS];

/* For functions that this driver lacks. */
static cl_int CL_API_CALL refuse(void)
{
	return CL_INVALID_OPERATION;
}

static struct object *new_object(cl_context context, size_t size)
{
	static unsigned int next;

	for (int tries = 0; tries < OBJECTS; tries++) {
		struct object *o =
			&objects[__atomic_fetch_add(&next, 1, __ATOMIC_RELAXED) % OBJECTS];
		int unused = 0;

		if (!__atomic_compare_exchange_n(&o->refs, &unused, 1, false, __ATOMIC_SEQ_CST,
						 __ATOMIC_SEQ_CST))
			continue;
		o->table = &driver;
		o->size = size;
		o->context = context;
		o->called = NULL;
		return o;
	}
	return NULL;
}

static cl_int result(const struct object *o, cl_int *err)
{
	cl_int code = o ? CL_SUCCESS : CL_OUT_OF_RESOURCES;

	if (err)
		*err = code;
	return code;
}

static cl_int answer(const void *value, size_t bytes, size_t room, void *to, size_t *bytes_ret)
{
	if (to && room < bytes)
		return CL_INVALID_VALUE;
	if (to)
		memcpy(to, value, bytes);
	if (bytes_ret)
		*bytes_ret = bytes;
	return CL_SUCCESS;
}

static cl_int CL_API_CALL get_platforms(cl_uint room, cl_platform_id *ids, cl_uint *count)
{
	if (ids && room)
		ids[0] = (cl_platform_id)&platform;
	if (count)
		*count = 1;
	return CL_SUCCESS;
}

static cl_int CL_API_CALL get_platform_info(cl_platform_id id, cl_platform_info name, size_t room,
					    void *to, size_t *bytes)
{
	const char *text = name == CL_PLATFORM_VERSION        ? "OpenCL 3.0 fake" :
			   name == CL_PLATFORM_EXTENSIONS     ? "cl_khr_icd" :
			   name == CL_PLATFORM_PROFILE        ? "FULL_PROFILE" :
			   name == CL_PLATFORM_ICD_SUFFIX_KHR ? "FAKE" :
								"Fake OpenCL";

	(void)id;
	return answer(text, strlen(text) + 1, room, to, bytes);
}

static cl_int CL_API_CALL get_devices(cl_platform_id id, cl_device_type type, cl_uint room,
				      cl_device_id *ids, cl_uint *count)
{
	(void)id;
	(void)type;
	if (ids && room)
		ids[0] = (cl_device_id)&device;
	if (count)
		*count = 1;
	return CL_SUCCESS;
}

static cl_int CL_API_CALL get_device_info(cl_device_id id, cl_device_info name, size_t room,
					  void *to, size_t *bytes)
{
	cl_platform_id its = (cl_platform_id)&platform;

	(void)id;
	if (name == CL_DEVICE_PLATFORM)
		return answer(&its, sizeof its, room, to, bytes);
	return CL_INVALID_VALUE;
}

static cl_context CL_API_CALL create_context(const cl_context_properties *properties, cl_uint n,
					     const cl_device_id *devices,
					     void(CL_CALLBACK *notify)(const char *, const void *,
								       size_t, void *),
					     void *data, cl_int *err)
{
	struct object *o = new_object(NULL, 0);

	(void)properties, (void)n, (void)devices, (void)notify, (void)data;
	result(o, err);
	return (cl_context)o;
}

static cl_int CL_API_CALL get_context_info(cl_context context, cl_context_info name, size_t room,
					   void *to, size_t *bytes)
{
	cl_device_id its = (cl_device_id)&device;

	(void)context;
	if (name == CL_CONTEXT_DEVICES)
		return answer(&its, sizeof its, room, to, bytes);
	return CL_INVALID_VALUE;
}

static cl_mem CL_API_CALL create_buffer(cl_context context, cl_mem_flags flags, size_t size,
					void *host, cl_int *err)
{
	struct object *o = new_object(context, size);
	static char seen;

	if (o && flags & CL_MEM_COPY_HOST_PTR)
		seen = *(const volatile char *)host;
	(void)seen;
	result(o, err);
	return (cl_mem)o;
}

static cl_int CL_API_CALL get_memory_info(cl_mem memory, cl_mem_info name, size_t room, void *to,
					  size_t *bytes)
{
	const struct object *o = (const struct object *)memory;
	cl_mem_object_type type = CL_MEM_OBJECT_BUFFER;
	cl_uint refs = (cl_uint)o->refs;

	switch (name) {
	case CL_MEM_TYPE: return answer(&type, sizeof type, room, to, bytes);
	case CL_MEM_SIZE: return answer(&o->size, sizeof o->size, room, to, bytes);
	case CL_MEM_REFERENCE_COUNT: return answer(&refs, sizeof refs, room, to, bytes);
	case CL_MEM_CONTEXT: return answer(&o->context, sizeof o->context, room, to, bytes);
	default: return CL_INVALID_VALUE;
	}
}

static cl_int CL_API_CALL set_destructor(cl_mem memory, destructor called, void *data)
{
	struct object *o = (struct object *)memory;

	o->called = called;
	o->called_with = data;
	return CL_SUCCESS;
}

/* The callback may leave by longjmp or an exception: the object is gone by then. */
static cl_int release(struct object *o)
{
	destructor called = o->called;

	if (__atomic_sub_fetch(&o->refs, 1, __ATOMIC_SEQ_CST) == 0 && called)
		called((cl_mem)o, o->called_with);
	return CL_SUCCESS;
}

static cl_int CL_API_CALL release_memory(cl_mem memory)
{
	return release((struct object *)memory);
}

static cl_int CL_API_CALL release_context(cl_context context)
{
	return release((struct object *)context);
}

static cl_int CL_API_CALL release_event(cl_event event)
{
	return release((struct object *)event);
}

static cl_event CL_API_CALL create_user_event(cl_context context, cl_int *err)
{
	struct object *o = new_object(context, 0);

	result(o, err);
	return (cl_event)o;
}

static cl_int CL_API_CALL get_event_info(cl_event event, cl_event_info name, size_t room, void *to,
					 size_t *bytes)
{
	const struct object *o = (const struct object *)event;

	if (name == CL_EVENT_CONTEXT)
		return answer(&o->context, sizeof o->context, room, to, bytes);
	return CL_INVALID_VALUE;
}

__attribute__((constructor)) static void fill(void)
{
	cl_icd_dispatch *t = &driver.table;

	for (int i = 0; i < ENTRIES; i++)
		driver.entries[i] = (void *)refuse;
	t->clGetPlatformIDs = get_platforms;
	t->clGetPlatformInfo = get_platform_info;
	t->clGetDeviceIDs = get_devices;
	t->clGetDeviceInfo = get_device_info;
	t->clCreateContext = create_context;
	t->clGetContextInfo = get_context_info;
	t->clReleaseContext = release_context;
	t->clCreateBuffer = create_buffer;
	t->clGetMemObjectInfo = get_memory_info;
	t->clSetMemObjectDestructorCallback = set_destructor;
	t->clReleaseMemObject = release_memory;
	t->clCreateUserEvent = create_user_event;
	t->clGetEventInfo = get_event_info;
	t->clReleaseEvent = release_event;
}

EXPORT void *CL_API_CALL clGetExtensionFunctionAddress(const char *name)
{
	return !strcmp(name, "clIcdGetPlatformIDsKHR") ? (void *)get_platforms : NULL;
}

EXPORT cl_int CL_API_CALL clIcdGetPlatformIDsKHR(cl_uint room, cl_platform_id *ids, cl_uint *count)
{
	return get_platforms(room, ids, count);
}

EXPORT cl_int CL_API_CALL clGetPlatformInfo(cl_platform_id id, cl_platform_info name, size_t room,
					    void *to, size_t *bytes)
{
	return get_platform_info(id, name, room, to, bytes);
}
