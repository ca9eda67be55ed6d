/* SPDX-License-Identifier: MIT */
/*
 * checkers.c - a validation layer as loaders from 1.26 on have it: with a resource tracker of its
 * own, beside other checkers.
 *
 * It says on stderr which of its checkers it finds switched on when it is loaded, when it is asked
 * for the first table, and which the program has at the end. Its parameter checker refuses every
 * context.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <level_zero/ze_ddi.h>

#define EXPORT __attribute__((visibility("default")))

static bool is_on(const char *name)
{
	const char *value = getenv(name);

	return value && !strcmp(value, "1");
}

static void say(const char *when)
{
	fprintf(stderr, "checkers %s:%s%s\n", when,
		is_on("ZEL_ENABLE_SYSTEM_RESOURCE_TRACKER_CHECKER") ? " tracker" : "",
		is_on("ZE_ENABLE_PARAMETER_VALIDATION") ? " parameters" : "");
}

__attribute__((constructor)) static void loaded(void)
{
	say("loaded");
}

__attribute__((destructor)) static void unloaded(void)
{
	say("at the end");
}

static ze_result_t refuse_context(ze_driver_handle_t driver, const ze_context_desc_t *desc,
				  ze_context_handle_t *context)
{
	(void)driver;
	(void)desc;
	(void)context;
	return ZE_RESULT_ERROR_INVALID_ENUMERATION;
}

EXPORT ze_result_t zeGetGlobalProcAddrTable(ze_api_version_t version, ze_global_dditable_t *table)
{
	static bool is_asked;

	(void)version;
	(void)table;
	if (!is_asked)
		say("asked");
	is_asked = true;
	return ZE_RESULT_SUCCESS;
}

EXPORT ze_result_t zeGetContextProcAddrTable(ze_api_version_t version, ze_context_dditable_t *table)
{
	(void)version;
	if (is_on("ZE_ENABLE_PARAMETER_VALIDATION"))
		table->pfnCreate = refuse_context;
	return ZE_RESULT_SUCCESS;
}
