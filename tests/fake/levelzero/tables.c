/* SPDX-License-Identifier: MIT */
/*
 * tables.c - the dispatch tables that a loader asks a driver for.
 */
#include "tables.h"

#include <level_zero/ze_ddi.h>
#include <level_zero/zes_ddi.h>
#include <level_zero/zet_ddi.h>

#include "fake.h"

/* What Sysman says is used on each of the two devices. */
#define FAKE_USED_BYTES 123456789u

/* Called with the arguments of any function; the calling convention lets us ignore them. */
static ze_result_t unsupported(void)
{
	return ZE_RESULT_ERROR_UNSUPPORTED_FEATURE;
}

/* Every 1.x is welcome: what a version does not have is left out, not refused. */
static ze_result_t table_check(ze_api_version_t version, const void *table)
{
	NEED_POINTER(table);
	if ((uint32_t)version >> 16 != 1)
		return ZE_RESULT_ERROR_UNSUPPORTED_VERSION;
	driver_saw_version(version);
	return ZE_RESULT_SUCCESS;
}

#define HAS(minor) ((uint32_t)version >= (uint32_t)ZE_MAKE_VERSION(1, minor))

#define SET_FN(slot, minor, function)                                                              \
	if (HAS(minor) && !request_lacks(#function))                                               \
		table->pfn##slot = fake_##function;
#define SET_STUB(slot, minor)                                                                      \
	if (HAS(minor))                                                                            \
		table->pfn##slot = (__typeof__(table->pfn##slot))(void *)unsupported;
#define SET_NEW(index, minor, function)                                                            \
	if (HAS(minor))                                                                            \
		((void **)table)[index] = (void *)fake_##function;

#define DEFINE_TABLE(name, type, SLOTS)                                                            \
	ze_result_t ZE_APICALL zeGet##name##ProcAddrTable(ze_api_version_t version, type *table)   \
	{                                                                                          \
		NEED(table_check(version, table));                                                 \
		SLOTS(SET_FN, SET_STUB, SET_NEW)                                                   \
		return ZE_RESULT_SUCCESS;                                                          \
	}
CORE_TABLES(DEFINE_TABLE)

/* The C name differs from the exported one: newer headers declare that one with their own types. */
#define DEFINE_NEW_TABLE(name, SLOTS)                                                              \
	FAKE_EXPORT ze_result_t new_table_##name(ze_api_version_t version, void *table) __asm__(   \
		"zeGet" #name "ProcAddrTable");                                                    \
	ze_result_t new_table_##name(ze_api_version_t version, void *table)                        \
	{                                                                                          \
		NEED(table_check(version, table));                                                 \
		SLOTS(SET_FN, SET_STUB, SET_NEW)                                                   \
		return ZE_RESULT_SUCCESS;                                                          \
	}
NEW_TABLES(DEFINE_NEW_TABLE)

static ze_result_t set_stubs(ze_api_version_t version, void **table, int count)
{
	NEED(table_check(version, table));
	for (int i = 0; i < count && HAS(4); i++)
		table[i] = (void *)unsupported;
	return ZE_RESULT_SUCCESS;
}

/* rows.c has functions of these names with parameters of their own */
#define DECLARE_ROW(index, minor, function) ze_result_t fake_##function();
#define DECLARE_TOOLS(name, count, SLOTS)   SLOTS(DECLARE_ROW)
#pragma GCC diagnostic ignored "-Wstrict-prototypes"
TOOLS_TABLES(DECLARE_TOOLS)

/* The C name differs from the exported one, as above. */
#define DEFINE_TOOLS(name, count, SLOTS)                                                           \
	FAKE_EXPORT ze_result_t tools_table_##name(ze_api_version_t version, void *table) __asm__( \
		"zetGet" #name "ProcAddrTable");                                                   \
	ze_result_t tools_table_##name(ze_api_version_t version, void *table)                      \
	{                                                                                          \
		NEED(set_stubs(version, table, count));                                            \
		SLOTS(SET_NEW)                                                                     \
		return ZE_RESULT_SUCCESS;                                                          \
	}
TOOLS_TABLES(DEFINE_TOOLS)

#define DEFINE_OTHER(getter, type, count)                                                          \
	ze_result_t ZE_APICALL getter(ze_api_version_t version, type *table)                       \
	{                                                                                          \
		return set_stubs(version, (void **)table, count);                                  \
	}
OTHER_TABLES(DEFINE_OTHER)

/* Sysman's memory: one module a device, of which the same part is always used. */
static ze_result_t enum_modules(zes_device_handle_t device, uint32_t *count,
				zes_mem_handle_t *modules)
{
	NEED_POINTER(device);
	NEED_POINTER(count);
	if (modules && *count)
		modules[0] = (zes_mem_handle_t)device;
	*count = 1;
	return ZE_RESULT_SUCCESS;
}

static ze_result_t module_state(zes_mem_handle_t module, zes_mem_state_t *state)
{
	NEED_POINTER(module);
	NEED_POINTER(state);
	state->size = (uint64_t)16 << 30;
	state->free = state->size - FAKE_USED_BYTES;
	return ZE_RESULT_SUCCESS;
}

ze_result_t ZE_APICALL zesGetDeviceProcAddrTable(ze_api_version_t version,
						 zes_device_dditable_t *table)
{
	NEED(set_stubs(version, (void **)table, 29));
	if (HAS(4))
		table->pfnEnumMemoryModules = enum_modules;
	return ZE_RESULT_SUCCESS;
}

ze_result_t ZE_APICALL zesGetMemoryProcAddrTable(ze_api_version_t version,
						 zes_memory_dditable_t *table)
{
	NEED(set_stubs(version, (void **)table, 3));
	if (HAS(4))
		table->pfnGetState = module_state;
	return ZE_RESULT_SUCCESS;
}
