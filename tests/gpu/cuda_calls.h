/* SPDX-License-Identifier: MIT */
/* cuda_calls.h - CUDA's driver, opened at run time: no toolkit is needed where a program runs. */
#pragma once

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#include <cuda.h>

#define TEXT_(name) #name
#define TEXT(name)  TEXT_(name)

/* Functions under the names that the header gives them: cuMemAlloc is cuMemAlloc_v2. */
#define CALL(function, ...) ((__typeof__(&function))address(TEXT(function)))(__VA_ARGS__)
#define NEED(function, ...) need(#function, CALL(function, __VA_ARGS__))

static void *address(const char *name)
{
	static void *library;
	void *found;

	if (!library)
		library = dlopen("libcuda.so.1", RTLD_NOW);
	found = library ? dlsym(library, name) : NULL;
	if (!found) {
		fprintf(stderr, "skipped: %s\n", dlerror());
		exit(77);
	}
	return found;
}

static void need(const char *what, CUresult result)
{
	if (result) {
		fprintf(stderr, "%s: error %d\n", what, (int)result);
		exit(1);
	}
}
