/* SPDX-License-Identifier: MIT */
/* node_addon.c - a module for node: a function that makes a buffer. Node's headers are not needed.
 */
#include <stddef.h>

#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>

typedef struct napi_env_ *napi_env;
typedef struct napi_value_ *napi_value;
typedef struct napi_callback_info_ *napi_callback_info;
typedef napi_value (*napi_callback)(napi_env env, napi_callback_info info);

int napi_create_function(napi_env env, const char *name, size_t size, napi_callback function,
			 void *data, napi_value *result);
napi_value napi_register_module_v1(napi_env env, napi_value exports);

static cl_context context;

static napi_value make(napi_env env, napi_callback_info info)
{
	(void)env;
	(void)info;
	clCreateBuffer(context, CL_MEM_READ_WRITE, 4096, NULL, NULL);
	return NULL;
}

napi_value napi_register_module_v1(napi_env env, napi_value exports)
{
	napi_value function = exports;
	cl_platform_id platform;
	cl_device_id device;

	clGetPlatformIDs(1, &platform, NULL);
	clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL);
	context = clCreateContext(NULL, 1, &device, NULL, NULL, NULL);
	napi_create_function(env, "make", 4, make, NULL, &function);
	return function;
}
