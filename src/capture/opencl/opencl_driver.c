/* SPDX-License-Identifier: MIT */
/* opencl_driver.c - what only the OpenCL driver knows of an object: size, count, platform. */
#include "capture/opencl/opencl.h"

#include <pthread.h>
#include <stdlib.h>

#include "base/small_printf.h"

/*
 * Every object starts with a pointer to its driver's dispatch table (cl_khr_icd requires it), so
 * one load identifies the driver. A driver with several platforms is asked, and so is the driver of
 * an object that another layer has wrapped.
 */
static struct platform {
	cl_platform_id id;
	const void *driver;
	bool shares_driver;
	uint16_t place;
} platforms[GT_CL_PLATFORMS_MAX];
static cl_uint platform_count;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static const void *driver_of(uint64_t object)
{
	return *(const void *const *)(uintptr_t)object;
}

static void find_platforms(void)
{
	/* runs once, in a call whose stack may be small */
	static cl_platform_id ids[GT_CL_PLATFORMS_MAX];
	static char name[256], numbered[300];

	if (gt_cl_next->clGetPlatformIDs(GT_CL_PLATFORMS_MAX, ids, &platform_count))
		platform_count = 0;
	if (platform_count > GT_CL_PLATFORMS_MAX)
		platform_count = GT_CL_PLATFORMS_MAX;
	for (cl_uint i = 0; i < platform_count; i++) {
		struct platform *p = &platforms[i];

		*p = (struct platform){ .id = ids[i], .driver = driver_of((uintptr_t)ids[i]) };
		for (cl_uint j = 0; j < i; j++)
			if (platforms[j].driver == p->driver)
				platforms[j].shares_driver = p->shares_driver = true;
		if (gt_cl_next->clGetPlatformInfo(ids[i], CL_PLATFORM_NAME, sizeof name, name,
						  NULL))
			strcpy(name, "unnamed platform");
		name[sizeof name - 1] = '\0';
		/* platforms with the same name are numbered */
		gt_snprintf(numbered, sizeof numbered, "%s", name);
		for (cl_uint j = 0, n = 1; j < i; j++)
			if (platforms[j].place == gt_guest_place(GT_OPENCL, numbered))
				gt_snprintf(numbered, sizeof numbered, "%.40s #%u", name, ++n);
		p->place = gt_guest_place(GT_OPENCL, numbered);
	}
}

int gt_cl_platform_index(cl_platform_id platform)
{
	pthread_once(&once, find_platforms);
	for (cl_uint i = 0; platform && i < platform_count; i++)
		if (platforms[i].id == platform)
			return (int)i;
	return -1;
}

uint16_t gt_cl_platform_place(int index)
{
	return index < 0 ? 0 : platforms[index].place;
}

/*
 * A function that is not in the dispatch table, from any platform of the object's driver: its own
 * platform is not known yet.
 */
static void *extension_of(const void *object, const char *name)
{
	void *function = NULL;

	for (cl_uint i = 0; i < platform_count && !function; i++)
		if (platforms[i].driver == driver_of((uintptr_t)object))
			function = gt_cl_next->clGetExtensionFunctionAddressForPlatform(
				platforms[i].id, name);
	return function;
}

typedef cl_int(CL_API_CALL *info_fn)(void *object, cl_uint name, size_t size, void *value,
				     size_t *size_ret);

/* ask_<context>: the context of an object, by the query that its kind's row in kinds.def names. */
#define ASK(context_, query, name)                                                                 \
	static cl_context ask_##context_(void *object)                                             \
	{                                                                                          \
		cl_context context = NULL;                                                         \
                                                                                                   \
		gt_cl_next->query(object, name, sizeof context, &context, NULL);                   \
		return context;                                                                    \
	}
ASK(QUEUE, clGetCommandQueueInfo, CL_QUEUE_CONTEXT)
ASK(MEMORY, clGetMemObjectInfo, CL_MEM_CONTEXT)
ASK(SAMPLER, clGetSamplerInfo, CL_SAMPLER_CONTEXT)
ASK(PROGRAM, clGetProgramInfo, CL_PROGRAM_CONTEXT)
ASK(KERNEL, clGetKernelInfo, CL_KERNEL_CONTEXT)
ASK(EVENT, clGetEventInfo, CL_EVENT_CONTEXT)

static cl_context ask_CONTEXT(void *object)
{
	return object;
}

static cl_context ask_NOTHING(void *object)
{
	return NULL;
}

/* Not every version of the extension can query the context; all can query the queues. */
static cl_context ask_COMMAND_BUFFER(void *object)
{
	info_fn ask = (info_fn)extension_of(object, "clGetCommandBufferInfoKHR");
	cl_command_queue queues[16];
	size_t size = 0;

	if (!ask || ask(object, CL_COMMAND_BUFFER_QUEUES_KHR, sizeof queues, queues, &size) ||
	    size < sizeof *queues)
		return NULL;
	return ask_QUEUE(queues[0]);
}

static cl_context ask_ACCELERATOR(void *object)
{
	info_fn ask = (info_fn)extension_of(object, "clGetAcceleratorInfoINTEL");
	cl_context context = NULL;

	if (ask)
		ask(object, CL_ACCELERATOR_CONTEXT_INTEL, sizeof context, &context, NULL);
	return context;
}

static cl_context ask_SEMAPHORE(void *object)
{
	info_fn ask = (info_fn)extension_of(object, "clGetSemaphoreInfoKHR");
	cl_context context = NULL;

	if (ask)
		ask(object, CL_SEMAPHORE_CONTEXT_KHR, sizeof context, &context, NULL);
	return context;
}

static cl_context (*const ask_context[GT_KIND_COUNT])(void *object) = {
#define ASK_CL(type, context)                                          ask_##context
#define ASK_NULL                                                       ask_NOTHING
#define KIND(id, name, plural, family, memory, habits, label, cl, ...) [GT_##id] = ASK_##cl,
#include "api/kinds.def"
#undef KIND
};

static cl_platform_id ask_platform(enum gt_kind kind, void *object)
{
	cl_device_id devices[64], device = NULL;
	cl_platform_id platform = NULL;
	cl_context context;

	if (kind == GT_SUBDEVICE) {
		device = object;
	} else {
		context = ask_context[kind](object);
		if (context && !gt_cl_next->clGetContextInfo(context, CL_CONTEXT_DEVICES,
							     sizeof devices, devices, NULL))
			device = devices[0];
	}
	if (device)
		gt_cl_next->clGetDeviceInfo(device, CL_DEVICE_PLATFORM, sizeof platform, &platform,
					    NULL);
	return platform;
}

int gt_cl_platform_of(enum gt_kind kind, uint64_t object)
{
	const void *driver;

	pthread_once(&once, find_platforms);
	if (!object)
		return -1;
	driver = driver_of(object);
	for (cl_uint i = 0; i < platform_count; i++)
		if (platforms[i].driver == driver && !platforms[i].shares_driver)
			return (int)i;
	return gt_cl_platform_index(ask_platform(kind, (void *)(uintptr_t)object));
}

/* Memory without an object, whose platform is that of its context. */
static bool is_bare_address(enum gt_kind kind)
{
	return kind == GT_SVM || gt_kinds[kind].family == GT_DEVICE_MEMORY;
}

static uint16_t place_of(const struct gt_call *call, enum gt_function_id row, uint64_t handle)
{
	enum gt_kind kind = (enum gt_kind)gt_functions[row].kind;

	if (is_bare_address(kind))
		return gt_cl_platform_place(
			gt_cl_platform_of(GT_CONTEXT, gt_call_owner(call, row)));
	return gt_cl_platform_place(gt_cl_platform_of(kind, handle));
}

/* The memory object that an image is made of, which it keeps alive; 0 for none. */
static uint64_t made_of(uint64_t handle)
{
	cl_mem object = (cl_mem)(uintptr_t)handle, whole = NULL;

	if (gt_cl_next->clGetMemObjectInfo(object, CL_MEM_ASSOCIATED_MEMOBJECT, sizeof whole,
					   &whole, NULL))
		return 0;
	return (uint64_t)(uintptr_t)whole;
}

static uint64_t owner_of(const struct gt_call *call, enum gt_function_id row, uint64_t handle)
{
	(void)call;
	(void)row;
	return made_of(handle);
}

static uint64_t size_of(const struct gt_call *call, enum gt_function_id row, uint64_t handle)
{
	size_t size = 0;

	(void)call;
	if (gt_kinds[gt_functions[row].kind].family != GT_BUFFER)
		return 0;
	/* an image made of another object has no bytes of its own; other views are kinds */
	if (gt_functions[row].kind == GT_IMAGE && made_of(handle))
		return 0;
	gt_cl_next->clGetMemObjectInfo((cl_mem)(uintptr_t)handle, CL_MEM_SIZE, sizeof size, &size,
				       NULL);
	return size;
}

/* The caller passed no pointer for the count, but the driver knows it. */
static uint32_t count_of(const struct gt_call *call, enum gt_function_id row)
{
	const uint64_t *argv = call->argv;
	cl_uint count = 0;
	size_t kernels = 0;

	if (row == GT_FN_clCreateKernelsInProgram &&
	    !gt_cl_next->clGetProgramInfo((cl_program)(uintptr_t)argv[0], CL_PROGRAM_NUM_KERNELS,
					  sizeof kernels, &kernels, NULL))
		count = (cl_uint)kernels;
	if (row == GT_FN_clCreateSubDevices)
		gt_cl_next->clCreateSubDevices((cl_device_id)(uintptr_t)argv[0],
					       (const void *)(uintptr_t)argv[1], 0, NULL, &count);
	if (row == GT_FN_clCreateSubDevicesEXT && gt_cl_next->clCreateSubDevicesEXT)
		gt_cl_next->clCreateSubDevicesEXT((cl_device_id)(uintptr_t)argv[0],
						  (const void *)(uintptr_t)argv[1], 0, NULL,
						  &count);
	return count;
}

const struct gt_call_door gt_cl_door = {
	.size = size_of, .count = count_of, .owner = owner_of, .place = place_of
};
