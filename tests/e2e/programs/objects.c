/* SPDX-License-Identifier: MIT */
/*
 * objects: makes, retains and releases every kind of OpenCL object that the platform supports.
 *
 * --log FILE keeps an account of it that a test compares with the tracker's; --leak KIND,KIND
 * leaves one object of each of these kinds with one reference too many.
 */
#include "objects.h"

static const char *source = "kernel void nothing(global int *data) { (void)data; }\n"
			    "kernel void first(global int *data) { data[0] = 1; }\n"
			    "kernel void second(global int *data) { data[1] = 2; }\n";

/* The smallest SPIR-V module with a kernel: void nop(void). */
/* clang-format off */
static const cl_uint nop_il[] = {
	0x07230203, 0x00010000, 0, 5, 0,     /* magic, version 1.0, generator, bound, schema */
	0x00020011, 4, 0x00020011, 6,        /* OpCapability Addresses, Kernel */
	0x0003000e, 2, 2,                    /* OpMemoryModel Physical64 OpenCL */
	0x0004000f, 6, 3, 0x00706f6e,        /* OpEntryPoint Kernel %3 "nop" */
	0x00020013, 1, 0x00030021, 2, 1,     /* %1 = OpTypeVoid; %2 = OpTypeFunction %1 */
	0x00050036, 1, 3, 0, 2,              /* %3 = OpFunction %1 None %2 */
	0x000200f8, 4, 0x000100fd, 0x00010038, /* %4 = OpLabel; OpReturn; OpFunctionEnd */
};
/* clang-format on */

static const cl_image_format rgba = {
	.image_channel_order = CL_RGBA,
	.image_channel_data_type = CL_UNORM_INT8,
};

static bool to_leak[KIND_COUNT];
static long created, retained, released;

void unsupported(const char *call, cl_int err)
{
	printf("unsupported: %.*s (%d)\n", (int)strcspn(call, "("), call, (int)err);
}

void made_at(enum cl_kind kind, void *handle, cl_int err, size_t size_bytes, const char *call,
	     const char *file, int line)
{
	cl_mem whole = NULL;

	if (err != CL_SUCCESS || !handle) { /* allocations have no error but NULL */
		unsupported(call, err);
		return;
	}
	/* the caller cannot know how the driver pads rows, nor what it keeps beside the packets */
	if (kind == KIND_IMAGE)
		MUST(clGetMemObjectInfo(handle, CL_MEM_ASSOCIATED_MEMOBJECT, sizeof(whole), &whole,
					NULL));
	/* a view has no bytes of its own */
	if ((kind == KIND_IMAGE && !whole) || kind == KIND_PIPE)
		MUST(clGetMemObjectInfo(handle, CL_MEM_SIZE, sizeof(size_bytes), &size_bytes,
					NULL));
	log_create(kind, handle, size_bytes, line, file);
	created++;
}

void keep(enum cl_kind kind, void *handle)
{
	if (!handle)
		return;
	MUST(kind_retain(kind, handle));
	log_retain(kind, handle);
	retained++;
}

void dropped(enum cl_kind kind, void *handle)
{
	log_release(kind, handle);
	/* some are given back in a driver's callback, on a thread of the driver */
	__atomic_fetch_add(&released, 1, __ATOMIC_RELAXED);
}

bool leaks_here(enum cl_kind kind)
{
	bool leaks = to_leak[kind];

	to_leak[kind] = false;
	return leaks;
}

void drop(enum cl_kind kind, void *handle)
{
	if (!handle || leaks_here(kind))
		return;
	MUST(kind_release(kind, handle));
	dropped(kind, handle);
}

void cycle(enum cl_kind kind, void *handle)
{
	keep(kind, handle);
	drop(kind, handle);
	drop(kind, handle);
}

static void exercise_contexts(struct bench *b)
{
	const cl_context_properties on_platform[] = {
		CL_CONTEXT_PLATFORM,
		(cl_context_properties)b->platform,
		0,
	};
	const cl_device_type all = CL_DEVICE_TYPE_ALL;
	cl_context c;

	c = MAKE(KIND_CONTEXT, 0, clCreateContext(NULL, 1, &b->device, NULL, NULL, &err));
	cycle(KIND_CONTEXT, c);
	c = MAKE(KIND_CONTEXT, 0, clCreateContextFromType(on_platform, all, NULL, NULL, &err));
	cycle(KIND_CONTEXT, c);
}

/* Root devices are not counted by anyone, so their retains and releases are not logged. */
static void exercise_devices(struct bench *b)
{
	const cl_device_partition_property one_unit_each[] = {
		CL_DEVICE_PARTITION_EQUALLY,
		1,
		0,
	};
	cl_device_id parts[64];
	cl_uint count = 0;
	cl_context context;
	cl_int err;
	int line;

	MUST(clRetainDevice(b->device));
	MUST(clReleaseDevice(b->device));

	line = __LINE__ + 1;
	err = clCreateSubDevices(b->device, one_unit_each, 64, parts, &count);
	if (err != CL_SUCCESS) {
		unsupported("clCreateSubDevices", err);
		return;
	}
	for (cl_uint i = 0; i < count; i++)
		made(KIND_SUB_DEVICE, parts[i], err, 0, "clCreateSubDevices", line);
	context = MAKE(KIND_CONTEXT, 0, clCreateContext(NULL, 1, parts, NULL, NULL, &err));
	drop(KIND_CONTEXT, context);
	for (cl_uint i = 0; i < count; i++)
		cycle(KIND_SUB_DEVICE, parts[i]);
}

static void exercise_queues(struct bench *b)
{
	const cl_queue_properties profiled[] = {
		CL_QUEUE_PROPERTIES,
		CL_QUEUE_PROFILING_ENABLE,
		0,
	};
	cl_context c = b->context;
	cl_command_queue q;

	q = MAKE(KIND_QUEUE, 0, clCreateCommandQueue(c, b->device, 0, &err));
	cycle(KIND_QUEUE, q);
	if (b->version < 20)
		return;
	q = MAKE(KIND_QUEUE, 0, clCreateCommandQueueWithProperties(c, b->device, profiled, &err));
	cycle(KIND_QUEUE, q);
}

static void exercise_buffers(struct bench *b)
{
	const cl_buffer_region region = { .origin = 0, .size = 512 };
	const cl_buffer_create_type type = CL_BUFFER_CREATE_TYPE_REGION;
	cl_context c = b->context;
	cl_mem buffer, sub;

	buffer = MAKE(KIND_BUFFER, 12345, clCreateBuffer(c, CL_MEM_READ_ONLY, 12345, NULL, &err));
	cycle(KIND_BUFFER, buffer);
	buffer = MAKE(KIND_BUFFER, 8192, clCreateBuffer(c, CL_MEM_READ_WRITE, 8192, NULL, &err));
	sub = MAKE(KIND_SUB_BUFFER, 512, clCreateSubBuffer(buffer, 0, type, &region, &err));
	drop(KIND_BUFFER, buffer); /* the child keeps the parent alive inside the driver */
	cycle(KIND_SUB_BUFFER, sub);
	if (b->version < 30)
		return;
	buffer = MAKE(KIND_BUFFER, 999, clCreateBufferWithProperties(c, NULL, 0, 999, NULL, &err));
	cycle(KIND_BUFFER, buffer);
}

/* Creations that must fail: with a place for the code, and without. */
static void exercise_failed_creations(struct bench *b)
{
	cl_int err = CL_SUCCESS;

	if (clCreateBuffer(b->context, 0, 0, NULL, &err) || err != CL_INVALID_BUFFER_SIZE ||
	    clCreateBuffer(b->context, 0, 0, NULL, NULL))
		quit(STATUS_FAILED, "a buffer of no bytes was not refused, but %d", err);
}

static void exercise_images(struct bench *b)
{
	/* clang-format off */
	const cl_image_desc shapes[] = {
		{ .image_type = CL_MEM_OBJECT_IMAGE1D, .image_width = 64 },
		{ .image_type = CL_MEM_OBJECT_IMAGE1D_BUFFER, .image_width = 64,
		  .buffer = b->buffer },
		{ .image_type = CL_MEM_OBJECT_IMAGE2D, .image_width = 32, .image_height = 16 },
		{ .image_type = CL_MEM_OBJECT_IMAGE2D_ARRAY, .image_width = 32, .image_height = 16,
		  .image_array_size = 3 },
		{ .image_type = CL_MEM_OBJECT_IMAGE3D, .image_width = 8, .image_height = 8,
		  .image_depth = 4 },
	};
	/* clang-format on */
	cl_context c = b->context;
	const cl_image_desc *flat = &shapes[2];
	cl_mem i;

	for (size_t n = 0; n < sizeof(shapes) / sizeof(shapes[0]); n++) {
		i = MAKE(KIND_IMAGE, 0, clCreateImage(c, 0, &rgba, &shapes[n], NULL, &err));
		cycle(KIND_IMAGE, i);
	}
	i = MAKE(KIND_IMAGE, 0, clCreateImage2D(c, 0, &rgba, 32, 16, 0, NULL, &err));
	cycle(KIND_IMAGE, i);
	i = MAKE(KIND_IMAGE, 0, clCreateImage3D(c, 0, &rgba, 8, 8, 4, 0, 0, NULL, &err));
	cycle(KIND_IMAGE, i);
	if (b->version < 30)
		return;
	i = MAKE(KIND_IMAGE, 0, clCreateImageWithProperties(c, NULL, 0, &rgba, flat, NULL, &err));
	cycle(KIND_IMAGE, i);
}

static void exercise_pipes(struct bench *b)
{
	cl_bool has_pipes = CL_FALSE;
	cl_mem pipe;

	if (b->version >= 30)
		clGetDeviceInfo(b->device, CL_DEVICE_PIPE_SUPPORT, sizeof(has_pipes), &has_pipes,
				NULL);
	else
		has_pipes = b->version >= 20;
	if (!has_pipes) {
		unsupported("clCreatePipe", CL_INVALID_OPERATION);
		return;
	}
	pipe = MAKE(KIND_PIPE, 0, clCreatePipe(b->context, 0, 16, 32, NULL, &err));
	cycle(KIND_PIPE, pipe);
}

static void exercise_samplers(struct bench *b)
{
	const cl_sampler_properties linear[] = { CL_SAMPLER_FILTER_MODE, CL_FILTER_LINEAR, 0 };
	const cl_addressing_mode clamp = CL_ADDRESS_CLAMP;
	cl_context c = b->context;
	cl_sampler s;

	s = MAKE(KIND_SAMPLER, 0, clCreateSampler(c, CL_TRUE, clamp, CL_FILTER_NEAREST, &err));
	cycle(KIND_SAMPLER, s);
	if (b->version < 20)
		return;
	s = MAKE(KIND_SAMPLER, 0, clCreateSamplerWithProperties(c, linear, &err));
	cycle(KIND_SAMPLER, s);
}

static void program_from_binary(struct bench *b)
{
	cl_context c = b->context;
	cl_device_id d = b->device;
	unsigned char *made_binary;
	const unsigned char *bin;
	cl_program p;
	size_t size = 0;

	MUST(clGetProgramInfo(b->program, CL_PROGRAM_BINARY_SIZES, sizeof(size), &size, NULL));
	bin = made_binary = malloc(size);
	MUST(clGetProgramInfo(b->program, CL_PROGRAM_BINARIES, sizeof(made_binary), &made_binary,
			      NULL));
	p = MAKE(KIND_PROGRAM, 0, clCreateProgramWithBinary(c, 1, &d, &size, &bin, NULL, &err));
	if (p)
		MUST(clBuildProgram(p, 1, &d, NULL, NULL, NULL));
	cycle(KIND_PROGRAM, p);
	free(made_binary);
}

static void program_from_il(struct bench *b)
{
	char versions[256] = "";
	cl_program p;

	clGetDeviceInfo(b->device, CL_DEVICE_IL_VERSION, sizeof(versions), versions, NULL);
	if (!strstr(versions, "SPIR-V")) {
		unsupported("clCreateProgramWithIL", CL_INVALID_OPERATION);
		return;
	}
	p = MAKE(KIND_PROGRAM, 0, clCreateProgramWithIL(b->context, nop_il, sizeof(nop_il), &err));
	if (p)
		MUST(clBuildProgram(p, 1, &b->device, NULL, NULL, NULL));
	cycle(KIND_PROGRAM, p);
}

static void program_from_built_ins(struct bench *b)
{
	cl_context c = b->context;
	cl_device_id d = b->device;
	char names[4096] = "";
	cl_program p;

	clGetDeviceInfo(d, CL_DEVICE_BUILT_IN_KERNELS, sizeof(names), names, NULL);
	names[strcspn(names, ";")] = '\0';
	if (!names[0]) {
		unsupported("clCreateProgramWithBuiltInKernels", CL_INVALID_VALUE);
		return;
	}
	p = MAKE(KIND_PROGRAM, 0, clCreateProgramWithBuiltInKernels(c, 1, &d, names, &err));
	cycle(KIND_PROGRAM, p);
}

static void program_by_linking(struct bench *b)
{
	cl_context c = b->context;
	cl_device_id d = b->device;
	cl_program part, p;
	cl_int err;

	part = MAKE(KIND_PROGRAM, 0, clCreateProgramWithSource(c, 1, &source, NULL, &err));
	err = clCompileProgram(part, 1, &d, NULL, 0, NULL, NULL, NULL, NULL);
	if (err != CL_SUCCESS) {
		unsupported("clCompileProgram", err);
		drop(KIND_PROGRAM, part);
		return;
	}
	p = MAKE(KIND_PROGRAM, 0, clLinkProgram(c, 1, &d, NULL, 1, &part, NULL, NULL, &err));
	drop(KIND_PROGRAM, part);
	cycle(KIND_PROGRAM, p);
}

static void exercise_programs(struct bench *b)
{
	cl_context c = b->context;
	cl_program p;

	p = MAKE(KIND_PROGRAM, 0, clCreateProgramWithSource(c, 1, &source, NULL, &err));
	cycle(KIND_PROGRAM, p);
	program_from_binary(b);
	program_from_built_ins(b);
	if (b->version >= 21)
		program_from_il(b);
	program_by_linking(b);
}

static void exercise_kernels(struct bench *b)
{
	cl_kernel kernel, kernels[8];
	cl_uint count = 0;
	cl_int err;
	int line;

	kernel = MAKE(KIND_KERNEL, 0, clCreateKernel(b->program, "first", &err));
	cycle(KIND_KERNEL, kernel);
	if (b->version >= 21) {
		kernel = MAKE(KIND_KERNEL, 0, clCloneKernel(b->kernel, &err));
		cycle(KIND_KERNEL, kernel);
	}

	/* asks for the count only: makes nothing */
	MUST(clCreateKernelsInProgram(b->program, 0, NULL, &count));
	if (count != 3)
		quit(STATUS_FAILED, "%u kernels in the program, not 3", count);
	/* too small an array: makes nothing either, and must fail */
	if (clCreateKernelsInProgram(b->program, 1, kernels, NULL) == CL_SUCCESS)
		quit(STATUS_FAILED, "three kernels fitted into an array of one");

	line = __LINE__ + 1;
	err = clCreateKernelsInProgram(b->program, 3, kernels, NULL);
	MUST(err);
	for (int i = 0; i < 3; i++)
		made(KIND_KERNEL, kernels[i], err, 0, "clCreateKernelsInProgram", line);
	/* room for more than there are */
	line = __LINE__ + 1;
	err = clCreateKernelsInProgram(b->program, 5, kernels + 3, &count);
	MUST(err);
	for (cl_uint i = 3; i < 3 + count; i++)
		made(KIND_KERNEL, kernels[i], err, 0, "clCreateKernelsInProgram", line);
	for (cl_uint i = 0; i < 3 + count; i++)
		cycle(KIND_KERNEL, kernels[i]);
}

static void exercise_user_events(struct bench *b)
{
	cl_event event = MAKE(KIND_EVENT, 0, clCreateUserEvent(b->context, &err));

	MUST(clSetUserEventStatus(event, CL_COMPLETE));
	cycle(KIND_EVENT, event);
}

static int device_version(cl_device_id device)
{
	char text[256] = "";
	int major = 0, minor = 0;

	MUST(clGetDeviceInfo(device, CL_DEVICE_VERSION, sizeof(text), text, NULL));
	sscanf(text, "OpenCL %d.%d", &major, &minor);
	return major * 10 + minor;
}

static void bench_init(struct bench *b, struct cl_choice choice)
{
	const size_t size = BUFFER_BYTES;
	cl_device_id d = choice.device;
	cl_context c;

	b->platform = choice.platform;
	b->device = d;
	b->version = device_version(d);
	c = b->context = MAKE(KIND_CONTEXT, 0, clCreateContext(NULL, 1, &d, NULL, NULL, &err));
	b->queue = MAKE(KIND_QUEUE, 0, clCreateCommandQueue(c, d, 0, &err));
	b->program = MAKE(KIND_PROGRAM, 0, clCreateProgramWithSource(c, 1, &source, NULL, &err));
	MUST(clBuildProgram(b->program, 1, &d, NULL, NULL, NULL));
	b->kernel = MAKE(KIND_KERNEL, 0, clCreateKernel(b->program, "nothing", &err));
	b->buffer = MAKE(KIND_BUFFER, size, clCreateBuffer(c, 0, size, NULL, &err));
	b->other_buffer = MAKE(KIND_BUFFER, size, clCreateBuffer(c, 0, size, NULL, &err));
	b->image = MAKE(KIND_IMAGE, 0, clCreateImage2D(c, 0, &rgba, 16, 16, 0, NULL, &err));
	b->other_image = MAKE(KIND_IMAGE, 0, clCreateImage2D(c, 0, &rgba, 16, 16, 0, NULL, &err));
	MUST(clSetKernelArg(b->kernel, 0, sizeof(b->buffer), &b->buffer));
}

static void bench_fini(struct bench *b)
{
	drop(KIND_IMAGE, b->other_image);
	drop(KIND_IMAGE, b->image);
	drop(KIND_BUFFER, b->other_buffer);
	drop(KIND_BUFFER, b->buffer);
	drop(KIND_KERNEL, b->kernel);
	drop(KIND_PROGRAM, b->program);
	drop(KIND_QUEUE, b->queue);
	drop(KIND_CONTEXT, b->context);
}

static long leaks_read(char *list)
{
	long count = 0;

	for (char *name = strtok(list, ","); name; name = strtok(NULL, ",")) {
		to_leak[kind_find(name)] = true;
		count++;
	}
	return count;
}

int main(int argc, char **argv)
{
	const char *platform = arg_take(&argc, argv, "--platform");
	const char *log = arg_take(&argc, argv, "--log");
	const char *leaks = arg_take(&argc, argv, "--leak");
	static struct bench bench;
	long to_remain = leaks ? leaks_read(strdupa(leaks)) : 0;

	arg_none_left(argc, argv);
	log_open(log);
	bench_init(&bench, cl_pick(platform));
	exercise_contexts(&bench);
	exercise_devices(&bench);
	exercise_queues(&bench);
	exercise_buffers(&bench);
	exercise_failed_creations(&bench);
	exercise_images(&bench);
	exercise_pipes(&bench);
	exercise_samplers(&bench);
	exercise_programs(&bench);
	exercise_kernels(&bench);
	exercise_user_events(&bench);
	exercise_enqueues(&bench);
	exercise_failed_enqueues(&bench);
	exercise_svm_free(&bench);
	exercise_usm(&bench);
	MUST(clFinish(bench.queue));
	bench_fini(&bench);

	for (int i = 0; i < KIND_COUNT; i++) {
		if (to_leak[i])
			quit(STATUS_SKIPPED, "skipped: the platform has no %s to leak",
			     kind_names[i]);
	}
	printf("created %ld retained %ld released %ld left %ld\n", created, retained, released,
	       created + retained - released);
	return created + retained - released == to_remain ? STATUS_OK : STATUS_FAILED;
}
