/* SPDX-License-Identifier: MIT */
/* tap.c - how a tracer of ours sees the calls of a recorded process without touching its stack. */
#include "guest/tap.h"

#include <dlfcn.h>
#include <errno.h>
#include <time.h>

#include "base/cancellation.h"

enum { WAIT_MS = 100 }; /* tracers look for new recorders every 50 ms */

struct gt_tap_state gt_tap_state;

__attribute__((noinline)) void gt_tap_opened(uint64_t table, uint64_t doors)
{
	__asm__ volatile("" ::"r"(table), "r"(doors) : "memory");
}

__attribute__((noinline)) void gt_tap_begin(uint32_t function)
{
	__asm__ volatile("" ::"r"(function) : "memory");
}

__attribute__((noinline)) void gt_tap_call(uint32_t function, uint64_t ret)
{
	__asm__ volatile("" ::"r"(function), "r"(ret) : "memory");
}

/* True if a breakpoint is where a function begins. */
static bool is_probed(const void *function)
{
#ifdef __aarch64__
	enum { BREAKPOINT = 0xd42000a0 };

	return *(const volatile uint32_t *)function == (uint32_t)BREAKPOINT;
#else
	enum { BREAKPOINT = 0xcc };

	return *(const volatile uint8_t *)function == BREAKPOINT;
#endif
}

/* True if somebody probes the loader that a door lies under, by a function that every tracer has.
 */
static bool is_loader_probed(enum gt_api api)
{
	static const struct {
		const char *library, *function;
	} loaders[GT_API_COUNT] = {
		[GT_OPENCL] = { "libOpenCL.so.1", "clCreateContext" },
		[GT_LEVELZERO] = { "libze_loader.so.1", "zeContextCreate" },
	};
	void *loader =
		loaders[api].library ? dlopen(loaders[api].library, RTLD_LAZY | RTLD_NOLOAD) : NULL;
	const void *function = loader ? dlsym(loader, loaders[api].function) : NULL;
	bool found = function && is_probed(function);

	if (loader)
		dlclose(loader);
	return found;
}

/*
 * A tracer to which this copy of the recorder is new will probe it in a moment. Until then it would
 * hide who makes the first calls.
 */
static void wait_for_tracer(enum gt_api api)
{
	const struct timespec moment = { .tv_nsec = 1000000 };
	struct gt_cancellation before;
	int saved = errno;

	if (is_loader_probed(api)) {
		before = gt_cancellation_watch();
		gt_cancellation_hold();
		for (int i = 0; i < WAIT_MS && !(is_probed(gt_tap_opened) &&
						 is_probed(gt_tap_begin) && is_probed(gt_tap_call));
		     i++)
			nanosleep(&moment, NULL);
		gt_cancellation_leave(&before);
	}
	errno = saved;
}

void gt_tap_open(enum gt_api api)
{
	bool is_open = gt_tap_state.doors >> api & 1;

	gt_tap_state.table = gt_functions_digest();
	/* a tracer reads this after it has probed the function below: it misses neither */
	__atomic_fetch_or(&gt_tap_state.doors, UINT64_C(1) << api, __ATOMIC_SEQ_CST);
	if (!is_open)
		wait_for_tracer(api);
	gt_tap_opened(gt_tap_state.table, gt_tap_state.doors);
}
