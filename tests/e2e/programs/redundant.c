/* SPDX-License-Identifier: MIT */
/*
 * redundant: releases an object once more than it may, and prints what the driver answered.
 *
 * --kind event|buffer|sampler|queue|context (default event). The second release may crash: PoCL
 * has freed the memory that the loader reads its dispatch table from. With --held another object
 * keeps the first alive inside the driver (buffer and context only), so the second release is
 * answered everywhere. --catch turns a crash into a line and a normal end.
 */
#include "cl_kinds.h"

#include <setjmp.h>
#include <signal.h>

static sigjmp_buf before_release;

static void *make(enum cl_kind kind, struct cl_choice choice, cl_context context)
{
	cl_int err = CL_INVALID_VALUE;
	void *handle = NULL;

	switch (kind) {
	case KIND_EVENT: handle = clCreateUserEvent(context, &err); break;
	case KIND_BUFFER:
		handle = clCreateBuffer(context, CL_MEM_READ_WRITE, 4096, NULL, &err);
		break;
	case KIND_SAMPLER:
		handle = clCreateSampler(context, CL_TRUE, CL_ADDRESS_CLAMP, CL_FILTER_NEAREST,
					 &err);
		break;
	case KIND_QUEUE: handle = clCreateCommandQueue(context, choice.device, 0, &err); break;
	case KIND_CONTEXT:
		handle = clCreateContext(NULL, 1, &choice.device, NULL, NULL, &err);
		break;
	default: quit(STATUS_FAILED, "no redundant release of a %s", kind_names[kind]);
	}
	MUST(err);
	return handle;
}

/* Makes something that keeps a reference inside the driver, and is never released. */
static void hold(enum cl_kind kind, void *handle)
{
	const cl_buffer_region region = { .origin = 0, .size = 1024 };
	cl_int err = CL_INVALID_VALUE;

	if (kind == KIND_BUFFER)
		clCreateSubBuffer(handle, 0, CL_BUFFER_CREATE_TYPE_REGION, &region, &err);
	else if (kind == KIND_CONTEXT)
		clCreateBuffer(handle, CL_MEM_READ_WRITE, 4096, NULL, &err);
	else
		quit(STATUS_FAILED, "nothing holds a %s", kind_names[kind]);
	MUST(err);
}

static void crashed(int number)
{
	siglongjmp(before_release, number);
}

/* Its own frame: what lives across sigsetjmp() may not be in main()'s registers. */
__attribute__((noinline)) static void release_again(enum cl_kind kind, void *handle)
{
	if (!sigsetjmp(before_release, 1))
		printf("second release: %d\n", (int)kind_release(kind, handle));
	else
		puts("second release: crash");
}

int main(int argc, char **argv)
{
	const char *platform = arg_take(&argc, argv, "--platform");
	const char *name = arg_take(&argc, argv, "--kind");
	bool held = arg_flag(&argc, argv, "--held");
	bool catch = arg_flag(&argc, argv, "--catch");
	enum cl_kind kind = kind_find(name ? name : "event");
	struct cl_choice choice;
	cl_context context;
	void *handle;

	arg_none_left(argc, argv);
	setvbuf(stdout, NULL, _IONBF, 0); /* the first line must be out before the crash */
	choice = cl_pick(platform);
	context = cl_context_on(choice);
	handle = make(kind, choice, context);
	if (held)
		hold(kind, handle);

	printf("first release: %d\n", (int)kind_release(kind, handle));
	if (catch) {
		signal(SIGSEGV, crashed);
		signal(SIGABRT, crashed);
	}
	release_again(kind, handle);
	signal(SIGSEGV, SIG_DFL);
	signal(SIGABRT, SIG_DFL);
	MUST(clReleaseContext(context));
	return STATUS_OK;
}
