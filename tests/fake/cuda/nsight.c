/* SPDX-License-Identifier: MIT */
/*
 * nsight.c - what Nsight Compute preloads: a library with the driver's functions, which programs
 * get when they load the driver. What it hands out by name, it does not export.
 */
#include <dlfcn.h>
#include <string.h>

#include "fake.h"

typedef void *dlopen_fn(const char *file, int mode);

void *fake_behind(void)
{
	dlopen_fn *real = (dlopen_fn *)dlsym(RTLD_NEXT, "dlopen");

	return real("libcuda.so.1", RTLD_LAZY | RTLD_NODELETE);
}

FAKE_EXPORT void *dlopen(const char *file, int mode)
{
	dlopen_fn *real = (dlopen_fn *)dlsym(RTLD_NEXT, "dlopen");
	Dl_info self;

	if (file && !strcmp(file, "libcuda.so.1") && dladdr((void *)(uintptr_t)dlopen, &self))
		file = self.dli_fname;
	return real(file, mode);
}
