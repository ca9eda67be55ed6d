/* SPDX-License-Identifier: MIT */
/*
 * direct.c - the CUDA door without CUPTI: one wrapper per row of cuda.def, around the driver's own
 * function.
 *
 * preload.c gives the wrappers to the program in place of the driver's functions.
 */
#include "capture/cuda/direct.h"

#include <link.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "api/row_check.h"
#include "capture/cuda/cuda.h"
#include "capture/cuda/first_launch.h"
#include "capture/cuda/touch.h"
#include "guest/settings.h"

#define EXPORT __attribute__((visibility("default")))

struct gt_cuda_entries gt_cuda_entries;

/* Rows that need more than the recorder: contexts, code, executable graphs, streams. */
#define IS_SPECIAL(kind)                                                                           \
	(GT_##kind == GT_PRIMARY_CONTEXT || GT_##kind == GT_CUDA_CONTEXT ||                        \
	 GT_##kind == GT_GREEN_CONTEXT || GT_##kind == GT_LIBRARY || GT_##kind == GT_MODULE ||     \
	 GT_##kind == GT_EXECUTABLE_GRAPH || GT_##kind == GT_STREAM)
/* Rows that make an object of memory: kernels name the object. */
#define IS_BINDING(effect, kind)                                                                   \
	(GT_##effect == GT_CREATE && (GT_##kind == GT_TEXTURE || GT_##kind == GT_SURFACE))
/* Rows whose call changes how much device memory is in use. */
#define IS_MEMORY(kind)                                                                            \
	(GT_##kind == GT_DEVICE_MEMORY || GT_##kind == GT_PHYSICAL_MEMORY ||                       \
	 GT_##kind == GT_SHARED_MEMORY || GT_##kind == GT_ARRAY ||                                 \
	 GT_##kind == GT_MIPMAPPED_ARRAY)

static CUresult (*get_current)(CUcontext *context);
static CUresult (*get_device)(CUdevice *device);

/* Asked of the driver each time: it takes some 10 ns, and is never out of date. */
static CUcontext current_context(void)
{
	CUcontext context = NULL;

	return get_current && get_current(&context) == CUDA_SUCCESS ? context : NULL;
}

/* What owner_of was told: the place of the same resource is asked for next. */
static __thread CUcontext owner __attribute__((tls_model("initial-exec")));

static uint64_t owner_of(const struct gt_call *call, enum gt_function_id row, uint64_t handle)
{
	owner = current_context();
	return (uint64_t)(uintptr_t)owner;
}

static uint16_t place_of(const struct gt_call *call, enum gt_function_id row, uint64_t handle)
{
	bool is_known = gt_functions[row].owner.from == GT_ASK;

	return gt_cuda_place(call, row, is_known ? owner : current_context(), false);
}

/* With --touches: the one place that sees everything new. */
static uint16_t place_and_touch(const struct gt_call *call, enum gt_function_id row,
				uint64_t handle)
{
	gt_cuda_touch_created(call, row, handle);
	return place_of(call, row, handle);
}

static struct gt_call_door door = { .size = gt_cuda_size, .owner = owner_of, .place = place_of };

/* Of the current context, which is the only one that is asked about. */
static bool device_of(CUcontext context, uint32_t *device)
{
	CUdevice current;

	if (!get_device || get_device(&current) != CUDA_SUCCESS)
		return false;
	*device = (uint32_t)current;
	return true;
}

#ifdef GT_HAVE_CUDA_H
#define CHECK_ROW GT_CHECK_ROW
#else
#define CHECK_ROW(...)
#endif

static bool is_code(const struct gt_function *fn)
{
	return fn->kind == GT_LIBRARY || fn->kind == GT_MODULE;
}

/* The runtime releases all it holds when the process ends, in handlers that it has by now. */
static void expect_exit(void)
{
	static _Atomic bool is_expected;

	if (!atomic_exchange(&is_expected, true))
		atexit(gt_cuda_driver_exiting);
}

/* Streams take memory, too, but programs make them again and again: only some are measured. */
static bool is_one_stream_of_many(enum gt_function_id function)
{
	enum { MEASURED = 256 };
	static _Atomic uint32_t made;

	return gt_functions[function].kind == GT_STREAM &&
	       (atomic_load_explicit(&made, memory_order_relaxed) >= MEASURED ||
		atomic_fetch_add_explicit(&made, 1, memory_order_relaxed) >= MEASURED);
}

static __attribute__((noinline)) void before(enum gt_function_id function, uint64_t *argv,
					     struct gt_cuda_reading *reading)
{
	gt_cuda_before(function, argv);
	*reading = (struct gt_cuda_reading){ .is_skipped = is_one_stream_of_many(function) };
	if (!reading->is_skipped)
		gt_cuda_measure_begin(reading);
}

/* The memory that the driver took for what the call made, or gave back. */
static void measure(const struct gt_function *fn, const uint64_t *argv, CUresult result,
		    const struct gt_cuda_reading *reading, const void *caller)
{
	enum gt_function_id row = is_code(fn)                     ? GT_FN_cudaCodeMemory :
				  fn->kind == GT_EXECUTABLE_GRAPH ? GT_FN_cudaGraphMemory :
								    GT_FN_cudaContextMemory;
	int64_t bytes = reading->is_skipped ? 0 : gt_cuda_measure_end(reading);
	uint64_t handle = argv[0];

	if (result != CUDA_SUCCESS)
		return;
	/* in all of them, the handle is returned in the first argument, or is that */
	if (bytes > 0 && fn->effect == GT_CREATE && handle)
		gt_cuda_measured(row, *(const uint64_t *)(uintptr_t)handle, (uint64_t)bytes,
				 current_context(), caller);
	else if (bytes < 0 && gt_function_ends(fn))
		gt_cuda_measured(GT_FN_cudaDriverMemoryGone, handle, 0, current_context(), caller);
}

static __attribute__((noinline)) void after(enum gt_function_id function, const uint64_t *argv,
					    CUresult result, const struct gt_cuda_reading *reading,
					    const void *caller)
{
	const struct gt_function *fn = &gt_functions[function];

	measure(fn, argv, result, reading, caller);
	if (result != CUDA_SUCCESS)
		return;
	gt_cuda_after(function, argv);
	if (function == GT_FN_cuDevicePrimaryCtxRetain)
		expect_exit();
	if (gt_function_ends(fn) && fn->kind != GT_STREAM)
		gt_cuda_touch_forget();
	if (is_code(fn) && gt_function_ends(fn)) {
		gt_cuda_launch_forget();
		gt_cuda_code_unloaded(argv[0], caller);
	} else if (is_code(fn)) {
		gt_cuda_code_loaded(function, argv, current_context(), caller);
	}
}

/* The driver's own function comes before the recorder's end, whose door may ask the driver. */
#define FN(fn, ret, args, effect, kind, handle, size, owner)                                       \
	CHECK_ROW(fn, ret, args, size)                                                             \
	FN_(fn, IS_SPECIAL(kind), IS_MEMORY(kind), IS_BINDING(effect, kind), UNWRAP args)
#define FN_(...) FN__(__VA_ARGS__)
#define FN__(fn, special, memory, binding, ...)                                                    \
	static CUresult wrap_##fn(PARAMS(__VA_ARGS__))                                             \
	{                                                                                          \
		CUresult (*next)(PARAMS(__VA_ARGS__)) = gt_cuda_entries.next[GT_ENTRY_##fn];       \
		uint64_t argv[] = { WORDS(__VA_ARGS__) };                                          \
		struct gt_cuda_reading reading;                                                    \
		struct gt_guest_call g;                                                            \
		CUresult result;                                                                   \
                                                                                                   \
		if (special)                                                                       \
			before(GT_FN_##fn, argv, &reading);                                        \
		if (memory)                                                                        \
			gt_cuda_memory_changes_now();                                              \
		gt_guest_begin(&g, special ? gt_cuda_row(GT_FN_##fn, argv) : GT_FN_##fn, argv,     \
			       __builtin_return_address(0));                                       \
		result = next(NAMES(__VA_ARGS__));                                                 \
		gt_guest_end(&g, (uint64_t)result, &door);                                         \
		if (memory)                                                                        \
			gt_cuda_memory_changes_now();                                              \
		if (special)                                                                       \
			after(GT_FN_##fn, argv, result, &reading, __builtin_return_address(0));    \
		if (binding && result == CUDA_SUCCESS)                                             \
			gt_cuda_touch_bound((const void *)(uintptr_t)argv[1]);                     \
		return result;                                                                     \
	}
#define ALSO(...)
#include "api/cuda.def"
#undef FN
#undef ALSO

static CUresult wrap_cuGetProcAddress(const char *symbol, void **function, int version,
				      cuuint64_t flags);
static CUresult wrap_cuGetProcAddress_v2(const char *symbol, void **function, int version,
					 cuuint64_t flags, void *status);

static const struct {
	const char *name;
	void *wrapper;
} ours[GT_ENTRIES] = {
#define ENTRY(fn)   [GT_ENTRY_##fn] = { #fn, (void *)wrap_##fn },
#define FN(fn, ...) ENTRY(fn)
#define ALSO(...)
#define TOUCH(fn, ...) [GT_ENTRY_##fn] = { #fn, NULL },
#include "api/cuda.def"
#undef TOUCH
#undef FN
#undef ALSO
	ENTRY(cuGetProcAddress) ENTRY(cuGetProcAddress_v2)
};

static int find_entry(void *const table[GT_ENTRIES], const void *function)
{
	for (int i = 0; function && i < GT_ENTRIES; i++)
		if (table[i] == function)
			return i;
	return -1;
}

/*
 * A tool may stand before the driver with a library of its own, as Nsight Compute does. What it
 * hands out by name is then neither exported by it nor, perhaps, by the driver.
 */
static struct {
	struct link_map *tool; /* NULL: there is none */
	void *(*find)(void *, const char *);
	void *exported[GT_ENTRIES]; /* by the driver behind it, once that is found */
	_Atomic bool is_found;
} behind;

static bool is_driver(const struct link_map *map)
{
	static const char driver[] = "libcuda.so";
	const char *slash = strrchr(map->l_name, '/');

	return !strncmp(slash ? slash + 1 : map->l_name, driver, sizeof driver - 1);
}

/* False: there is no such driver. Not by dlopen, which may be the tool's. */
static bool find_behind(void)
{
	struct link_map *map = behind.tool;

	if (!map || atomic_load_explicit(&behind.is_found, memory_order_acquire))
		return map;
	while (map->l_prev)
		map = map->l_prev;
	while (map && !is_driver(map))
		map = map->l_next;
	/* two threads may do this at once: both write the same */
	for (int i = 0; map && i < GT_ENTRIES; i++)
		behind.exported[i] = behind.find(map, ours[i].name);
	if (map)
		atomic_store_explicit(&behind.is_found, true, memory_order_release);
	return map;
}

/* How a function was asked for. */
struct asked {
	const char *symbol;
	int version;
	cuuint64_t flags;
};

/* Which function a tool handed out, by what the driver answers to the same question; -1: unknown.
 */
static int entry_behind(const struct asked *asked, const void *function)
{
	CUresult (*ask)(const char *, void **, int, cuuint64_t, void *);
	void *known = NULL;
	int entry;

	if (!find_behind())
		return -1;
	entry = find_entry(behind.exported, function);
	ask = behind.exported[GT_ENTRY_cuGetProcAddress_v2];
	if (entry < 0 && ask &&
	    ask(asked->symbol, &known, asked->version, asked->flags, NULL) == CUDA_SUCCESS)
		entry = find_entry(behind.exported, known);
	return entry;
}

/*
 * The driver hands out functions by base name and version. Which one came is told by its address,
 * whatever it was asked by.
 */
static void *wrapper_of(const struct asked *asked, void *function)
{
	int entry = find_entry(gt_cuda_entries.driver, function);

	if (entry < 0) {
		entry = entry_behind(asked, function);
		if (entry >= 0)
			gt_cuda_entries.next[entry] = function;
	}
	return entry >= 0 && gt_cuda_entries.wrapper[entry] ? gt_cuda_entries.wrapper[entry] :
							      function;
}

static CUresult wrap_cuGetProcAddress(const char *symbol, void **function, int version,
				      cuuint64_t flags)
{
	CUresult (*next)(const char *, void **, int, cuuint64_t) =
		gt_cuda_entries.next[GT_ENTRY_cuGetProcAddress];
	CUresult result = next(symbol, function, version, flags);

	if (result == CUDA_SUCCESS && function)
		*function = wrapper_of(&(struct asked){ symbol, version, flags }, *function);
	return result;
}

/* The last argument is an enum of the header, or NULL. */
static CUresult wrap_cuGetProcAddress_v2(const char *symbol, void **function, int version,
					 cuuint64_t flags, void *status)
{
	CUresult (*next)(const char *, void **, int, cuuint64_t, void *) =
		gt_cuda_entries.next[GT_ENTRY_cuGetProcAddress_v2];
	CUresult result = next(symbol, function, version, flags, status);

	if (result == CUDA_SUCCESS && function)
		*function = wrapper_of(&(struct asked){ symbol, version, flags }, *function);
	return result;
}

/* Under the loader's lock, as other doors start: no thread waits here for one that waits there. */
__attribute__((constructor)) static void start(void)
{
	if (gt_cuda_is_preloaded())
		gt_guest_start();
}

EXPORT gt_cuda_direct_fn gt_cuda_direct;
const struct gt_cuda_entries *gt_cuda_direct(void *(*find)(void *, const char *), void *handle)
{
	struct gt_cuda_driver driver = { .device_of = device_of };
	static _Atomic bool found;
	bool touches;

	if (!gt_settings_get()->recording && !gt_settings_get()->tracker)
		return NULL;
	if (atomic_load(&found))
		return &gt_cuda_entries;
	if (!is_driver(handle)) {
		behind.tool = handle;
		behind.find = find;
	}
	touches = gt_settings_get()->touches && gt_cuda_touch_start(find, handle);
	if (touches)
		door.place = place_and_touch;
	/* two threads may do this at once: both write the same */
	for (size_t i = 0; i < GT_ENTRIES; i++) {
		void *wrapper = ours[i].wrapper                      ? ours[i].wrapper :
				touches && gt_cuda_touch_wrappers[i] ? gt_cuda_touch_wrappers[i] :
								       gt_cuda_launch_wrappers[i];

		gt_cuda_entries.driver[i] = find(handle, ours[i].name);
		gt_cuda_entries.next[i] = gt_cuda_entries.driver[i];
		gt_cuda_entries.wrapper[i] = gt_cuda_entries.driver[i] ? wrapper : NULL;
	}
	*(void **)&get_current = find(handle, "cuCtxGetCurrent");
	*(void **)&get_device = find(handle, "cuCtxGetDevice");
	*(void **)&driver.device_name = find(handle, "cuDeviceGetName");
	gt_cuda_measure_start(find, handle);
	gt_cuda_launch_start(find, handle);
	gt_cuda_driver_start(&driver);
	atomic_store(&found, true);
	return &gt_cuda_entries;
}
