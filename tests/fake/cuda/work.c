/* SPDX-License-Identifier: MIT */
/*
 * work.c - copies, sets and launches of the stand-in driver.
 *
 * A kernel's name says how long its parameters are: "add:8,8,4" has two of 8 bytes and one of 4.
 * Without a colon the driver does not know; before "kernel:" it is known as a kernel, not as a
 * function. Launches do nothing.
 */
#include "fake.h"

#include <stdlib.h>
#include <string.h>

struct function {
	char name[128];
	size_t sizes[16], count;
	bool is_known, is_kernel;
};

static CUresult get_function(CUfunction *out, CUmodule module, const char *name)
{
	struct function *f;
	const char *at = strchr(name, ':');

	if (!fake_is_alive(FAKE_MODULE, H(module)) || strlen(name) >= sizeof f->name)
		return CUDA_ERROR_INVALID_VALUE;
	/* stays: as long as the process, like the driver's */
	f = calloc(1, sizeof *f);
	memcpy(f->name, name, at ? (size_t)(at - name) : strlen(name));
	f->is_kernel = !strncmp(name, "kernel", 6);
	f->is_known = at;
	while (at && *at && f->count < 16)
		f->sizes[f->count++] = strtoul(at + 1, (char **)&at, 10);
	*out = (CUfunction)(void *)f;
	return CUDA_SUCCESS;
}

static CUresult param(const struct function *f, bool is_kernel, size_t index, size_t *offset,
		      size_t *size)
{
	if (f->is_kernel != is_kernel || !f->is_known)
		return CUDA_ERROR_INVALID_HANDLE;
	if (index >= f->count)
		return CUDA_ERROR_INVALID_VALUE;
	*offset = 0;
	for (size_t i = 0; i < index; i++)
		*offset += f->sizes[i];
	*size = f->sizes[index];
	return CUDA_SUCCESS;
}

#define F(handle) ((const struct function *)(const void *)(handle))
PLAIN(cuModuleGetFunction, (CUfunction * f, CUmodule module, const char *name),
      get_function(f, module, name))
PLAIN(cuFuncGetParamInfo, (CUfunction f, size_t index, size_t *offset, size_t *size),
      param(F(f), false, index, offset, size))
PLAIN(cuKernelGetParamInfo, (CUkernel f, size_t index, size_t *offset, size_t *size),
      param(F(f), true, index, offset, size))
PLAIN(cuFuncGetName, (const char **name, CUfunction f), (*name = F(f)->name, CUDA_SUCCESS))
PLAIN(cuKernelGetName, (const char **name, CUkernel f), (*name = F(f)->name, CUDA_SUCCESS))

/* The code of a kernel is loaded when it is first launched. */
static CUresult launched(CUfunction f)
{
	if (getenv("FAKE_CUDA_COSTS"))
		fake_new_at(FAKE_CODE, H(f), 0, NULL);
	return CUDA_SUCCESS;
}

PLAIN(cuLaunchKernel,
      (CUfunction f, unsigned int gx, unsigned int gy, unsigned int gz, unsigned int bx,
       unsigned int by, unsigned int bz, unsigned int bytes, CUstream stream, void **params,
       void **extra),
      NEED(f, launched(f)))
PLAIN(cuLaunchKernelEx, (const CUlaunchConfig *config, CUfunction f, void **params, void **extra),
      NEED(f, launched(f)))
PLAIN(cuGraphLaunch, (CUgraphExec exec, CUstream stream),
      fake_is_alive(FAKE_EXEC, H(exec)) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE)

#define P(address) ((void *)(uintptr_t)(address))
PLAIN(cuMemcpyHtoD_v2, (CUdeviceptr dst, const void *src, size_t n),
      (memcpy(P(dst), src, n), CUDA_SUCCESS))
PLAIN(cuMemcpyDtoH_v2, (void *dst, CUdeviceptr src, size_t n),
      (memcpy(dst, P(src), n), CUDA_SUCCESS))
PLAIN(cuMemcpyDtoDAsync_v2, (CUdeviceptr dst, CUdeviceptr src, size_t n, CUstream stream),
      (memcpy(P(dst), P(src), n), CUDA_SUCCESS))
PLAIN(cuMemcpyAsync, (CUdeviceptr dst, CUdeviceptr src, size_t n, CUstream stream),
      (memcpy(P(dst), P(src), n), CUDA_SUCCESS))
PLAIN(cuMemsetD8_v2, (CUdeviceptr dst, unsigned char byte, size_t n),
      (memset(P(dst), byte, n), CUDA_SUCCESS))
PLAIN(cuMemsetD8Async, (CUdeviceptr dst, unsigned char byte, size_t n, CUstream stream),
      (memset(P(dst), byte, n), CUDA_SUCCESS))
PLAIN(cuMemcpy2D_v2, (const CUDA_MEMCPY2D *copy), NEED(copy, CUDA_SUCCESS))
