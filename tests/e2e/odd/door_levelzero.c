/* SPDX-License-Identifier: MIT */
/* door_levelzero.c - counted calls of Level Zero. */
#include "odd.h"

#include <level_zero/ze_api.h>

const char *const door_library = "libze_loader.so.1";

static ze_driver_handle_t driver;
static ze_device_handle_t device;
static ze_context_handle_t context;

static void check(ze_result_t code, const char *what)
{
	if (code != ZE_RESULT_SUCCESS)
		fail("%s: 0x%x", what, (unsigned)code);
}

void door_open(void)
{
	ze_context_desc_t desc = { .stype = ZE_STRUCTURE_TYPE_CONTEXT_DESC };
	uint32_t drivers = 1, devices = 1;
	ze_result_t code;

	if (zeInit(0) || zeDriverGet(&drivers, &driver) || !drivers)
		skip("no Level Zero driver");
	check(zeDeviceGet(driver, &devices, &device), "zeDeviceGet");
	COUNTED(code = zeContextCreate(driver, &desc, &context));
	check(code, "zeContextCreate");
}

void door_close(void)
{
	ze_result_t code;

	COUNTED(code = zeContextDestroy(context));
	check(code, "zeContextDestroy");
}

void *door_create(void)
{
	ze_device_mem_alloc_desc_t desc = { .stype = ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC };
	ze_result_t code;
	void *memory = NULL;

	COUNTED(code = zeMemAllocDevice(context, &desc, 64, 64, device, &memory));
	check(code, "zeMemAllocDevice");
	return memory;
}

void door_release(void *object)
{
	ze_result_t code;

	COUNTED(code = zeMemFree(context, object));
	check(code, "zeMemFree");
}

void door_crash(void)
{
	ze_event_pool_desc_t *nowhere = (ze_event_pool_desc_t *)(uintptr_t)64;
	ze_event_pool_handle_t pool;

	count_begin();
	zeEventPoolCreate(context, nowhere, 0, NULL, &pool);
}

bool door_call_back(void (*called)(void))
{
	(void)called;
	return false;
}
