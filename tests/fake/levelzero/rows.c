/* SPDX-License-Identifier: MIT */
/*
 * rows.c - functions that are made from gputrack's table: they create an object of the row's kind,
 * end it, or do nothing.
 *
 * With ROWS_EXPORTED, they are also exported under their own names, as a loader exports them.
 */
#include "rows.h"

#include <string.h>

#include "fake.h"
#include "newer.h"

struct plain {
	struct object base;
};

static ze_result_t row_new(enum kind kind, void **out)
{
	NEED_POINTER(out);
	*out = object_new(kind, struct plain);
	return *out ? ZE_RESULT_SUCCESS : ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
}

static ze_result_t row_new_all(enum kind kind, void **out, uint32_t *count)
{
	NEED_POINTER(count);
	for (uint32_t i = 0; out && i < *count; i++)
		NEED(row_new(kind, &out[i]));
	return ZE_RESULT_SUCCESS;
}

/* By effect and handle column; `kind` is that of the function around it. */
#define CREATE_OUT(n)           row_new(kind, (void **)(n))
#define CREATE_OUTS_ALL(n, c)   row_new_all(kind, (void **)(n), c)
#define CREATE_IN(n)            ((void)kind, (n) ? ZE_RESULT_SUCCESS : ZE_RESULT_ERROR_INVALID_ARGUMENT)
#define DESTROY_IN(n)           row_end(kind, n)
#define DESTROY_IN_UNLESS(n, u) CREATE_IN(n)
#define APPEND_IN(n)            CREATE_IN(n)

/* The program's own memory is no object of ours. */
static ze_result_t row_end(enum kind kind, void *handle)
{
	return kind == KIND_REGISTERED_MEMORY ? ZE_RESULT_SUCCESS : object_free(handle, kind);
}

#define KIND_EXECUTABLE_GRAPH  KIND_EXEC_GRAPH
#define KIND_COMMAND_LIST      KIND_LIST
#define KIND_METRIC_ACTIVATION KIND_METRIC

#ifdef ROWS_EXPORTED
#define ROW_EXPORT(fn, ...)                                                                        \
	FAKE_EXPORT ze_result_t exported_##fn(PARAMS(__VA_ARGS__)) __asm__(#fn);                   \
	ze_result_t exported_##fn(PARAMS(__VA_ARGS__))                                             \
	{                                                                                          \
		return fake_##fn(NAMES(__VA_ARGS__));                                              \
	}
#else
#define ROW_EXPORT(fn, ...)
#endif

#define FN(fn, ret, args, effect, kind, handle, size, owner)                                       \
	ROW_OF(fn, effect, kind, handle, UNWRAP args)
#define ALSO(...)
#define ROW(fn, effect, kind_, handle, ...)                                                        \
	ze_result_t fake_##fn(PARAMS(__VA_ARGS__));                                                \
	ze_result_t fake_##fn(PARAMS(__VA_ARGS__))                                                 \
	{                                                                                          \
		const enum kind kind = KIND_##kind_;                                               \
                                                                                                   \
		ENTER(fn);                                                                         \
		return effect##_##handle;                                                          \
	}                                                                                          \
	ROW_EXPORT(fn, __VA_ARGS__)
#pragma GCC diagnostic ignored "-Wunused-parameter"
#include "api/levelzero_tools.def"
#include "api/levelzero_ext.def"
#undef ROW

static const struct {
	const char *name;
	void *function;
} by_address[] = {
#define ROW(fn, ...) { #fn, (void *)fake_##fn },
#include "api/levelzero_ext.def"
#undef ROW
	{ "zexCounterBasedEventCreate", (void *)fake_zexCounterBasedEventCreate },
	{ "zexCounterBasedEventCreate2", (void *)fake_zeEventCounterBasedCreate },
	{ "zexCounterBasedEventGetIpcHandle", (void *)fake_zeEventCounterBasedGetIpcHandle },
	{ "zexCounterBasedEventOpenIpcHandle", (void *)fake_zeEventCounterBasedOpenIpcHandle },
	{ "zexCounterBasedEventCloseIpcHandle", (void *)fake_zeEventCounterBasedCloseIpcHandle },
	{ "zexMemGetIpcHandles", (void *)fake_zexMemGetIpcHandles },
	{ "zexMemOpenIpcHandles", (void *)fake_zexMemOpenIpcHandles },
	{ "zeIntelMemMapDeviceMemToHost", (void *)fake_zeIntelMemMapDeviceMemToHost },
	/* one that is in a table, too; two that no header has; one that creates nothing */
	{ "zeGraphCreateExt", (void *)fake_zeGraphCreateExt },
	{ "zexTestCreate", (void *)fake_zeDeviceSynchronize },
	{ "ZE_extension_test", (void *)fake_zeDeviceSynchronize },
	{ "zexKernelGetBaseAddress", (void *)fake_zeDeviceSynchronize },
};

void *row_by_address(const char *name)
{
	for (size_t i = 0; i < sizeof by_address / sizeof *by_address; i++)
		if (!strcmp(by_address[i].name, name))
			return by_address[i].function;
	return NULL;
}
