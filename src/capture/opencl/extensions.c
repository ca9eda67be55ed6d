/* SPDX-License-Identifier: MIT */
/* extensions.c - functions reached by extension pointer: one wrapper per opencl_ext.def row. */
#include "capture/opencl/opencl.h"

#include <stdatomic.h>
#include <string.h>

enum extension {
#define FN(fn, ...) EXT_##fn,
#define ALSO(...)
#include "api/opencl_ext.def"
#undef FN
#undef ALSO
	EXT_COUNT
};

/* The drivers' own functions, by platform; the last row is for those asked for without one. */
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

/* The row's owner is what the call is made on: an argument, whose type tells the kind. */
#define KIND_OF(object)                                                                            \
	_Generic((object), cl_context                                                              \
		 : GT_CONTEXT, cl_command_queue                                                    \
		 : GT_QUEUE, cl_command_buffer_khr                                                 \
		 : GT_COMMAND_BUFFER, cl_semaphore_khr                                             \
		 : GT_SEMAPHORE)
#define OWNER_IN(argument)         KIND_OF(argument)
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

void *gt_cl_extension_function(cl_platform_id platform, const char *name, void *function)
{
	int index = gt_cl_platform_index(platform);

	for (int i = 0; name && function && i < EXT_COUNT; i++)
		if (!strcmp(wrappers[i].name, name)) {
			atomic_store(&drivers[index >= 0 ? index : GT_CL_PLATFORMS_MAX][i],
				     function);
			/* so that a call on an object that tells nothing still finds a function */
			if (!atomic_load(&drivers[GT_CL_PLATFORMS_MAX][i]))
				atomic_store(&drivers[GT_CL_PLATFORMS_MAX][i], function);
			return wrappers[i].wrapper;
		}
	return function;
}
