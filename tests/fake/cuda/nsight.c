/* SPDX-License-Identifier: MIT */
/*
 * nsight.c - what Nsight Compute preloads: a library with the driver's functions, which programs
 * get when they load the driver.
 */
#include <dlfcn.h>
#include <string.h>

#include "fake.h"

typedef void *dlopen_fn(const char *file, int mode);

FAKE_EXPORT void *dlopen(const char *file, int mode)
{
	dlopen_fn *real = (dlopen_fn *)dlsym(RTLD_NEXT, "dlopen");
	Dl_info self;

	if (file && !strcmp(file, "libcuda.so.1") && dladdr((void *)(uintptr_t)dlopen, &self))
		file = self.dli_fname;
	return real(file, mode);
}
