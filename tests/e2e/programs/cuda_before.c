/* SPDX-License-Identifier: MIT */
/*
 * cuda_before.c - a library that stands before the CUDA driver, as those that share a GPU do:
 * counts allocations, says so when the process ends, and goes on to the next.
 */
#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

static int seen;

#define EXPORT __attribute__((visibility("default")))

EXPORT int cuMemAlloc_v2(uint64_t *memory, size_t bytes);
int cuMemAlloc_v2(uint64_t *memory, size_t bytes)
{
	int (*next)(uint64_t *, size_t) =
		(int (*)(uint64_t *, size_t))dlsym(RTLD_NEXT, "cuMemAlloc_v2");

	seen++;
	return next ? next(memory, bytes) : 3;
}

__attribute__((destructor)) static void say(void)
{
	if (seen)
		printf("%d allocations passed by\n", seen);
}
