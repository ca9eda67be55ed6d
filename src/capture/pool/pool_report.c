/* SPDX-License-Identifier: MIT */
/*
 * pool_report.c - in the preloaded library: the functions that allocators report their blocks to.
 *
 * The allocators' libraries call them through the loader, which finds ours first. They have a
 * hidden version as all that preload.c exports, so dlsym does not find them. Each passes on to the
 * function of the same name in the allocator's own library, which Python loads where RTLD_NEXT does
 * not look.
 *
 * A program's own allocators report theirs to two functions of ours, if these are there.
 *
 * A program without such an allocator never gets here, and one whose blocks are not wanted never
 * loads the door.
 */
#include "capture/pool/pool_door.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "api/fold.h"
#include "capture/cuda/preload.h"

enum wanted { UNKNOWN, NOTHING, ACCELERATORS, ALL };

/* GPUTRACK_POOLS, from `gputrack run --pools`. */
static enum wanted wanted(void)
{
	static _Atomic enum wanted known;
	enum wanted which = atomic_load_explicit(&known, memory_order_relaxed);
	const char *text;

	if (which != UNKNOWN)
		return which;
	text = secure_getenv("GPUTRACK_POOLS");
	which = text && !strcmp(text, "none") ? NOTHING :
		text && !strcmp(text, "cpu")  ? ALL :
						ACCELERATORS;
	atomic_store_explicit(&known, which, memory_order_relaxed);
	return which;
}

static _Atomic(const struct gt_pool_door *) opened;

const struct gt_pool_door *gt_report_door(void)
{
	return atomic_load_explicit(&opened, memory_order_acquire);
}

/* NULL: there is none, or this thread is loading it. */
static const struct gt_pool_door *open_door(void)
{
	static _Atomic bool tried;
	static __thread bool opening __attribute__((tls_model("initial-exec")));
	const struct gt_pool_door *found = gt_report_door();

	if (found || opening || atomic_load(&tried))
		return found;
	opening = true;
	found = gt_preload_door("libgputrack_pool.so", GT_POOL_DOOR);
	opening = false;
	atomic_store_explicit(&opened, found, memory_order_release);
	atomic_store(&tried, true);
	return found;
}

/* Blocks of the CPU come by two functions while a profiler runs, one inside the other. */
static bool is_repeated(const struct gt_pool_report *r)
{
	static __thread uint64_t last __attribute__((tls_model("initial-exec")));
	uint64_t now = r->block << 1 | (r->bytes < 0);

	if (last == now)
		return true;
	last = now;
	return false;
}

static void take(const struct gt_pool_report *report, const void *caller)
{
	const struct gt_pool_door *door;
	int saved;

	bool is_cpu = report->device.type == GT_TORCH_CPU;

	if (wanted() < (is_cpu ? ALL : ACCELERATORS) || (is_cpu && is_repeated(report)))
		return;
	saved = errno;
	door = open_door();
	if (door) {
		gt_report_thread(door);
		door->record(report, caller);
	}
	errno = saved;
}

static void ignore(void)
{
}

/* Asked for at the first call. */
void *gt_report_next(_Atomic(void *) *slot, const char *symbol)
{
	void *next = atomic_load_explicit(slot, memory_order_acquire);
	int saved = errno;

	if (__builtin_expect(next != NULL, 1))
		return next;
	next = gt_preload_find(symbol);
	if (!next)
		next = (void *)ignore;
	atomic_store_explicit(slot, next, memory_order_release);
	errno = saved;
	return next;
}

/* clang-format off */
#define REPORT(id, symbol, args, ...) REPORT_(id, symbol, (__VA_ARGS__), UNWRAP args)
#define REPORT_(id, symbol, columns, ...)                                                     \
	__asm__(".symver gt_report_" #id "," symbol "@GPUTRACK, remove");                     \
	__attribute__((visibility("default"), used)) void gt_report_##id(PARAMS(__VA_ARGS__)); \
	void gt_report_##id(PARAMS(__VA_ARGS__))                                              \
	{                                                                                     \
		static _Atomic(void *) slot;                                                  \
		void (*next)(PARAMS(__VA_ARGS__)) = gt_report_next(&slot, symbol);           \
		const struct gt_pool_report report = GT_POOL_COLUMNS columns;                 \
                                                                                              \
		take(&report, __builtin_return_address(0));                                   \
		next(NAMES(__VA_ARGS__));                                                     \
	}
#include "api/pool.def"
/* clang-format on */

/* Of include/gputrack/pool.h: these are for everybody to find, also by dlsym. */
#define EXPORT __attribute__((visibility("default")))
EXPORT void gputrack_on_pool_block(const char *pool, const void *address, size_t bytes, int device);
EXPORT void gputrack_on_pool_end(const char *pool, const void *address);

static void take_own(const char *pool, const void *address, int64_t bytes, const void *caller)
{
	const struct gt_pool_report report = { .block = (uintptr_t)address,
					       .bytes = bytes,
					       .device = { GT_TORCH_CUDA, -1 },
					       .is_own = true,
					       .pool = pool };

	if (address)
		take(&report, caller);
}

void gputrack_on_pool_block(const char *pool, const void *address, size_t bytes, int device)
{
	if (device >= 0)
		take_own(pool, address, bytes > INT64_MAX ? INT64_MAX : (int64_t)bytes,
			 __builtin_return_address(0));
}

void gputrack_on_pool_end(const char *pool, const void *address)
{
	take_own(pool, address, -1, __builtin_return_address(0));
}
