/* SPDX-License-Identifier: MIT */
/* The kinds of tracked objects, and a log of their lives that owes nothing to the tracker. */
#ifndef CL_KINDS_H
#define CL_KINDS_H

#include "cl_common.h" /* first: it defines _GNU_SOURCE */

#include <fcntl.h>
#include <unistd.h>

enum cl_kind {
	KIND_CONTEXT,
	KIND_QUEUE,
	KIND_BUFFER,
	KIND_SUB_BUFFER,
	KIND_IMAGE,
	KIND_PIPE,
	KIND_SAMPLER,
	KIND_PROGRAM,
	KIND_KERNEL,
	KIND_EVENT,
	KIND_SVM,
	KIND_HOST_MEMORY,
	KIND_DEVICE_MEMORY,
	KIND_SHARED_MEMORY,
	KIND_SUB_DEVICE,
	KIND_COUNT,
};

static const char *const kind_names[KIND_COUNT] = {
	[KIND_CONTEXT] = "context",
	[KIND_QUEUE] = "queue",
	[KIND_BUFFER] = "buffer",
	[KIND_SUB_BUFFER] = "sub-buffer",
	[KIND_IMAGE] = "image",
	[KIND_PIPE] = "pipe",
	[KIND_SAMPLER] = "sampler",
	[KIND_PROGRAM] = "program",
	[KIND_KERNEL] = "kernel",
	[KIND_EVENT] = "event",
	[KIND_SVM] = "svm",
	[KIND_HOST_MEMORY] = "host-memory",
	[KIND_DEVICE_MEMORY] = "device-memory",
	[KIND_SHARED_MEMORY] = "shared-memory",
	[KIND_SUB_DEVICE] = "sub-device",
};

/* The kind of that name; ends the program when there is none. */
static inline enum cl_kind kind_find(const char *name)
{
	for (int i = 0; i < KIND_COUNT; i++) {
		if (!strcmp(name, kind_names[i]))
			return (enum cl_kind)i;
	}
	quit(STATUS_FAILED, "unknown kind '%s'", name);
}

/* Memory from an allocation call has no reference count: here it is an invalid value. */
static inline cl_int kind_retain(enum cl_kind kind, void *handle)
{
	switch (kind) {
	case KIND_CONTEXT: return clRetainContext(handle);
	case KIND_QUEUE: return clRetainCommandQueue(handle);
	case KIND_BUFFER:
	case KIND_SUB_BUFFER:
	case KIND_IMAGE:
	case KIND_PIPE: return clRetainMemObject(handle);
	case KIND_SAMPLER: return clRetainSampler(handle);
	case KIND_PROGRAM: return clRetainProgram(handle);
	case KIND_KERNEL: return clRetainKernel(handle);
	case KIND_EVENT: return clRetainEvent(handle);
	case KIND_SUB_DEVICE: return clRetainDevice(handle);
	default: return CL_INVALID_VALUE;
	}
}

static inline cl_int kind_release(enum cl_kind kind, void *handle)
{
	switch (kind) {
	case KIND_CONTEXT: return clReleaseContext(handle);
	case KIND_QUEUE: return clReleaseCommandQueue(handle);
	case KIND_BUFFER:
	case KIND_SUB_BUFFER:
	case KIND_IMAGE:
	case KIND_PIPE: return clReleaseMemObject(handle);
	case KIND_SAMPLER: return clReleaseSampler(handle);
	case KIND_PROGRAM: return clReleaseProgram(handle);
	case KIND_KERNEL: return clReleaseKernel(handle);
	case KIND_EVENT: return clReleaseEvent(handle);
	case KIND_SUB_DEVICE: return clReleaseDevice(handle);
	default: return CL_INVALID_VALUE;
	}
}

static int life_log = -1;

/* Without a path nothing is logged. */
static inline void log_open(const char *path)
{
	if (!path)
		return;
	life_log = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0644);
	if (life_log < 0)
		quit(STATUS_FAILED, "cannot write %s: %m", path);
}

/* One write(2) per line: what was logged stays logged however the process ends. */
__attribute__((format(printf, 1, 2))) static inline void log_line(const char *format, ...)
{
	char line[160];
	va_list args;
	int length;

	if (life_log < 0)
		return;
	va_start(args, format);
	length = vsnprintf(line, sizeof(line), format, args);
	va_end(args);
	if (write(life_log, line, length) != length)
		quit(STATUS_FAILED, "cannot write the log: %m");
}

/* @line and @file are where the creating call is written. */
static inline void log_create(enum cl_kind kind, const void *handle, size_t size_bytes, int line,
			      const char *file)
{
	log_line("create %s %p %zu %d %s\n", kind_names[kind], handle, size_bytes, line, file);
}

static inline void log_retain(enum cl_kind kind, const void *handle)
{
	log_line("retain %s %p\n", kind_names[kind], handle);
}

static inline void log_release(enum cl_kind kind, const void *handle)
{
	log_line("release %s %p\n", kind_names[kind], handle);
}

#endif
