/* SPDX-License-Identifier: MIT */
/*
 * first_launch.c - the first launch of each kernel on each stream: that is when the driver loads
 * code, and when it makes room for the local memory of kernels that run at the same time.
 *
 * What it takes of the device's memory is measured (measure.c). Later launches cost a look into a
 * table.
 */
#include "capture/cuda/first_launch.h"

#include <stdatomic.h>
#include <string.h>

#include "api/row_check.h"
#include "base/bytes.h"

enum { SLOTS = 1 << 14, PROBES = 16 };

static _Atomic uint64_t launched[SLOTS];

static CUresult (*get_current)(CUcontext *context);

/* True unless this is the first launch that is known of; also if there is no room for it. */
static inline bool was_launched(const void *function, const void *stream)
{
	uint64_t key = gt_mix64((uint64_t)(uintptr_t)function ^ (uint64_t)(uintptr_t)stream << 17);

	for (size_t i = key, n = 0; n < PROBES; i++, n++) {
		_Atomic uint64_t *slot = &launched[i % SLOTS];
		uint64_t found = atomic_load_explicit(slot, memory_order_relaxed);

		if (found == key)
			return true;
		if (!found && atomic_compare_exchange_strong(slot, &found, key))
			return false;
		if (found == key)
			return true;
	}
	return true;
}

static __attribute__((noinline)) void measured(enum gt_function_id row, const void *function,
					       const void *stream,
					       const struct gt_cuda_reading *reading,
					       const void *caller)
{
	int64_t bytes = gt_cuda_measure_end(reading);
	CUcontext context = NULL;

	if (bytes <= 0 || !get_current || get_current(&context) != CUDA_SUCCESS)
		return;
	/* on another stream, the same function takes more: that has a number of its own */
	gt_cuda_measured(row, (uint64_t)(uintptr_t)function + (uint64_t)(uintptr_t)stream,
			 (uint64_t)bytes, context, caller);
}

/* The stream is the first field after seven numbers; without a toolkit the struct has no fields. */
static inline const void *stream_of(const CUlaunchConfig *config)
{
	const void *stream = NULL;

	if (config)
		memcpy(&stream, (const char *)config + 8 * sizeof(unsigned int), sizeof stream);
	return stream;
}

/* The columns of cuda_touch.def: only launches with a kernel are of interest. */
#define STREAM_OF(config)                              stream_of(config)
#define FUNCTION_USES(function, stream, params, extra) function
#define FUNCTION_UNKNOWN                               NULL
#define STREAM_USES(function, stream, params, extra)   stream
#define STREAM_UNKNOWN                                 NULL

#define FN(...)
#define ALSO(...)
#define TOUCH(fn, kind, args, touched)     IF_##kind(fn, touched, UNWRAP args)
#define UNCHECKED(fn, kind, args, touched) TOUCH(fn, kind, args, touched)
#define IF_COPY(...)
#define IF_SET(...)
#define IF_SHARE(...)
#define IF_GRAPH(fn, touched, ...) LAUNCH(fn, cudaGraphMemory, hGraphExec, hStream, __VA_ARGS__)
#define IF_LAUNCH(fn, touched, ...)                                                                \
	LAUNCH(fn, cudaCodeMemory, FUNCTION_##touched, STREAM_##touched, __VA_ARGS__)
#define LAUNCH(fn, row, function_, stream_, ...)                                                   \
	static CUresult wrap_##fn(PARAMS(__VA_ARGS__))                                             \
	{                                                                                          \
		CUresult (*next)(PARAMS(__VA_ARGS__)) = gt_cuda_entries.next[GT_ENTRY_##fn];       \
		const void *function = function_, *stream = stream_;                               \
		struct gt_cuda_reading reading;                                                    \
		CUresult result;                                                                   \
                                                                                                   \
		if (!function || was_launched(function, stream))                                   \
			return next(NAMES(__VA_ARGS__));                                           \
		gt_cuda_measure_begin(&reading);                                                   \
		result = next(NAMES(__VA_ARGS__));                                                 \
		measured(GT_FN_##row, function, stream, &reading, __builtin_return_address(0));    \
		return result;                                                                     \
	}
#include "api/cuda.def"
#undef LAUNCH

void *const gt_cuda_launch_wrappers[GT_ENTRIES] = {
#define LAUNCH(fn, ...) [GT_ENTRY_##fn] = (void *)wrap_##fn,
#include "api/cuda.def"
#undef LAUNCH
};

void gt_cuda_launch_start(void *(*find)(void *, const char *), void *handle)
{
	*(void **)&get_current = find(handle, "cuCtxGetCurrent");
}

void gt_cuda_launch_forget(void)
{
	for (size_t i = 0; i < SLOTS; i++)
		atomic_store_explicit(&launched[i], 0, memory_order_relaxed);
}
