/* SPDX-License-Identifier: MIT */
/* What every OpenCL test program shares: arguments, picking a platform, ending with a message. */
#ifndef CL_COMMON_H
#define CL_COMMON_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#ifndef CL_TARGET_OPENCL_VERSION
#define CL_TARGET_OPENCL_VERSION 300
#endif
/* The old calls are still called by real programs, so they are tested like the new ones. */
#define CL_USE_DEPRECATED_OPENCL_1_0_APIS
#define CL_USE_DEPRECATED_OPENCL_1_1_APIS
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#define CL_USE_DEPRECATED_OPENCL_2_0_APIS
#define CL_USE_DEPRECATED_OPENCL_2_1_APIS
#define CL_USE_DEPRECATED_OPENCL_2_2_APIS

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <CL/cl.h>
#include <CL/cl_ext.h>

enum {
	STATUS_OK = 0,
	STATUS_FAILED = 1,
	STATUS_SKIPPED = 77, /* what meson and automake read as "skipped" */
};

__attribute__((format(printf, 2, 3), noreturn)) static inline void quit(int status,
									const char *format, ...)
{
	va_list args;

	/* stdout first: a test that merges both streams must see one order */
	fflush(stdout);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
	exit(status);
}

/* Ends the program unless the OpenCL call named by @what succeeded. */
static inline void must(cl_int err, const char *what, const char *file, int line)
{
	if (err != CL_SUCCESS)
		quit(STATUS_FAILED, "%s:%d: error %d from %s", file, line, (int)err, what);
}

#define MUST(call) must((call), #call, __FILE__, __LINE__)

static inline void arg_remove(int *argc, char **argv, int first, int count)
{
	for (int i = first; i + count <= *argc; i++)
		argv[i] = argv[i + count]; /* takes the closing NULL along */
	*argc -= count;
}

/* Takes "@name VALUE" out of the arguments; NULL when it is not there. */
static inline const char *arg_take(int *argc, char **argv, const char *name)
{
	for (int i = 1; i < *argc; i++) {
		const char *value;

		if (strcmp(argv[i], name))
			continue;
		if (i + 1 == *argc)
			quit(STATUS_FAILED, "%s wants a value", name);
		value = argv[i + 1];
		arg_remove(argc, argv, i, 2);
		return value;
	}
	return NULL;
}

/* Takes the flag @name out of the arguments. */
static inline bool arg_flag(int *argc, char **argv, const char *name)
{
	for (int i = 1; i < *argc; i++) {
		if (!strcmp(argv[i], name)) {
			arg_remove(argc, argv, i, 1);
			return true;
		}
	}
	return false;
}

static inline long arg_number(int *argc, char **argv, const char *name, long fallback)
{
	const char *text = arg_take(argc, argv, name);
	char *end;
	long number;

	if (!text)
		return fallback;
	number = strtol(text, &end, 10);
	if (end == text || *end || number < 0)
		quit(STATUS_FAILED, "%s wants a number, not '%s'", name, text);
	return number;
}

/* To be called when every known argument was taken. */
static inline void arg_none_left(int argc, char **argv)
{
	if (argc > 1)
		quit(STATUS_FAILED, "unknown argument '%s'", argv[1]);
}

struct cl_choice {
	cl_platform_id platform;
	cl_device_id device;
};

/*
 * Picks the first device of the first platform whose name contains @substring, or of the first
 * platform that has a device when @substring is NULL. Ends with STATUS_SKIPPED if there is none.
 */
static inline struct cl_choice cl_pick(const char *substring)
{
	struct cl_choice choice = { NULL, NULL };
	cl_platform_id platforms[16];
	cl_uint count = 0;

	/* the loader answers an error, not a count of 0, when no driver is installed */
	if (clGetPlatformIDs(16, platforms, &count) != CL_SUCCESS)
		count = 0;
	for (cl_uint i = 0; i < count && i < 16; i++) {
		char name[256] = "";

		MUST(clGetPlatformInfo(platforms[i], CL_PLATFORM_NAME, sizeof(name), name, NULL));
		if (substring && !strcasestr(name, substring))
			continue;
		if (clGetDeviceIDs(platforms[i], CL_DEVICE_TYPE_ALL, 1, &choice.device, NULL))
			continue;
		choice.platform = platforms[i];
		return choice;
	}
	quit(STATUS_SKIPPED, "skipped: no OpenCL platform with a device%s%s",
	     substring ? " matches " : "", substring ? substring : "");
}

static inline cl_context cl_context_on(struct cl_choice choice)
{
	cl_int err;
	cl_context context = clCreateContext(NULL, 1, &choice.device, NULL, NULL, &err);

	MUST(err);
	return context;
}

#endif
