/* SPDX-License-Identifier: MIT */
/* nvtx_ranges.c - buffers made within NVTX ranges of every form: MODE. Leaks all but one. */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <CL/cl.h>

#ifdef GT_HAVE_NVTX_H
#include <nvtx3/nvToolsExt.h>
#else
#include "nvtx_stand_in.h"
#endif

static cl_context context;

static cl_mem buffer(size_t kib)
{
	return clCreateBuffer(context, CL_MEM_READ_WRITE, kib << 10, NULL, NULL);
}

static void open_context(void)
{
	cl_platform_id platform;
	cl_device_id device;

	clGetPlatformIDs(1, &platform, NULL);
	clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL);
	context = clCreateContext(NULL, 1, &device, NULL, NULL, NULL);
}

static nvtxEventAttributes_t attributes(int type, uint32_t category)
{
	nvtxEventAttributes_t a = { 0 };

	a.version = NVTX_VERSION;
	a.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
	a.messageType = type;
	a.category = category;
	return a;
}

static void *in_a_thread(void *unused)
{
	(void)unused;
	nvtxRangePushA("worker");
	buffer(64);
	return NULL; /* with the range open */
}

/* Every form of a range once, 1 KiB, 2 KiB, 4 KiB, … each. */
static void forms(void)
{
	nvtxDomainHandle_t domain = nvtxDomainCreateA("LIB");
	nvtxEventAttributes_t a = attributes(NVTX_MESSAGE_TYPE_ASCII, 7);
	char text[32] = "first";
	nvtxRangeId_t id;
	cl_mem freed;
	pthread_t thread;
	int depth;

	/* the same address, another text */
	depth = nvtxRangePushA(text);
	buffer(1);
	strcpy(text, "second");
	depth = depth * 10 + nvtxRangePushA(text);
	buffer(2);
	freed = buffer(512);
	depth = depth * 10 + nvtxRangePop();
	clReleaseMemObject(freed);
	depth = depth * 10 + nvtxRangePop();
	printf("depths %d\n", depth);
	nvtxRangePushW(L"w\u00efde");
	buffer(4);
	nvtxRangePop();
	nvtxNameCategoryA(7, "io");
	a.message.ascii = "read";
	nvtxRangePushEx(&a);
	buffer(8);
	a.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
	a.message.registered = nvtxDomainRegisterStringA(domain, "reduce");
	nvtxDomainRangePushEx(domain, &a);
	buffer(16);
	/* the outer one first */
	nvtxRangePop();
	buffer(32);
	nvtxDomainRangePop(domain);
	pthread_create(&thread, NULL, in_a_thread, NULL);
	pthread_join(thread, NULL);
	a = attributes(0, 0);
	a.payloadType = NVTX_PAYLOAD_TYPE_UNSIGNED_INT64;
	a.payload.ullValue = 42;
	nvtxRangePushEx(&a);
	buffer(128);
	nvtxRangePop();
	id = nvtxRangeStartA("job");
	nvtxRangePushA("in job");
	buffer(256);
	nvtxRangeEnd(id);
	buffer(1024);
	nvtxRangePop();
	a = attributes(NVTX_MESSAGE_TYPE_ASCII, 0);
	a.message.ascii = "task";
	id = nvtxDomainRangeStartEx(domain, &a);
	buffer(2048);
	nvtxDomainRangeEnd(domain, id);
	/* more pops than pushes do no harm */
	for (int i = 0; i < 3; i++)
		nvtxRangePop();
	nvtxRangePushA("last");
	buffer(4096);
}

static void deep(void)
{
	char text[32];

	for (int i = 0; i < 200; i++) {
		snprintf(text, sizeof text, "r%d", i);
		nvtxRangePushA(text);
	}
	buffer(1);
	for (int i = 0; i < 199; i++)
		nvtxRangePop();
	buffer(2);
	nvtxRangePop();
	buffer(4);
}

static void many(void)
{
	char text[64];

	for (int i = 0; i < 300000; i++) {
		snprintf(text, sizeof text, "a name of its own, number %d", i);
		nvtxRangePushA(text);
		nvtxRangePop();
	}
	nvtxRangePushA("too late");
	buffer(1);
	nvtxRangePop();
}

static void forked(void)
{
	pid_t child;

	nvtxRangePushA("parent");
	buffer(1);
	child = fork();
	nvtxRangePushA(child ? "still parent" : "child");
	buffer(2);
	if (child)
		waitpid(child, NULL, 0);
}

static volatile sig_atomic_t caught;

static void handler(int number)
{
	(void)number;
	nvtxRangePushA("in the handler");
	nvtxRangePop();
	caught++;
}

/* Ranges in a handler that interrupts ranges and calls. */
static void signals(void)
{
	struct sigaction action = { .sa_handler = handler, .sa_flags = SA_RESTART };

	sigaction(SIGPROF, &action, NULL);
	for (int i = 0; i < 20000 || caught < 20; i++) {
		nvtxRangePushA("outer");
		if (i % 1000 == 0)
			raise(SIGPROF);
		if (i % 5000 == 0 && i < 20000)
			buffer(1);
		nvtxRangePop();
	}
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "forms";

	open_context();
	errno = 1234;
	if (!strcmp(mode, "forms"))
		forms();
	else if (!strcmp(mode, "deep"))
		deep();
	else if (!strcmp(mode, "many"))
		many();
	else if (!strcmp(mode, "fork"))
		forked();
	else if (!strcmp(mode, "signals"))
		signals();
	nvtxRangePushA("errno");
	if (!strcmp(mode, "many"))
		printf("errno %d\n", errno == 1234);
	return 0;
}
