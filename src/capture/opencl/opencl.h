/* SPDX-License-Identifier: MIT */
/* opencl.h - declarations that the files of the OpenCL door share. */
#pragma once

#define CL_TARGET_OPENCL_VERSION 300
#define CL_USE_DEPRECATED_OPENCL_1_0_APIS
#define CL_USE_DEPRECATED_OPENCL_1_1_APIS
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#define CL_USE_DEPRECATED_OPENCL_2_0_APIS
#define CL_USE_DEPRECATED_OPENCL_2_1_APIS
#define CL_USE_DEPRECATED_OPENCL_2_2_APIS
#include <CL/cl_egl.h>
#include <CL/cl_ext.h>
#include <CL/cl_gl.h>
#include <CL/cl_layer.h>

#include "guest/wrap.h"

/* Argument types that C can only declare around a name. */
typedef void(CL_CALLBACK *gt_cl_context_notify)(const char *, const void *, size_t, void *);
typedef void(CL_CALLBACK *gt_cl_program_notify)(cl_program, void *);
typedef void(CL_CALLBACK *gt_cl_svm_free_notify)(cl_command_queue, cl_uint, void *[], void *);
typedef void(CL_CALLBACK *gt_cl_native_kernel)(void *);

enum { GT_CL_PLATFORMS_MAX = 32 };

/* The layer or driver below us. Set once, before any call can come. */
extern const cl_icd_dispatch *gt_cl_next;

/* Asks the driver about new resources: sizes, counts, platforms. */
extern const struct gt_call_door gt_cl_door;

/* Index of an object's platform, by the driver that the object belongs to; -1 when unknown. */
int gt_cl_platform_of(enum gt_kind kind, uint64_t object);
/* Index of a platform; -1 when there is no such platform. */
int gt_cl_platform_index(cl_platform_id platform);
/* The place number under which a platform's resources are recorded. */
uint16_t gt_cl_platform_place(int index);

/* A function of the live-object extension by name; NULL for other names, or NULL. */
void *gt_cl_live_function(const char *name);

/* Tracks from the first object on if ACL_TRACK_LEAKS is in the environment. */
void gt_cl_live_start(void);

/* clGetPlatformInfo with the extension's name added. */
cl_int CL_API_CALL gt_cl_get_platform_info(cl_platform_id platform, cl_platform_info name,
					   size_t size, void *value, size_t *size_ret);
