/* SPDX-License-Identifier: MIT */
/* cuda_own_dlsym.c - a program that stands in for dlsym itself, and counts the questions. */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>

#include "../../libc_first.h"

static int asked;

void *dlsym(void *handle, const char *name)
{
	static void *(*next)(void *, const char *);

	if (!next)
		next = (void *(*)(void *, const char *))dlvsym(RTLD_NEXT, "dlsym", LIBC_FIRST);
	asked++;
	return next(handle, name);
}

int main(void)
{
	void *driver = dlopen("libcuda.so.1", RTLD_LAZY), *context;
	int (*init)(unsigned) = (int (*)(unsigned))dlsym(driver, "cuInit");
	int (*create)(void **, unsigned, int) =
		(int (*)(void **, unsigned, int))dlsym(driver, "cuCtxCreate_v2");
	int (*alloc)(uint64_t *, size_t) =
		(int (*)(uint64_t *, size_t))dlsym(driver, "cuMemAlloc_v2");
	uint64_t memory;

	printf("%d ", init(0));
	printf("%d ", create(&context, 0, 0));
	printf("%d, %d questions\n", alloc(&memory, 4096), asked);
	return 0;
}
