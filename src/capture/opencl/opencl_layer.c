/* SPDX-License-Identifier: MIT */
/*
 * opencl_layer.c - the OpenCL layer: one wrapper per row of opencl.def and opencl_ext.def, and the
 * functions that the loader expects of a layer.
 */
#include "capture/opencl/opencl.h"

#include <stdatomic.h>
#include <string.h>

#include "guest/tap.h"

#define EXPORT __attribute__((visibility("default")))

const cl_icd_dispatch *gt_cl_next;
static cl_icd_dispatch dispatch;

#define FN(fn, ret, args, effect, kind, handle, size, owner)                                       \
	GT_CHECK_ROW(fn, ret, args, size)                                                          \
	GT_WRAP(&gt_cl_door, ret, fn, gt_cl_next->fn, UNWRAP args)
#define ALSO(...)
#include "api/opencl.def"
#undef FN
#undef ALSO

/* Functions that programs obtain as extensions. */
enum extension {
#define FN(fn, ...) EXT_##fn,
#define ALSO(...)
#include "api/opencl_ext.def"
#undef FN
#undef ALSO
	EXT_COUNT
};

/* The drivers' functions, by platform; the last row is for those obtained without one. */
static _Atomic(void *) drivers[GT_CL_PLATFORMS_MAX + 1][EXT_COUNT];

/* The function below us, by the platform of the object that the call is made on. */
static void *below(enum extension extension, enum gt_function_id row, enum gt_kind owner,
		   const uint64_t *argv)
{
	const struct gt_call call = { .function = row, .argv = argv };
	int platform = gt_cl_platform_of(owner, gt_call_owner(&call, row));
	void *function = NULL;

	if (platform >= 0)
		function = atomic_load(&drivers[platform][extension]);
	return function ? function : atomic_load(&drivers[GT_CL_PLATFORMS_MAX][extension]);
}

/* The kind of a row's owner, from the type of the argument. */
#define KIND_OF(object)                                                                            \
	_Generic((object), cl_context                                                              \
		 : GT_CONTEXT, cl_command_queue                                                    \
		 : GT_QUEUE, cl_device_id                                                          \
		 : GT_SUBDEVICE, cl_command_buffer_khr                                             \
		 : GT_COMMAND_BUFFER, cl_accelerator_intel                                         \
		 : GT_ACCELERATOR, cl_semaphore_khr                                                \
		 : GT_SEMAPHORE)
#define OWNER_IN(argument)         KIND_OF(argument)
#define OWNER_ASK_OR(argument)     KIND_OF(argument)
#define OWNER_INS(argument, count) KIND_OF(*(argument))

#define FN(fn, ret, args, effect, kind, handle, size, owner)                                       \
	GT_CHECK_ROW(fn, ret, args, size)                                                          \
	FN_(fn, ret, OWNER_##owner, UNWRAP args)
#define FN_(...) FN__(__VA_ARGS__)
#define FN__(fn, ret, owner, ...)                                                                  \
	typedef GT_TYPE_##ret(CL_API_CALL *fn##_type)(PARAMS(__VA_ARGS__));                        \
	GT_WRAP(&gt_cl_door, ret, fn, ((fn##_type)below(EXT_##fn, GT_FN_##fn, owner, argv)),       \
		__VA_ARGS__)
#define ALSO(...)
#include "api/opencl_ext.def"
#undef FN
#undef ALSO

static const struct {
	const char *name;
	void *wrapper;
} wrappers[EXT_COUNT] = {
#define FN(fn, ...) [EXT_##fn] = { #fn, (void *)wrap_##fn },
#define ALSO(...)
#include "api/opencl_ext.def"
#undef FN
#undef ALSO
};

/*
 * Our wrapper of the driver's `function` of that name, if it is tracked; otherwise `function`. The
 * program asked for it for `platform` (NULL: any).
 */
static void *extension_function(cl_platform_id platform, const char *name, void *function)
{
	int index = gt_cl_platform_index(platform);

	for (int i = 0; name && function && i < EXT_COUNT; i++)
		if (!strcmp(wrappers[i].name, name)) {
			atomic_store(&drivers[index >= 0 ? index : GT_CL_PLATFORMS_MAX][i],
				     function);
			/* for calls on objects whose platform cannot be found */
			if (!atomic_load(&drivers[GT_CL_PLATFORMS_MAX][i]))
				atomic_store(&drivers[GT_CL_PLATFORMS_MAX][i], function);
			return wrappers[i].wrapper;
		}
	return function;
}

/* Our own functions work for every platform, so the layers below are not asked for them. */
static void *CL_API_CALL get_function(const char *name)
{
	void *live = gt_cl_live_function(name);

	if (live)
		return live;
	return extension_function(NULL, name, gt_cl_next->clGetExtensionFunctionAddress(name));
}

static void *CL_API_CALL get_function_for_platform(cl_platform_id platform, const char *name)
{
	void *live = gt_cl_live_function(name);

	if (live)
		return live;
	return extension_function(
		platform, name,
		gt_cl_next->clGetExtensionFunctionAddressForPlatform(platform, name));
}

/* Extensions that have slots in the table, too. */
#define EXT_SLOTS                                                                                  \
	EXT_SLOT(clCreateSubDevicesEXT)                                                            \
	EXT_SLOT(clRetainDeviceEXT)                                                                \
	EXT_SLOT(clReleaseDeviceEXT)

/* The functions that we wrap. */
static const struct slot {
	size_t offset;
	void *function;
} slots[] = {
#define SLOT(fn, ours) { offsetof(cl_icd_dispatch, fn), (void *)(ours) },
#define FN(fn, ...)    SLOT(fn, wrap_##fn)
#define ALSO(...)
#include "api/opencl.def"
#undef FN
#undef ALSO
	SLOT(clGetPlatformInfo, gt_cl_get_platform_info)
		SLOT(clGetExtensionFunctionAddress, get_function)
			SLOT(clGetExtensionFunctionAddressForPlatform, get_function_for_platform)
#define EXT_SLOT(fn) SLOT(fn, wrap_##fn)
				EXT_SLOTS
#undef EXT_SLOT
#undef SLOT
};

/* For calls through the table; programs that ask for the functions get the drivers' own. */
static void find_below(const cl_icd_dispatch *target, size_t bytes)
{
#define EXT_SLOT(fn)                                                                               \
	if (offsetof(cl_icd_dispatch, fn) + sizeof(void *) <= bytes)                               \
		atomic_store(&drivers[GT_CL_PLATFORMS_MAX][EXT_##fn], (void *)target->fn);
	EXT_SLOTS
#undef EXT_SLOT
}

EXPORT CL_API_ENTRY cl_int CL_API_CALL clGetLayerInfo(cl_layer_info name, size_t size, void *value,
						      size_t *size_ret)
{
	static const cl_layer_api_version version = CL_LAYER_API_VERSION_100;
	static const char layer[] = "gputrack";
	const void *answer = name == CL_LAYER_API_VERSION ? (const void *)&version : layer;
	size_t answer_size = name == CL_LAYER_API_VERSION ? sizeof version : sizeof layer;

	if (name != CL_LAYER_API_VERSION && name != CL_LAYER_NAME)
		return CL_INVALID_VALUE;
	if (value && size < answer_size)
		return CL_INVALID_VALUE;
	if (value)
		memcpy(value, answer, answer_size);
	if (size_ret)
		*size_ret = answer_size;
	return CL_SUCCESS;
}

/* Works with tables that have more entries than we know, or fewer. */
EXPORT CL_API_ENTRY cl_int CL_API_CALL clInitLayer(cl_uint entries, const cl_icd_dispatch *target,
						   cl_uint *entries_ret,
						   const cl_icd_dispatch **ret)
{
	size_t bytes = entries * sizeof(void *);

	if (!target || !entries_ret || !ret)
		return CL_INVALID_VALUE;
	if (bytes > sizeof dispatch)
		bytes = sizeof dispatch;
	gt_cl_next = target;
	memcpy(&dispatch, target, bytes);
	for (size_t i = 0; i < sizeof slots / sizeof *slots; i++) {
		void *below;

		if (slots[i].offset + sizeof below > bytes)
			continue;
		memcpy(&below, (const char *)target + slots[i].offset, sizeof below);
		if (below)
			memcpy((char *)&dispatch + slots[i].offset, &slots[i].function,
			       sizeof below);
	}
	find_below(target, bytes);
	gt_guest_start();
	gt_tap_open(GT_OPENCL);
	gt_cl_live_start();
	*entries_ret = (cl_uint)(bytes / sizeof(void *));
	*ret = &dispatch;
	return CL_SUCCESS;
}

/* Not in every cl_layer.h yet. We ignore all properties. */
EXPORT CL_API_ENTRY cl_int CL_API_CALL clInitLayerWithProperties(cl_uint entries,
								 const cl_icd_dispatch *target,
								 cl_uint *entries_ret,
								 const cl_icd_dispatch **ret,
								 const cl_properties *properties);
CL_API_ENTRY cl_int CL_API_CALL clInitLayerWithProperties(cl_uint entries,
							  const cl_icd_dispatch *target,
							  cl_uint *entries_ret,
							  const cl_icd_dispatch **ret,
							  const cl_properties *properties)
{
	(void)properties;
	return clInitLayer(entries, target, entries_ret, ret);
}

/* Nothing to undo: the trace is complete after every call, and ends when our library unloads. */
EXPORT CL_API_ENTRY cl_int CL_API_CALL clDeinitLayer(void);
CL_API_ENTRY cl_int CL_API_CALL clDeinitLayer(void)
{
	return CL_SUCCESS;
}
