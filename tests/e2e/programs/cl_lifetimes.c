/* SPDX-License-Identifier: MIT */
/*
 * cl_lifetimes: what keeps an OpenCL object alive, and what ends with another, one --case at a
 * time.
 *
 * Each case prints what the driver answered. The `kept` cases release an object, ask another one
 * for it, retain it and release it again; with --keep they leave out that last release. --list
 * prints the names. Ends with 77 where the driver cannot do it.
 */
#include "cl_common.h"

#include <unistd.h>

#define SOURCE "kernel void one(global int *p) { p[0] = 1; }"
enum { BYTES = 4096, BIG = 64 << 20 };

static struct cl_choice choice;
static cl_context context;
static bool keep;

#define EXTENSION(function)                                                                        \
	((function##_fn)clGetExtensionFunctionAddressForPlatform(choice.platform, #function))

static cl_command_queue make_queue(void)
{
	cl_int err;
	cl_command_queue queue = clCreateCommandQueue(context, choice.device, 0, &err);

	MUST(err);
	return queue;
}

static cl_mem make_buffer(void)
{
	cl_int err;
	cl_mem buffer = clCreateBuffer(context, CL_MEM_READ_WRITE, BYTES, NULL, &err);

	MUST(err);
	return buffer;
}

static cl_program make_program(void)
{
	const char *source = SOURCE;
	cl_int err;
	cl_program program = clCreateProgramWithSource(context, 1, &source, NULL, &err);

	MUST(err);
	return program;
}

static cl_kernel make_kernel(cl_program program)
{
	cl_int err;
	cl_kernel kernel;

	MUST(clBuildProgram(program, 1, &choice.device, "", NULL, NULL));
	kernel = clCreateKernel(program, "one", &err);
	MUST(err);
	return kernel;
}

static void answer(const char *what, bool same)
{
	printf("%s: %s\n", what, same ? "the same" : "another");
}

/* The context has been released; `found` is the one that another object names. */
static void retain_context(cl_context found)
{
	answer("context", found == context);
	printf("retain: %d\n", (int)clRetainContext(found));
	if (!keep)
		printf("release: %d\n", (int)clReleaseContext(found));
}

#define CONTEXT_OF(function, object, name)                                                         \
	do {                                                                                       \
		cl_context found = NULL;                                                           \
                                                                                                   \
		MUST(clReleaseContext(context));                                                   \
		MUST(function(object, name, sizeof found, &found, NULL));                          \
		retain_context(found);                                                             \
	} while (0)

static void context_kept_by_queue(void)
{
	cl_command_queue queue = make_queue();

	CONTEXT_OF(clGetCommandQueueInfo, queue, CL_QUEUE_CONTEXT);
	MUST(clReleaseCommandQueue(queue));
}

static void context_kept_by_buffer(void)
{
	cl_mem buffer = make_buffer();

	CONTEXT_OF(clGetMemObjectInfo, buffer, CL_MEM_CONTEXT);
	MUST(clReleaseMemObject(buffer));
}

static void context_kept_by_event(void)
{
	cl_int err;
	cl_event event = clCreateUserEvent(context, &err);

	MUST(err);
	CONTEXT_OF(clGetEventInfo, event, CL_EVENT_CONTEXT);
	MUST(clSetUserEventStatus(event, CL_COMPLETE));
	MUST(clReleaseEvent(event));
}

static void context_kept_by_sampler(void)
{
	cl_int err;
	cl_sampler sampler =
		clCreateSampler(context, CL_TRUE, CL_ADDRESS_CLAMP, CL_FILTER_NEAREST, &err);

	MUST(err);
	CONTEXT_OF(clGetSamplerInfo, sampler, CL_SAMPLER_CONTEXT);
	MUST(clReleaseSampler(sampler));
}

static void context_kept_by_program(void)
{
	cl_program program = make_program();

	CONTEXT_OF(clGetProgramInfo, program, CL_PROGRAM_CONTEXT);
	MUST(clReleaseProgram(program));
}

static void context_kept_by_kernel(void)
{
	cl_program program = make_program();
	cl_kernel kernel = make_kernel(program);

	MUST(clReleaseProgram(program));
	CONTEXT_OF(clGetKernelInfo, kernel, CL_KERNEL_CONTEXT);
	MUST(clReleaseKernel(kernel));
}

static void program_kept_by_kernel(void)
{
	cl_program program = make_program(), found = NULL;
	cl_kernel kernel = make_kernel(program);

	MUST(clReleaseProgram(program));
	MUST(clGetKernelInfo(kernel, CL_KERNEL_PROGRAM, sizeof found, &found, NULL));
	answer("program", found == program);
	printf("retain: %d\n", (int)clRetainProgram(found));
	if (!keep)
		printf("release: %d\n", (int)clReleaseProgram(found));
	MUST(clReleaseKernel(kernel));
	MUST(clReleaseContext(context));
}

static void queue_kept_by_event(void)
{
	cl_command_queue queue = make_queue(), found = NULL;
	cl_event event;

	MUST(clEnqueueMarker(queue, &event));
	MUST(clFinish(queue));
	MUST(clReleaseCommandQueue(queue));
	MUST(clGetEventInfo(event, CL_EVENT_COMMAND_QUEUE, sizeof found, &found, NULL));
	answer("queue", found == queue);
	printf("retain: %d\n", (int)clRetainCommandQueue(found));
	if (!keep)
		printf("release: %d\n", (int)clReleaseCommandQueue(found));
	MUST(clReleaseEvent(event));
	MUST(clReleaseContext(context));
}

/* The buffer has been released; its `view` names it. */
static void retain_buffer(cl_mem buffer, cl_mem view)
{
	cl_mem found = NULL;

	MUST(clGetMemObjectInfo(view, CL_MEM_ASSOCIATED_MEMOBJECT, sizeof found, &found, NULL));
	answer("buffer", found == buffer);
	printf("retain: %d\n", (int)clRetainMemObject(found));
	if (!keep)
		printf("release: %d\n", (int)clReleaseMemObject(found));
	MUST(clReleaseMemObject(view));
	MUST(clReleaseContext(context));
}

static void buffer_kept_by_sub_buffer(void)
{
	const cl_buffer_region region = { .size = 1024 };
	cl_mem buffer = make_buffer(), part;
	cl_int err;

	part = clCreateSubBuffer(buffer, 0, CL_BUFFER_CREATE_TYPE_REGION, &region, &err);
	MUST(err);
	MUST(clReleaseMemObject(buffer));
	retain_buffer(buffer, part);
}

static cl_mem make_image(cl_mem buffer)
{
	const cl_image_format format = { CL_RGBA, CL_UNSIGNED_INT8 };
	const cl_image_desc desc = { .image_type = CL_MEM_OBJECT_IMAGE1D_BUFFER,
				     .image_width = BYTES / 4,
				     .buffer = buffer };
	cl_int err;
	cl_mem image = clCreateImage(context, CL_MEM_READ_WRITE, &format, &desc, NULL, &err);

	if (err)
		quit(STATUS_SKIPPED, "skipped: no image of a buffer: error %d", (int)err);
	return image;
}

static void buffer_kept_by_image(void)
{
	cl_mem buffer = make_buffer(), image = make_image(buffer);

	MUST(clReleaseMemObject(buffer));
	retain_buffer(buffer, image);
}

/* The image is never released: the buffer's memory stays with it. */
static void image_of_a_buffer_left(void)
{
	cl_mem buffer = make_buffer();

	make_image(buffer);
	MUST(clReleaseMemObject(buffer));
	MUST(clReleaseContext(context));
}

static void device_kept_by_context(void)
{
	const cl_device_partition_property halves[] = { CL_DEVICE_PARTITION_EQUALLY, 1, 0 };
	cl_device_id parts[256], found = NULL;
	cl_uint count = 0;
	cl_context on_part;
	cl_int err = clCreateSubDevices(choice.device, halves, 256, parts, &count);

	if (err || !count)
		quit(STATUS_SKIPPED, "skipped: no sub-devices: error %d", (int)err);
	on_part = clCreateContext(NULL, 1, &parts[0], NULL, NULL, &err);
	MUST(err);
	for (cl_uint i = 0; i < count; i++)
		MUST(clReleaseDevice(parts[i]));
	MUST(clGetContextInfo(on_part, CL_CONTEXT_DEVICES, sizeof found, &found, NULL));
	answer("device", found == parts[0]);
	printf("retain: %d\n", (int)clRetainDevice(found));
	if (!keep)
		printf("release: %d\n", (int)clReleaseDevice(found));
	MUST(clReleaseContext(on_part));
	MUST(clReleaseContext(context));
}

static void queue_kept_by_command_buffer(void)
{
	clCreateCommandBufferKHR_fn create = EXTENSION(clCreateCommandBufferKHR);
	clGetCommandBufferInfoKHR_fn ask = EXTENSION(clGetCommandBufferInfoKHR);
	clReleaseCommandBufferKHR_fn release = EXTENSION(clReleaseCommandBufferKHR);
	cl_command_queue queue = make_queue(), found = NULL;
	cl_command_buffer_khr commands;
	cl_int err;

	if (!create || !ask || !release)
		quit(STATUS_SKIPPED, "skipped: no command buffers");
	commands = create(1, &queue, NULL, &err);
	if (err)
		quit(STATUS_SKIPPED, "skipped: no command buffers: error %d", (int)err);
	MUST(clReleaseCommandQueue(queue));
	MUST(ask(commands, CL_COMMAND_BUFFER_QUEUES_KHR, sizeof found, &found, NULL));
	answer("queue", found == queue);
	if (found == queue) { /* PoCL 3.1 answers with an address that is none */
		printf("retain: %d\n", (int)clRetainCommandQueue(found));
		if (!keep)
			printf("release: %d\n", (int)clReleaseCommandQueue(found));
	}
	MUST(release(commands));
	MUST(clReleaseContext(context));
}

/* Resident memory in KiB. */
static long resident_kb(void)
{
	long pages = 0;
	FILE *file = fopen("/proc/self/statm", "r");

	if (!file || fscanf(file, "%*d %ld", &pages) != 1)
		quit(STATUS_FAILED, "no /proc/self/statm");
	fclose(file);
	return pages * (sysconf(_SC_PAGESIZE) / 1024);
}

/* Prints whether memory that has been written to is gone. */
static void tell_freed(long before_kb)
{
	long kb = before_kb - resident_kb();

	printf("memory: %s\n", kb > BIG / 2048 ? "freed" : "not freed");
}

static void *make_svm(size_t size)
{
	void *block = clSVMAlloc(context, CL_MEM_READ_WRITE, size, 0);

	if (!block)
		quit(STATUS_SKIPPED, "skipped: no shared virtual memory");
	return block;
}

/* Never freed: does it end with its context? */
static void svm_left_in_context(void)
{
	void *block = make_svm(BIG);
	long before_kb;

	memset(block, 1, BIG);
	before_kb = resident_kb();
	MUST(clReleaseContext(context));
	tell_freed(before_kb);
}

static void svm_freed_inside(void)
{
	char *block = make_svm(BIG);
	long before_kb;

	memset(block, 1, BIG);
	before_kb = resident_kb();
	clSVMFree(context, block + 64);
	tell_freed(before_kb);
	MUST(clReleaseContext(context));
}

static void *make_usm(size_t size)
{
	clHostMemAllocINTEL_fn allocate = EXTENSION(clHostMemAllocINTEL);
	cl_int err = CL_INVALID_OPERATION;
	void *block = allocate ? allocate(context, NULL, size, 0, &err) : NULL;

	if (!block)
		quit(STATUS_SKIPPED, "skipped: no unified shared memory: error %d", (int)err);
	memset(block, 1, size);
	return block;
}

static void usm_left_in_context(void)
{
	long before_kb;

	make_usm(BIG);
	before_kb = resident_kb();
	MUST(clReleaseContext(context));
	tell_freed(before_kb);
}

static void usm_freed_inside(void)
{
	char *block = make_usm(BIG);
	long before_kb = resident_kb();

	printf("free: %d\n", (int)EXTENSION(clMemFreeINTEL)(context, block + 64));
	tell_freed(before_kb);
	MUST(clReleaseContext(context));
}

static void usm_freed_inside_blocking(void)
{
	char *block = make_usm(BIG);
	long before_kb = resident_kb();

	printf("free: %d\n", (int)EXTENSION(clMemBlockingFreeINTEL)(context, block + BIG - 1));
	tell_freed(before_kb);
	MUST(clReleaseContext(context));
}

/* One byte behind the block. */
static void usm_freed_outside(void)
{
	char *block = make_usm(BIG);
	long before_kb = resident_kb();

	printf("free: %d\n", (int)EXTENSION(clMemFreeINTEL)(context, block + BIG));
	tell_freed(before_kb);
	MUST(clReleaseContext(context));
}

static const struct {
	const char *name;
	void (*run)(void);
} cases[] = {
	{ "context-kept-by-queue", context_kept_by_queue },
	{ "context-kept-by-buffer", context_kept_by_buffer },
	{ "context-kept-by-event", context_kept_by_event },
	{ "context-kept-by-sampler", context_kept_by_sampler },
	{ "context-kept-by-program", context_kept_by_program },
	{ "context-kept-by-kernel", context_kept_by_kernel },
	{ "program-kept-by-kernel", program_kept_by_kernel },
	{ "queue-kept-by-event", queue_kept_by_event },
	{ "queue-kept-by-command-buffer", queue_kept_by_command_buffer },
	{ "buffer-kept-by-sub-buffer", buffer_kept_by_sub_buffer },
	{ "buffer-kept-by-image", buffer_kept_by_image },
	{ "device-kept-by-context", device_kept_by_context },
	{ "image-of-a-buffer-left", image_of_a_buffer_left },
	{ "svm-left-in-context", svm_left_in_context },
	{ "svm-freed-inside", svm_freed_inside },
	{ "usm-left-in-context", usm_left_in_context },
	{ "usm-freed-inside", usm_freed_inside },
	{ "usm-freed-inside-blocking", usm_freed_inside_blocking },
	{ "usm-freed-outside", usm_freed_outside },
};

enum { CASES = sizeof cases / sizeof *cases };

int main(int argc, char **argv)
{
	const char *platform = arg_take(&argc, argv, "--platform");
	const char *name = arg_take(&argc, argv, "--case");
	bool list = arg_flag(&argc, argv, "--list");

	keep = arg_flag(&argc, argv, "--keep");
	arg_none_left(argc, argv);
	for (int i = 0; list && i < CASES; i++)
		puts(cases[i].name);
	if (list)
		return STATUS_OK;
	setvbuf(stdout, NULL, _IONBF, 0); /* the answers must be out before a crash */
	choice = cl_pick(platform);
	context = cl_context_on(choice);
	for (int i = 0; i < CASES; i++)
		if (name && !strcmp(name, cases[i].name)) {
			cases[i].run();
			return STATUS_OK;
		}
	quit(STATUS_FAILED, "unknown case '%s'", name ? name : "");
}
