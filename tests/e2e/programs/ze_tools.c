/* SPDX-License-Identifier: MIT */
/*
 * ze_tools.c - what Intel's driver has of the tools API, and of functions by address: a life each.
 *
 * --leak	destroys nothing
 *
 * Prints `FUNCTION create|destroy HANDLE` of each call, and `refused FUNCTION` of those that
 * failed.
 */
#include "ze_common.h"

#include <level_zero/zet_api.h>

enum { BYTES = 65536 };

static bool is_leaking;
static char memory[BYTES] __attribute__((aligned(4096)));

static bool did(ze_result_t rc, const char *function, const char *effect, const void *handle)
{
	if (rc == ZE_RESULT_SUCCESS)
		printf("%s %s 0x%llx\n", function, effect, (unsigned long long)(uintptr_t)handle);
	else
		printf("refused %s\n", function);
	return rc == ZE_RESULT_SUCCESS;
}

/* `handle` is looked at after the call. */
static bool made(ze_result_t rc, const char *function, void *const *handle)
{
	return did(rc, function, "create", rc == ZE_RESULT_SUCCESS ? *handle : NULL);
}

#define MAKE(function, handle, ...) made(function(__VA_ARGS__), #function, (void *const *)&(handle))
#define END(function, handle)                                                                      \
	do {                                                                                       \
		if (!is_leaking)                                                                   \
			did(function(handle), #function, "destroy", handle);                       \
	} while (0)

static void query_metrics(const struct ze *ze, ze_context_handle_t context)
{
	const zet_metric_query_pool_desc_t desc = {
		.stype = ZET_STRUCTURE_TYPE_METRIC_QUERY_POOL_DESC,
		.type = ZET_METRIC_QUERY_POOL_TYPE_EXECUTION,
		.count = 2
	};
	zet_metric_query_pool_handle_t pool;
	zet_metric_query_handle_t query;

	if (!MAKE(zetMetricQueryPoolCreate, pool, context, ze->device, NULL, &desc, &pool))
		return;
	if (MAKE(zetMetricQueryCreate, query, pool, 1, &query))
		END(zetMetricQueryDestroy, query);
	END(zetMetricQueryPoolDestroy, pool);
}

static void trace_calls(ze_context_handle_t context)
{
	const zet_tracer_exp_desc_t desc = { .stype = ZET_STRUCTURE_TYPE_TRACER_EXP_DESC };
	zet_tracer_exp_handle_t tracer;

	if (MAKE(zetTracerExpCreate, tracer, context, &desc, &tracer))
		END(zetTracerExpDestroy, tracer);
}

static void debug_device(const struct ze *ze)
{
	const zet_debug_config_t config = { .pid = (uint32_t)getpid() };
	zet_debug_session_handle_t session;

	if (MAKE(zetDebugAttach, session, ze->device, &config, &session))
		END(zetDebugDetach, session);
}

static void *by_address(const struct ze *ze, const char *name)
{
	void *address = NULL;

	if (zeDriverGetExtensionFunctionAddress(ze->driver, name, &address) != ZE_RESULT_SUCCESS)
		printf("refused %s\n", name);
	return address;
}

static void import_memory(const struct ze *ze)
{
	ze_result_t (*import)(ze_driver_handle_t, void *, size_t) =
		(ze_result_t(*)(ze_driver_handle_t, void *, size_t))by_address(
			ze, "zexDriverImportExternalPointer");
	ze_result_t (*release)(ze_driver_handle_t, void *) = (ze_result_t(*)(
		ze_driver_handle_t, void *))by_address(ze, "zexDriverReleaseImportedPointer");

	if (!import || !release)
		return;
	did(import(ze->driver, memory, BYTES), "zexDriverImportExternalPointer", "create", memory);
	if (!is_leaking)
		did(release(ze->driver, memory), "zexDriverReleaseImportedPointer", "destroy",
		    memory);
}

int main(int argc, char **argv)
{
	const ze_context_desc_t desc = { .stype = ZE_STRUCTURE_TYPE_CONTEXT_DESC };
	ze_context_handle_t context;
	struct ze ze;

	is_leaking = argc > 1 && !strcmp(argv[1], "--leak");
	ze_open(&ze);
	if (!MAKE(zeContextCreate, context, ze.driver, &desc, &context))
		return 1;
	query_metrics(&ze, context);
	trace_calls(context);
	debug_device(&ze);
	import_memory(&ze);
	END(zeContextDestroy, context);
	return 0;
}
