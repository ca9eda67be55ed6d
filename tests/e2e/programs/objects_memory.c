/* SPDX-License-Identifier: MIT */
/* Memory from allocation calls: shared virtual memory and Intel's unified shared memory. */
#include "objects.h"

void *svm_make(struct bench *b)
{
	const cl_svm_mem_flags flags = CL_MEM_READ_WRITE;
	cl_device_svm_capabilities can = 0;

	if (b->version >= 20)
		clGetDeviceInfo(b->device, CL_DEVICE_SVM_CAPABILITIES, sizeof(can), &can, NULL);
	if (!can)
		return NULL;
	return MAKE(KIND_SVM, SVM_BYTES, clSVMAlloc(b->context, flags, SVM_BYTES, 0));
}

void svm_free(struct bench *b, void *pointer)
{
	if (!pointer || leaks_here(KIND_SVM))
		return;
	clSVMFree(b->context, pointer);
	dropped(KIND_SVM, pointer);
}

/* With a callback of its own, the program and not the driver frees the pointers. */
static void CL_CALLBACK free_by_hand(cl_command_queue queue, cl_uint count, void *pointers[],
				     void *user_data)
{
	struct bench *b = user_data;

	(void)queue;
	for (cl_uint i = 0; i < count; i++) {
		clSVMFree(b->context, pointers[i]);
		dropped(KIND_SVM, pointers[i]);
	}
}

void exercise_svm_free(struct bench *b)
{
	void *pointers[3] = { svm_make(b), svm_make(b), svm_make(b) };
	cl_event event;
	cl_int err;
	int line;

	if (!pointers[0]) {
		unsupported("clEnqueueSVMFree", CL_INVALID_OPERATION);
		return;
	}
	line = __LINE__ + 1;
	err = clEnqueueSVMFree(b->queue, 3, pointers, NULL, NULL, 0, NULL, &event);
	MUST(err);
	made(KIND_EVENT, event, err, 0, "clEnqueueSVMFree", line);
	for (int i = 0; i < 3; i++)
		dropped(KIND_SVM, pointers[i]);
	MUST(clFinish(b->queue));
	cycle(KIND_EVENT, event);

	pointers[0] = svm_make(b);
	pointers[1] = svm_make(b);
	MUST(clEnqueueSVMFree(b->queue, 2, pointers, free_by_hand, b, 0, NULL, NULL));
	MUST(clFinish(b->queue));

	svm_free(b, svm_make(b));
	clSVMFree(b->context, NULL); /* allowed, and frees nothing */
}

struct usm {
	clHostMemAllocINTEL_fn host_alloc;
	clDeviceMemAllocINTEL_fn device_alloc;
	clSharedMemAllocINTEL_fn shared_alloc;
	clMemFreeINTEL_fn free;
	clMemBlockingFreeINTEL_fn blocking_free;
};

static bool usm_find(struct usm *u, cl_platform_id platform)
{
	void *(*find)(cl_platform_id, const char *) = clGetExtensionFunctionAddressForPlatform;
	char extensions[8192] = "";

	/* a driver may hand out an address for a function that it cannot serve */
	clGetPlatformInfo(platform, CL_PLATFORM_EXTENSIONS, sizeof(extensions), extensions, NULL);
	if (!strstr(extensions, "cl_intel_unified_shared_memory"))
		return false;
	u->host_alloc = find(platform, "clHostMemAllocINTEL");
	u->device_alloc = find(platform, "clDeviceMemAllocINTEL");
	u->shared_alloc = find(platform, "clSharedMemAllocINTEL");
	u->free = find(platform, "clMemFreeINTEL");
	u->blocking_free = find(platform, "clMemBlockingFreeINTEL");
	return u->host_alloc && u->device_alloc && u->shared_alloc && u->free && u->blocking_free;
}

static void usm_free(struct bench *b, clMemFreeINTEL_fn free_it, enum cl_kind kind, void *pointer)
{
	if (!pointer || leaks_here(kind))
		return;
	MUST(free_it(b->context, pointer));
	dropped(kind, pointer);
}

void exercise_usm(struct bench *b)
{
	cl_context c = b->context;
	cl_device_id d = b->device;
	struct usm u;
	void *p;

	if (!usm_find(&u, b->platform)) {
		unsupported("cl_intel_unified_shared_memory", CL_INVALID_OPERATION);
		return;
	}
	for (int blocking = 0; blocking < 2; blocking++) {
		clMemFreeINTEL_fn free_it = blocking ? u.blocking_free : u.free;

		p = MAKE(KIND_HOST_MEMORY, 3000, u.host_alloc(c, NULL, 3000, 0, &err));
		usm_free(b, free_it, KIND_HOST_MEMORY, p);
		p = MAKE(KIND_DEVICE_MEMORY, 5000, u.device_alloc(c, d, NULL, 5000, 0, &err));
		usm_free(b, free_it, KIND_DEVICE_MEMORY, p);
		p = MAKE(KIND_SHARED_MEMORY, 7000, u.shared_alloc(c, d, NULL, 7000, 0, &err));
		usm_free(b, free_it, KIND_SHARED_MEMORY, p);
	}
}
