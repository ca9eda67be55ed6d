/* SPDX-License-Identifier: MIT */
/*
 * ze_common.h - what the Level Zero test programs share: opening a device, checked calls, and a log
 * of their own to hold a tracker's recording against.
 *
 * The log has one line per successful tracked call, written by one write(2) after the call has
 * returned: `zeMemAllocDevice handle=0x7f… size=4096 kind=memory`. Lines of one thread are in the
 * order of its calls. `size` is what was asked for or given back, 0 where there is no size; the
 * handle of an append is its list.
 */
#ifndef GT_ZE_COMMON_H
#define GT_ZE_COMMON_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <dlfcn.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <level_zero/ze_api.h>

/* Meson's and automake's "skipped" */
#define EXIT_SKIPPED 77

struct ze {
	ze_driver_handle_t driver;
	ze_device_handle_t device;
};

static int ze_log_fd = -1;

static inline void ze_log_open(const char *path)
{
	ze_log_fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0666);
	if (ze_log_fd < 0) {
		perror(path);
		exit(2);
	}
}

static inline void ze_log(const char *function, const void *handle, size_t size, const char *kind)
{
	char line[192];
	int n;

	if (ze_log_fd < 0)
		return;
	n = snprintf(line, sizeof(line), "%s handle=0x%llx size=%zu kind=%s\n", function,
		     (unsigned long long)(uintptr_t)handle, size, kind);
	if (write(ze_log_fd, line, (size_t)n) != n) {
		perror("log");
		exit(2);
	}
}

static inline void ze_check(ze_result_t rc, const char *what, const char *file, int line)
{
	if (rc == ZE_RESULT_SUCCESS)
		return;
	fprintf(stderr, "%s:%d: %s: 0x%x\n", file, line, what, (unsigned int)rc);
	exit(1);
}

/* A call that must succeed and that no tracker records. */
#define CHECK(function, ...) ze_check(function(__VA_ARGS__), #function, __FILE__, __LINE__)

/* A tracked call that must succeed; `handle` is looked at after the call. */
#define TRACKED(function, handle, size, kind, ...)                                                 \
	do {                                                                                       \
		CHECK(function, __VA_ARGS__);                                                      \
		ze_log(#function, (void *)(handle), size, kind);                                   \
	} while (0)

/* The driver that calls are made to from here on. */
static bool ze_ours;

static inline void ze_use(ze_driver_handle_t driver)
{
	ze_driver_properties_t p = { .stype = ZE_STRUCTURE_TYPE_DRIVER_PROPERTIES };

	CHECK(zeDriverGetProperties, driver, &p);
	ze_ours = p.uuid.id[0] == 'g' && p.uuid.id[1] == 't';
}

/* True on the project's own driver, which computes, and does whatever it is asked for. */
static inline bool ze_is_ours(void)
{
	return ze_ours;
}

/*
 * True when a tracked call succeeded. A real driver may refuse it as unsupported (Intel's without
 * hardware says so, or calls an argument invalid): it then prints its name.
 */
static inline bool ze_may_refuse(ze_result_t rc, const char *what, const char *file, int line)
{
	if (!ze_is_ours() &&
	    (rc == ZE_RESULT_ERROR_UNSUPPORTED_FEATURE || rc == ZE_RESULT_ERROR_INVALID_ARGUMENT)) {
		printf("refused %s\n", what);
		return false;
	}
	ze_check(rc, what, file, line);
	return true;
}

/* A tracked call that only real drivers may refuse; false when it did. */
#define ATTEMPTED(function, handle, size, kind, ...)                                               \
	(ze_may_refuse(function(__VA_ARGS__), #function, __FILE__, __LINE__) &&                    \
	 (ze_log(#function, (void *)(handle), size, kind), true))

/* A module with a kernel `add`, in the form that the driver takes: ours takes names. */
static inline ze_module_desc_t ze_module_input(void)
{
	static const char names[] = "add scale";
	/* kernel void add(void) {} */
	static const uint32_t code[] = {
		0x07230203, 0x00010000, 0,          6,          0, /* header, 6 numbers */
		0x00020011, 4,          0x00020011, 6, /* capabilities: addresses, kernel */
		0x0003000e, 2,          2,             /* 64 bits, OpenCL */
		0x0004000f, 6,          4,          0x00646461,    /* entry point "add" */
		0x00020013, 2,                                     /* void */
		0x00030021, 3,          2,                         /* function of it */
		0x00050036, 2,          4,          0,          3, /* its body */
		0x000200f8, 5,          0x000100fd, 0x00010038,
	};
	bool is_ours = ze_is_ours();

	return (ze_module_desc_t){
		.stype = ZE_STRUCTURE_TYPE_MODULE_DESC,
		.format = is_ours ? ZE_MODULE_FORMAT_NATIVE : ZE_MODULE_FORMAT_IL_SPIRV,
		.inputSize = is_ours ? sizeof(names) : sizeof(code),
		.pInputModule = is_ours ? (const uint8_t *)names : (const uint8_t *)code
	};
}

/* Exits 77 when there is no loader's worth of a driver. */
static inline void ze_open(struct ze *ze)
{
	uint32_t drivers = 1, devices = 1;

	if (zeInit(0) != ZE_RESULT_SUCCESS ||
	    zeDriverGet(&drivers, &ze->driver) != ZE_RESULT_SUCCESS || !drivers ||
	    zeDeviceGet(ze->driver, &devices, &ze->device) != ZE_RESULT_SUCCESS || !devices) {
		fprintf(stderr, "no Level Zero driver: skipped\n");
		exit(EXIT_SKIPPED);
	}
	ze_use(ze->driver);
}

/* Live objects in all test drivers that ZE_ENABLE_ALT_DRIVERS names; -1: there is none. */
static inline long ze_live(const char *kind)
{
	char *drivers = getenv("ZE_ENABLE_ALT_DRIVERS"), *copy, *rest, *path;
	long sum = -1;

	if (!drivers)
		return -1;
	copy = rest = strdup(drivers);
	while ((path = strsep(&rest, ","))) {
		void *lib = dlopen(path, RTLD_NOW | RTLD_NOLOAD);
		long (*live)(const char *) = lib ? dlsym(lib, "gt_fake_ze_live") : NULL;

		if (live)
			sum = (sum < 0 ? 0 : sum) + live(kind);
		if (lib)
			dlclose(lib);
	}
	free(copy);
	return sum;
}

/* The value of option argv[*i], which must have one. */
static inline const char *ze_value(int argc, char **argv, int *i)
{
	if (*i + 1 >= argc) {
		fprintf(stderr, "%s: %s needs a value\n", argv[0], argv[*i]);
		exit(2);
	}
	return argv[++*i];
}

static inline int ze_usage(const char *program, const char *options)
{
	fprintf(stderr, "usage: %s %s\n", program, options);
	return 2;
}

#endif
