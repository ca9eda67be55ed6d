/* SPDX-License-Identifier: MIT */
/* levelzero_layer.c - the Level Zero layer: what the loader asks a validation layer for. */
#include <level_zero/loader/ze_loader.h>

#include "capture/levelzero/levelzero.h"
#include "guest/settings.h"

#define EXPORT __attribute__((visibility("default")))

/* Without anything to do, we change nothing. */
static bool is_asked_for(void)
{
	const struct gt_settings *s = gt_guest_settings();

	return s->recording || s->tracker;
}

/*
 * Every table passes through here: first to the system's own layer, if that is wanted too, so that
 * it stands below us and its checkers see what the driver sees.
 */
static ze_result_t take_table(const char *getter, const char *table, bool is_core,
			      ze_api_version_t version, void *functions)
{
	gt_ze_getter *below = (gt_ze_getter *)gt_ze_system_function(getter);
	ze_result_t e = below ? below(version, functions) : ZE_RESULT_SUCCESS;

	if (!functions)
		return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
	if ((uint32_t)version >> 16 != 1)
		return ZE_RESULT_ERROR_UNSUPPORTED_VERSION;
	if (e == ZE_RESULT_SUCCESS && is_asked_for()) {
		gt_guest_start();
		gt_ze_take_questions(getter, version, functions);
		if (is_core)
			gt_ze_wrap_table(table, version, functions);
	}
	return e;
}

#define CORE_ze  true
#define CORE_zet false
#define CORE_zes false
#define CORE_zer false

/* Under another C name than the exported one, which headers declare with types of their own. */
#define TABLE(prefix, name)                                                                        \
	EXPORT ze_result_t table_##prefix##name(ze_api_version_t version,                          \
						void *functions) __asm__(#prefix "Get" #name       \
										 "ProcAddrTable"); \
	ze_result_t table_##prefix##name(ze_api_version_t version, void *functions)                \
	{                                                                                          \
		return take_table(#prefix "Get" #name "ProcAddrTable", #name, CORE_##prefix,       \
				  version, functions);                                             \
	}
#include "capture/levelzero/tables.def"
#undef TABLE

/* New loaders hand their logger to the layer they loaded: it belongs to the system's own. */
EXPORT void *zelLoaderSetLogger(void *logger);
void *zelLoaderSetLogger(void *logger)
{
	void *(*below)(void *) = (void *(*)(void *))gt_ze_system_function("zelLoaderSetLogger");

	return below ? below(logger) : NULL;
}

EXPORT ze_result_t zelLoaderGetVersion(zel_component_version_t *version);
ze_result_t zelLoaderGetVersion(zel_component_version_t *version)
{
	if (!version)
		return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
	*version = (zel_component_version_t){ .component_name = "gputrack",
					      .spec_version = ZE_API_VERSION_CURRENT };
	return ZE_RESULT_SUCCESS;
}
