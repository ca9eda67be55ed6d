/* SPDX-License-Identifier: MIT */
/*
 * test_tables.c - asks a driver for its tables as loaders of every version would.
 *
 * Usage: test_tables DRIVER.so. Checks that no table is written past the size it has in the version
 * asked for, and that the functions newer than the headers can be called through their slots.
 */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <level_zero/ze_api.h>
#include <level_zero/ze_ddi.h>

#include "newer.h"

#define SLOT_MAX  80
#define NEWEST    18
#define UNTOUCHED ((void *)0x5a5a5a5a)

/* sizes[i]: slots in version 1.since[i] and later */
struct table {
	const char *getter;
	int since[8], sizes[8];
};

static const struct table tables[] = {
	{ .getter = "zeGetGlobalProcAddrTable", .since = { 0, 10 }, .sizes = { 1, 2 } },
	{ .getter = "zeGetDriverProcAddrTable",
	  .since = { 0, 1, 6, 13, 14 },
	  .sizes = { 5, 6, 7, 8, 9 } },
	{ .getter = "zeGetDeviceProcAddrTable",
	  .since = { 0, 1, 2, 3, 7, 12, 13, 14 },
	  .sizes = { 14, 15, 17, 18, 19, 21, 22, 23 } },
	{ .getter = "zeGetContextProcAddrTable", .since = { 0, 1 }, .sizes = { 8, 9 } },
	{ .getter = "zeGetCommandQueueProcAddrTable", .since = { 0, 9 }, .sizes = { 4, 6 } },
	{ .getter = "zeGetCommandListProcAddrTable",
	  .since = { 0, 3, 9, 12, 14, 16, 17 },
	  .sizes = { 26, 28, 34, 36, 38, 41, 52 } },
	{ .getter = "zeGetCommandListExpProcAddrTable",
	  .since = { 0, 9, 10, 17 },
	  .sizes = { 0, 6, 8, 9 } },
	{ .getter = "zeGetImageProcAddrTable", .since = { 0, 3, 5 }, .sizes = { 3, 4, 5 } },
	{ .getter = "zeGetImageExpProcAddrTable", .since = { 0, 2, 9 }, .sizes = { 0, 2, 3 } },
	{ .getter = "zeGetFenceProcAddrTable", .since = { 0 }, .sizes = { 5 } },
	{ .getter = "zeGetEventPoolProcAddrTable", .since = { 0, 6, 9 }, .sizes = { 5, 6, 8 } },
	{ .getter = "zeGetEventProcAddrTable",
	  .since = { 0, 6, 9, 15, 17 },
	  .sizes = { 7, 8, 11, 16, 17 } },
	{ .getter = "zeGetEventExpProcAddrTable", .since = { 0, 2 }, .sizes = { 0, 1 } },
	{ .getter = "zeGetModuleProcAddrTable", .since = { 0, 3 }, .sizes = { 8, 9 } },
	{ .getter = "zeGetModuleBuildLogProcAddrTable", .since = { 0 }, .sizes = { 2 } },
	{ .getter = "zeGetKernelProcAddrTable", .since = { 0 }, .sizes = { 12 } },
	{ .getter = "zeGetKernelExpProcAddrTable",
	  .since = { 0, 1, 2, 11 },
	  .sizes = { 0, 1, 2, 3 } },
	{ .getter = "zeGetSamplerProcAddrTable", .since = { 0 }, .sizes = { 2 } },
	{ .getter = "zeGetPhysicalMemProcAddrTable", .since = { 0, 15 }, .sizes = { 2, 3 } },
	{ .getter = "zeGetMemProcAddrTable",
	  .since = { 0, 3, 6, 9, 15 },
	  .sizes = { 9, 10, 11, 12, 13 } },
	{ .getter = "zeGetVirtualMemProcAddrTable", .since = { 0 }, .sizes = { 7 } },
	{ .getter = "zeGetFabricVertexExpProcAddrTable", .since = { 0, 4 }, .sizes = { 0, 4 } },
	{ .getter = "zeGetFabricEdgeExpProcAddrTable", .since = { 0, 4 }, .sizes = { 0, 3 } },
	{ .getter = "zeGetRTASBuilderExpProcAddrTable", .since = { 0, 7 }, .sizes = { 0, 4 } },
	{ .getter = "zeGetRTASBuilderProcAddrTable", .since = { 0, 13 }, .sizes = { 0, 5 } },
	{ .getter = "zeGetRTASParallelOperationExpProcAddrTable",
	  .since = { 0, 7 },
	  .sizes = { 0, 4 } },
	{ .getter = "zeGetRTASParallelOperationProcAddrTable",
	  .since = { 0, 13 },
	  .sizes = { 0, 4 } },
	{ .getter = "zeGetGraphProcAddrTable", .since = { 0, 17 }, .sizes = { 0, 7 } },
	{ .getter = "zeGetExecutableGraphProcAddrTable", .since = { 0, 17 }, .sizes = { 0, 2 } },
	{ .getter = "zesGetDeviceProcAddrTable", .since = { 0, 4 }, .sizes = { 0, 29 } },
	{ .getter = "zetGetContextProcAddrTable", .since = { 0 }, .sizes = { 1 } },
	{ .getter = "zetGetCommandListProcAddrTable", .since = { 0 }, .sizes = { 4 } },
	{ .getter = "zetGetCommandListExpProcAddrTable", .since = { 0, 13 }, .sizes = { 0, 1 } },
	{ .getter = "zetGetDeviceExpProcAddrTable", .since = { 0, 11, 13 }, .sizes = { 0, 2, 4 } },
	{ .getter = "zetGetMetricGroupExpProcAddrTable",
	  .since = { 0, 2, 5, 6, 9 },
	  .sizes = { 0, 1, 2, 4, 9 } },
	{ .getter = "zetGetMetricExpProcAddrTable", .since = { 0, 9, 12 }, .sizes = { 0, 2, 3 } },
	{ .getter = "zetGetMetricStreamerProcAddrTable", .since = { 0 }, .sizes = { 3 } },
	{ .getter = "zetGetMetricQueryPoolProcAddrTable", .since = { 0 }, .sizes = { 2 } },
	{ .getter = "zetGetMetricQueryProcAddrTable", .since = { 0 }, .sizes = { 4 } },
	{ .getter = "zetGetMetricTracerExpProcAddrTable", .since = { 0, 11 }, .sizes = { 0, 6 } },
	{ .getter = "zetGetMetricDecoderExpProcAddrTable", .since = { 0, 11 }, .sizes = { 0, 3 } },
	{ .getter = "zetGetTracerExpProcAddrTable", .since = { 0 }, .sizes = { 5 } },
	{ .getter = "zetGetDebugProcAddrTable", .since = { 0, 5 }, .sizes = { 11, 12 } },
};

static int failures;
static void *driver_lib;

#define EXPECT(condition)                                                                          \
	do {                                                                                       \
		if (!(condition)) {                                                                \
			fprintf(stderr, "line %d: %s\n", __LINE__, #condition);                    \
			failures++;                                                                \
		}                                                                                  \
	} while (0)

static ze_result_t ask(const char *getter, int minor, void **table)
{
	ze_result_t (*get)(ze_api_version_t, void *) = dlsym(driver_lib, getter);

	if (!get) {
		fprintf(stderr, "%s: not exported\n", getter);
		exit(1);
	}
	return get((ze_api_version_t)ZE_MAKE_VERSION(1, minor), table);
}

static int size_at(const struct table *t, int minor)
{
	int size = t->sizes[0];

	for (int i = 1; i < 8 && t->since[i]; i++)
		if (minor >= t->since[i])
			size = t->sizes[i];
	return size;
}

static void check_size(const struct table *t, int minor)
{
	void *slots[SLOT_MAX];

	for (int i = 0; i < SLOT_MAX; i++)
		slots[i] = UNTOUCHED;
	EXPECT(ask(t->getter, minor, slots) == ZE_RESULT_SUCCESS);
	for (int i = size_at(t, minor); i < SLOT_MAX; i++)
		if (slots[i] != UNTOUCHED) {
			fprintf(stderr, "%s 1.%d: slot %d written\n", t->getter, minor, i);
			failures++;
		}
}

/* slots[n] of a table of the newest version */
static void *slot(const char *getter, int n)
{
	void *slots[SLOT_MAX] = { NULL };

	ask(getter, NEWEST, slots);
	if (!slots[n]) {
		fprintf(stderr, "%s: slot %d is empty\n", getter, n);
		exit(1);
	}
	return slots[n];
}

static ze_driver_handle_t driver;
static ze_device_handle_t device;
static ze_context_handle_t context;

/* create and destroy take (…, void **) and (void *) */
static void check_life(void *object, ze_result_t created, ze_result_t (*destroy)(void *))
{
	EXPECT(created == ZE_RESULT_SUCCESS);
	EXPECT(destroy(object) == ZE_RESULT_SUCCESS);
	EXPECT(destroy(object) == ZE_RESULT_ERROR_INVALID_ARGUMENT);
	EXPECT(destroy(NULL) == ZE_RESULT_ERROR_INVALID_NULL_HANDLE);
}

static void open_device(void)
{
	ze_device_dditable_t *d;
	ze_context_dditable_t *c;
	ze_context_desc_t desc = { .stype = ZE_STRUCTURE_TYPE_CONTEXT_DESC };
	void *slots[SLOT_MAX] = { NULL };
	__typeof__(fake_zeInitDrivers) *init = slot("zeGetGlobalProcAddrTable", 1);
	uint32_t count = 1;

	EXPECT(init(&count, &driver, &desc) == ZE_RESULT_SUCCESS && count == 1);
	ask("zeGetDeviceProcAddrTable", NEWEST, slots);
	d = (void *)slots;
	EXPECT(d->pfnGet(driver, &count, &device) == ZE_RESULT_SUCCESS);
	ask("zeGetContextProcAddrTable", NEWEST, slots);
	c = (void *)slots;
	EXPECT(c->pfnCreate(driver, &desc, &context) == ZE_RESULT_SUCCESS);
}

static void check_newer(void)
{
	__typeof__(fake_zeEventCounterBasedCreate) *event_new = slot("zeGetEventProcAddrTable", 11);
	__typeof__(fake_zeEventCounterBasedGetIpcHandle) *event_ipc =
		slot("zeGetEventProcAddrTable", 12);
	__typeof__(fake_zeEventCounterBasedOpenIpcHandle) *event_open =
		slot("zeGetEventProcAddrTable", 13);
	__typeof__(fake_zeDeviceImportExternalSemaphoreExt) *semaphore_new =
		slot("zeGetDeviceProcAddrTable", 19);
	__typeof__(fake_zeRTASBuilderCreateExp) *builder_new =
		slot("zeGetRTASBuilderExpProcAddrTable", 0);
	__typeof__(fake_zeRTASParallelOperationCreateExt) *operation_new =
		slot("zeGetRTASParallelOperationProcAddrTable", 0);
	__typeof__(fake_zeGraphCreateExt) *graph_new = slot("zeGetGraphProcAddrTable", 0);
	__typeof__(fake_zeGraphInstantiateExt) *graph_run = slot("zeGetGraphProcAddrTable", 3);
	ze_command_list_handle_t list, clone;
	ze_command_list_dditable_t *l;
	ze_command_list_desc_t list_desc = { .stype = ZE_STRUCTURE_TYPE_COMMAND_LIST_DESC };
	void *slots[SLOT_MAX] = { NULL }, *o, *graph;
	__typeof__(fake_zeCommandListCreateCloneExp) *clone_new =
		slot("zeGetCommandListExpProcAddrTable", 0);
	struct fake_ipc_event ipc;
	ze_event_handle_t event;
	ze_result_t rc;

	EXPECT(event_new(context, device, &ipc, &event) == ZE_RESULT_SUCCESS);
	EXPECT(event_ipc(event, &ipc) == ZE_RESULT_SUCCESS);
	rc = event_open(context, ipc, (ze_event_handle_t *)&o);
	check_life(o, rc, slot("zeGetEventProcAddrTable", 14));
	check_life(event, ZE_RESULT_SUCCESS, slot("zeGetEventProcAddrTable", 1));
	rc = semaphore_new(device, &ipc, &o);
	check_life(o, rc, slot("zeGetDeviceProcAddrTable", 20));
	rc = builder_new(driver, &ipc, &o);
	check_life(o, rc, slot("zeGetRTASBuilderExpProcAddrTable", 3));
	rc = operation_new(driver, &o);
	check_life(o, rc, slot("zeGetRTASParallelOperationProcAddrTable", 3));
	EXPECT(graph_new(context, NULL, &graph) == ZE_RESULT_SUCCESS);
	rc = graph_run(graph, NULL, &o);
	check_life(o, rc, slot("zeGetExecutableGraphProcAddrTable", 1));
	check_life(graph, ZE_RESULT_SUCCESS, slot("zeGetGraphProcAddrTable", 6));

	ask("zeGetCommandListProcAddrTable", NEWEST, slots);
	l = (void *)slots;
	EXPECT(l->pfnCreate(context, device, &list_desc, &list) == ZE_RESULT_SUCCESS);
	EXPECT(clone_new(list, &clone) == ZE_RESULT_SUCCESS && clone != list);
	EXPECT(l->pfnDestroy(clone) == ZE_RESULT_SUCCESS);
	EXPECT(l->pfnDestroy(list) == ZE_RESULT_SUCCESS);
	/* what was freed last is handed out first */
	EXPECT(l->pfnCreate(context, device, &list_desc, &clone) == ZE_RESULT_SUCCESS);
	EXPECT(clone == list);
	EXPECT(l->pfnDestroy(clone) == ZE_RESULT_SUCCESS);
	EXPECT(l->pfnDestroy((void *)context) == ZE_RESULT_ERROR_INVALID_ARGUMENT);
	EXPECT(l->pfnDestroy((void *)&ipc) == ZE_RESULT_ERROR_INVALID_ARGUMENT);
}

int main(int argc, char **argv)
{
	long (*live)(const char *);

	driver_lib = argc == 2 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;
	if (!driver_lib) {
		fprintf(stderr, "usage: %s DRIVER.so (%s)\n", argv[0], argc == 2 ? dlerror() : "");
		return 2;
	}
	for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++)
		for (int minor = 0; minor <= NEWEST; minor++)
			check_size(&tables[i], minor);
	open_device();
	check_newer();
	live = (long (*)(const char *))dlsym(driver_lib, "gt_fake_ze_live");
	EXPECT(live && live(NULL) == 1 && live("context") == 1 && live("no such kind") == -1);
	printf("%s\n", failures ? "FAILED" : "ok");
	return failures != 0;
}
