/* SPDX-License-Identifier: MIT */
/*
 * two_platforms: a driver with two platforms behind one table, and extensions that no driver at
 * hand has. Each function prints whose it is; a call must reach the platform that its object is of.
 *
 * --layer FILE. The driver's objects know their platform; the layer has to ask.
 */
#include "fake_table.h"

#include <CL/cl_egl.h>
#include <CL/cl_gl.h>

enum what {
	PLATFORM,
	DEVICE,
	CONTEXT,
	QUEUE,
	BUFFER,
	IMAGE,
	EVENT,
	COMMAND_BUFFER,
	ACCELERATOR,
	SEMAPHORE
};

struct object {
	void *driver;
	enum what what;
	int platform;
	struct object *of; /* an object's context, a view's buffer */
	size_t size;
};

static struct object platforms[2], devices[2], contexts[2], queues[2];

static struct object *object_new(enum what what, struct object *of, size_t size)
{
	struct object *o = calloc(1, sizeof(*o));

	*o = (struct object){
		.driver = &below, .what = what, .platform = of->platform, .of = of, .size = size
	};
	return o;
}

static void called(const char *function, int platform)
{
	printf("%s %d\n", function, platform);
}

/* One answer to any question, if it is asked of the right sort of object. */
static cl_int answer(const void *object, enum what what, const void *value, size_t value_size,
		     size_t size, void *out, size_t *size_ret)
{
	if (((const struct object *)object)->what != what || size < value_size)
		return CL_INVALID_VALUE;
	memcpy(out, value, value_size);
	if (size_ret)
		*size_ret = value_size;
	return CL_SUCCESS;
}

static cl_int CL_API_CALL get_platforms(cl_uint room, cl_platform_id *list, cl_uint *count)
{
	for (cl_uint i = 0; list && i < room && i < 2; i++)
		list[i] = (cl_platform_id)&platforms[i];
	if (count)
		*count = 2;
	return CL_SUCCESS;
}

static cl_int CL_API_CALL platform_info(cl_platform_id platform, cl_platform_info name, size_t size,
					void *value, size_t *size_ret)
{
	static const char texts[2][8] = { "first", "second" };

	(void)name;
	return answer(platform, PLATFORM, texts[((struct object *)platform)->platform], 8, size,
		      value, size_ret);
}

static cl_int CL_API_CALL context_info(cl_context context, cl_context_info name, size_t size,
				       void *value, size_t *size_ret)
{
	struct object *device = &devices[((struct object *)context)->platform];

	(void)name;
	return answer(context, CONTEXT, &device, sizeof(device), size, value, size_ret);
}

static cl_int CL_API_CALL device_info(cl_device_id device, cl_device_info name, size_t size,
				      void *value, size_t *size_ret)
{
	struct object *platform = &platforms[((struct object *)device)->platform];

	(void)name;
	return answer(device, DEVICE, &platform, sizeof(platform), size, value, size_ret);
}

/* Of a context, in which an object is. */
#define INFO(name, type, what)                                                                     \
	static cl_int CL_API_CALL name(type object, cl_uint question, size_t size, void *value,    \
				       size_t *size_ret)                                           \
	{                                                                                          \
		struct object *context = &contexts[((struct object *)object)->platform];           \
                                                                                                   \
		(void)question;                                                                    \
		return answer(object, what, &context, sizeof(context), size, value, size_ret);     \
	}
INFO(queue_info, cl_command_queue, QUEUE)
INFO(event_info, cl_event, EVENT)
INFO(accelerator_info, cl_accelerator_intel, ACCELERATOR)
INFO(semaphore_info, cl_semaphore_khr, SEMAPHORE)

static cl_int CL_API_CALL command_buffer_info(cl_command_buffer_khr object, cl_uint question,
					      size_t size, void *value, size_t *size_ret)
{
	struct object *queue = &queues[((struct object *)object)->platform];

	if (question != CL_COMMAND_BUFFER_QUEUES_KHR)
		return CL_INVALID_VALUE;
	return answer(object, COMMAND_BUFFER, &queue, sizeof(queue), size, value, size_ret);
}

static cl_int CL_API_CALL memory_info(cl_mem object, cl_mem_info question, size_t size, void *value,
				      size_t *size_ret)
{
	struct object *o = (struct object *)object, *context = &contexts[o->platform];
	struct object *whole = o->of->what == BUFFER ? o->of : NULL;

	switch (question) {
	case CL_MEM_SIZE:
		return answer(o, o->what, &o->size, sizeof(o->size), size, value, size_ret);
	case CL_MEM_ASSOCIATED_MEMOBJECT:
		return answer(o, o->what, &whole, sizeof(whole), size, value, size_ret);
	case CL_MEM_CONTEXT:
		return answer(o, o->what, &context, sizeof(context), size, value, size_ret);
	default: return CL_INVALID_VALUE;
	}
}

static cl_mem CL_API_CALL create_buffer(cl_context context, cl_mem_flags flags, size_t size,
					void *host, cl_int *err)
{
	(void)flags, (void)host, (void)err;
	return (cl_mem)object_new(BUFFER, (struct object *)context, size);
}

static cl_mem CL_API_CALL create_image(cl_context context, cl_mem_flags flags,
				       const cl_image_format *format, const cl_image_desc *desc,
				       void *host, cl_int *err)
{
	struct object *of =
		(struct object *)(desc->mem_object ? (void *)desc->mem_object : (void *)context);

	(void)flags, (void)format, (void)host, (void)err;
	return (cl_mem)object_new(IMAGE, of, desc->image_width * 4);
}

static cl_event CL_API_CALL event_from_gl(cl_context context, cl_GLsync sync, cl_int *err)
{
	(void)sync, (void)err;
	return (cl_event)object_new(EVENT, (struct object *)context, 0);
}

static cl_event CL_API_CALL event_from_egl(cl_context context, CLeglSyncKHR sync,
					   CLeglDisplayKHR display, cl_int *err)
{
	(void)sync, (void)display, (void)err;
	return (cl_event)object_new(EVENT, (struct object *)context, 0);
}

/* The extensions' functions, once for each platform. */
#define OF_PLATFORM(n)                                                                             \
	static cl_command_buffer_khr CL_API_CALL create_commands_##n(                              \
		cl_uint count, const cl_command_queue *queue,                                      \
		const cl_command_buffer_properties_khr *properties, cl_int *err)                   \
	{                                                                                          \
		(void)count, (void)properties, (void)err;                                          \
		called("clCreateCommandBufferKHR", n);                                             \
		return (cl_command_buffer_khr)object_new(COMMAND_BUFFER,                           \
							 (struct object *)queue[0], 0);            \
	}                                                                                          \
	static cl_int CL_API_CALL enqueue_commands_##n(                                            \
		cl_uint count, cl_command_queue *queue, cl_command_buffer_khr commands,            \
		cl_uint waits, const cl_event *list, cl_event *event)                              \
	{                                                                                          \
		(void)count, (void)queue, (void)waits, (void)list;                                 \
		called("clEnqueueCommandBufferKHR", n);                                            \
		*event = (cl_event)object_new(EVENT, (struct object *)commands, 0);                \
		return CL_SUCCESS;                                                                 \
	}                                                                                          \
	static cl_command_buffer_khr CL_API_CALL remap_##n(                                        \
		cl_command_buffer_khr commands, cl_bool automatic, cl_uint count,                  \
		const cl_command_queue *queue, cl_uint handles,                                    \
		const cl_mutable_command_khr *from, cl_mutable_command_khr *to, cl_int *err)       \
	{                                                                                          \
		(void)automatic, (void)count, (void)queue, (void)handles, (void)from, (void)to;    \
		(void)err;                                                                         \
		called("clRemapCommandBufferKHR", n);                                              \
		return (cl_command_buffer_khr)object_new(COMMAND_BUFFER,                           \
							 (struct object *)commands, 0);            \
	}                                                                                          \
	static cl_accelerator_intel CL_API_CALL create_accelerator_##n(                            \
		cl_context context, cl_accelerator_type_intel type, size_t size,                   \
		const void *descriptor, cl_int *err)                                               \
	{                                                                                          \
		(void)type, (void)size, (void)descriptor, (void)err;                               \
		called("clCreateAcceleratorINTEL", n);                                             \
		return (cl_accelerator_intel)object_new(ACCELERATOR, (struct object *)context, 0); \
	}                                                                                          \
	static cl_int CL_API_CALL retain_accelerator_##n(cl_accelerator_intel accelerator)         \
	{                                                                                          \
		(void)accelerator;                                                                 \
		called("clRetainAcceleratorINTEL", n);                                             \
		return CL_SUCCESS;                                                                 \
	}                                                                                          \
	static cl_int CL_API_CALL release_accelerator_##n(cl_accelerator_intel accelerator)        \
	{                                                                                          \
		(void)accelerator;                                                                 \
		called("clReleaseAcceleratorINTEL", n);                                            \
		return CL_SUCCESS;                                                                 \
	}                                                                                          \
	static cl_semaphore_khr CL_API_CALL create_semaphore_##n(                                  \
		cl_context context, const cl_semaphore_properties_khr *properties, cl_int *err)    \
	{                                                                                          \
		(void)properties, (void)err;                                                       \
		called("clCreateSemaphoreWithPropertiesKHR", n);                                   \
		return (cl_semaphore_khr)object_new(SEMAPHORE, (struct object *)context, 0);       \
	}                                                                                          \
	static cl_int CL_API_CALL release_semaphore_##n(cl_semaphore_khr semaphore)                \
	{                                                                                          \
		(void)semaphore;                                                                   \
		called("clReleaseSemaphoreKHR", n);                                                \
		return CL_SUCCESS;                                                                 \
	}                                                                                          \
	static void *CL_API_CALL svm_##n(cl_context context, cl_svm_mem_flags_arm flags,           \
					 size_t size, cl_uint alignment)                           \
	{                                                                                          \
		(void)context, (void)flags, (void)alignment;                                       \
		called("clSVMAllocARM", n);                                                        \
		return malloc(size);                                                               \
	}                                                                                          \
	static void CL_API_CALL svm_free_##n(cl_context context, void *pointer)                    \
	{                                                                                          \
		(void)context;                                                                     \
		called("clSVMFreeARM", n);                                                         \
		free(pointer);                                                                     \
	}                                                                                          \
	static cl_mem CL_API_CALL surface_##n(cl_context context, cl_mem_flags flags,              \
					      unsigned *surface, cl_uint plane, cl_int *err)       \
	{                                                                                          \
		(void)flags, (void)surface, (void)plane, (void)err;                                \
		called("clCreateFromVA_APIMediaSurfaceINTEL", n);                                  \
		return (cl_mem)object_new(IMAGE, (struct object *)context, 4096);                  \
	}                                                                                          \
	static cl_int CL_API_CALL acquire_##n(cl_command_queue queue, cl_uint count,               \
					      const cl_mem *objects, cl_uint waits,                \
					      const cl_event *list, cl_event *event)               \
	{                                                                                          \
		(void)count, (void)objects, (void)waits, (void)list;                               \
		called("clEnqueueAcquireVA_APIMediaSurfacesINTEL", n);                             \
		*event = (cl_event)object_new(EVENT, (struct object *)queue, 0);                   \
		return CL_SUCCESS;                                                                 \
	}
OF_PLATFORM(0)
OF_PLATFORM(1)

/* clang-format off */
static const struct {
	const char *name;
	void *functions[2];
} extensions[] = {
#define BOTH(function) { (void *)function##_0, (void *)function##_1 }
	{ "clCreateCommandBufferKHR", BOTH(create_commands) },
	{ "clEnqueueCommandBufferKHR", BOTH(enqueue_commands) },
	{ "clRemapCommandBufferKHR", BOTH(remap) },
	{ "clCreateAcceleratorINTEL", BOTH(create_accelerator) },
	{ "clRetainAcceleratorINTEL", BOTH(retain_accelerator) },
	{ "clReleaseAcceleratorINTEL", BOTH(release_accelerator) },
	{ "clCreateSemaphoreWithPropertiesKHR", BOTH(create_semaphore) },
	{ "clReleaseSemaphoreKHR", BOTH(release_semaphore) },
	{ "clSVMAllocARM", BOTH(svm) },
	{ "clSVMFreeARM", BOTH(svm_free) },
	{ "clCreateFromVA_APIMediaSurfaceINTEL", BOTH(surface) },
	{ "clEnqueueAcquireVA_APIMediaSurfacesINTEL", BOTH(acquire) },
	{ "clGetCommandBufferInfoKHR", { (void *)command_buffer_info, (void *)command_buffer_info } },
	{ "clGetAcceleratorInfoINTEL", { (void *)accelerator_info, (void *)accelerator_info } },
	{ "clGetSemaphoreInfoKHR", { (void *)semaphore_info, (void *)semaphore_info } },
};
/* clang-format on */

static void *CL_API_CALL extension_of(cl_platform_id platform, const char *name)
{
	for (size_t i = 0; i < sizeof(extensions) / sizeof(*extensions); i++)
		if (!strcmp(extensions[i].name, name))
			return extensions[i].functions[((struct object *)platform)->platform];
	return NULL;
}

static void fill_table(void)
{
	for (int i = 0; i < 2; i++) {
		platforms[i] = (struct object){ &below, PLATFORM, i, NULL, 0 };
		devices[i] = (struct object){ &below, DEVICE, i, NULL, 0 };
		contexts[i] = (struct object){ &below, CONTEXT, i, NULL, 0 };
		queues[i] = (struct object){ &below, QUEUE, i, &contexts[i], 0 };
	}
	below.table.clGetPlatformIDs = get_platforms;
	below.table.clGetPlatformInfo = platform_info;
	below.table.clGetContextInfo = context_info;
	below.table.clGetDeviceInfo = device_info;
	below.table.clGetCommandQueueInfo = queue_info;
	below.table.clGetEventInfo = event_info;
	below.table.clGetMemObjectInfo = memory_info;
	below.table.clCreateBuffer = create_buffer;
	below.table.clCreateImage = create_image;
	below.table.clCreateEventFromGLsyncKHR = event_from_gl;
	below.table.clCreateEventFromEGLSyncKHR = event_from_egl;
	below.table.clGetExtensionFunctionAddressForPlatform = extension_of;
}

/* The function as a program gets it: for the one platform, then for the other. */
static void *ask(const cl_icd_dispatch *table, const char *name)
{
	table->clGetExtensionFunctionAddressForPlatform((cl_platform_id)&platforms[0], name);
	return table->clGetExtensionFunctionAddressForPlatform((cl_platform_id)&platforms[1], name);
}

#define ASK(type, name) ((__typeof__(&type))ask(table, name))

static void use(const cl_icd_dispatch *table, int n)
{
	cl_context context = (cl_context)&contexts[n];
	cl_command_queue queue = (cl_command_queue)&queues[n];
	cl_image_format rgba = { CL_RGBA, CL_UNORM_INT8 };
	cl_image_desc line = { .image_type = CL_MEM_OBJECT_IMAGE1D, .image_width = 100 };
	cl_command_buffer_khr commands;
	cl_accelerator_intel accelerator;
	cl_semaphore_khr semaphore;
	cl_event event;
	void *memory;
	cl_mem surface;

	commands = ASK(create_commands_0, "clCreateCommandBufferKHR")(1, &queue, NULL, NULL);
	ASK(enqueue_commands_0, "clEnqueueCommandBufferKHR")(0, NULL, commands, 0, NULL, &event);
	ASK(remap_0, "clRemapCommandBufferKHR")(commands, CL_TRUE, 0, NULL, 0, NULL, NULL, NULL);
	accelerator =
		ASK(create_accelerator_0, "clCreateAcceleratorINTEL")(context, 0, 0, NULL, NULL);
	ASK(retain_accelerator_0, "clRetainAcceleratorINTEL")(accelerator);
	ASK(release_accelerator_0, "clReleaseAcceleratorINTEL")(accelerator);
	semaphore =
		ASK(create_semaphore_0, "clCreateSemaphoreWithPropertiesKHR")(context, NULL, NULL);
	ASK(release_semaphore_0, "clReleaseSemaphoreKHR")(semaphore);
	memory = ASK(svm_0, "clSVMAllocARM")(context, 0, 256, 0);
	ASK(svm_free_0, "clSVMFreeARM")(context, memory);
	surface = ASK(surface_0, "clCreateFromVA_APIMediaSurfaceINTEL")(context, 0, NULL, 0, NULL);
	ASK(acquire_0, "clEnqueueAcquireVA_APIMediaSurfacesINTEL")
	(queue, 1, &surface, 0, NULL, &event);
	table->clCreateEventFromGLsyncKHR(context, NULL, NULL);
	table->clCreateEventFromEGLSyncKHR(context, NULL, NULL, NULL);
	table->clCreateImage(context, 0, &rgba, &line, NULL, NULL);
	line.image_type = CL_MEM_OBJECT_IMAGE1D_BUFFER;
	line.mem_object = table->clCreateBuffer(context, 0, 400, NULL, NULL);
	table->clCreateImage(context, 0, &rgba, &line, NULL, NULL);
}

int main(int argc, char **argv)
{
	const char *layer = NULL;
	const cl_icd_dispatch *table;

	for (int i = 1; i + 1 < argc; i += 2)
		if (!strcmp(argv[i], "--layer"))
			layer = argv[i + 1];
	table = layer_open(layer);
	fill_table();
	/* the table that the layer made has copies of what it does not wrap; it wraps all of these
	 */
	use(table, 1);
	use(table, 0);
	return 0;
}
