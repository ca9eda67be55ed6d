/* SPDX-License-Identifier: MIT */
/*
 * levelzero_layer.c - the Level Zero layer: what the loader expects of a validation layer.
 *
 * The system's validation layer is inserted below ours if one of its checkers is enabled. From
 * loader 1.26 on it has a resource tracker too, by the same variable: it must not find that.
 */
#include <dlfcn.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <level_zero/loader/ze_loader.h>

#include "capture/levelzero/levelzero.h"
#include "guest/settings.h"
#include "guest/tap.h"

#define EXPORT  __attribute__((visibility("default")))
#define TRACKER "ZEL_ENABLE_SYSTEM_RESOURCE_TRACKER_CHECKER="

extern char **environ;

static void *library;
static pthread_once_t once = PTHREAD_ONCE_INIT;

/* ZEL_ENABLE_…_CHECKER=1 or ZE_ENABLE_…: a checker of the system layer, not our tracker. */
static bool asks_for_system_checker(const char *variable)
{
	static const char *const validation[] = {
		"ZE_ENABLE_PARAMETER_VALIDATION=", "ZE_ENABLE_HANDLE_LIFETIME=",
		"ZE_ENABLE_THREADING_VALIDATION=", "ZE_ENABLE_MEMORY_TRACKER="
	};
	const char *value = strchr(variable, '=');
	size_t name = value ? (size_t)(value - variable) : 0;
	static const char checker[] = "_CHECKER";

	if (!value || (strcmp(value + 1, "1") && strcmp(value + 1, "true")))
		return false;
	for (size_t i = 0; i < sizeof validation / sizeof *validation; i++)
		if (!strncmp(variable, validation[i], strlen(validation[i])))
			return true;
	return !strncmp(variable, "ZEL_ENABLE_", 11) && name > sizeof checker &&
	       !strncmp(value - (sizeof checker - 1), checker, sizeof checker - 1) &&
	       strncmp(variable, TRACKER, strlen(TRACKER));
}

static bool is_system_layer_wanted(void)
{
	for (char **variable = environ; variable && *variable; variable++)
		if (asks_for_system_checker(*variable))
			return true;
	return false;
}

static char hidden_tracker[] = TRACKER "0";

/*
 * Another value of the variable, until show_tracker: one store each, which no getenv of another
 * thread can see half done. unsetenv would move all variables. NULL: it is not set.
 */
static char *hide_tracker(void)
{
	for (char **variable = environ; variable && *variable; variable++)
		if (!strncmp(*variable, TRACKER, strlen(TRACKER)))
			return __atomic_exchange_n(variable, hidden_tracker, __ATOMIC_SEQ_CST);
	return NULL;
}

static void show_tracker(char *value)
{
	for (char **variable = environ; value && variable && *variable; variable++)
		if (*variable == hidden_tracker)
			__atomic_store_n(variable, value, __ATOMIC_SEQ_CST);
}

static bool same_file(const char *a, const char *b)
{
	struct stat x, y;

	return !stat(a, &x) && !stat(b, &y) && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

static bool try_folder(const char *folder, size_t length)
{
	char path[PATH_MAX], *tracker;
	Dl_info own;

	snprintf(path, sizeof path, "%.*s/libze_validation_layer.so.1", (int)length, folder);
	if (dladdr(&library, &own) && same_file(path, own.dli_fname))
		return false;
	tracker = hide_tracker();
	library = dlopen(path, RTLD_LAZY | RTLD_LOCAL);
	show_tracker(tracker);
	return library != NULL;
}

/* Beside the loader, then where distributions put it. By path: the bare name is our own. */
static void find_library(void)
{
	static const char *const folders[] = { "/usr/lib/x86_64-linux-gnu", "/usr/lib64",
					       "/usr/local/lib", "/usr/lib" };
	void *loader, *init;
	const char *slash;
	Dl_info info;

	if (!is_system_layer_wanted())
		return;
	loader = dlopen("libze_loader.so.1", RTLD_LAZY | RTLD_NOLOAD);
	init = loader ? dlsym(loader, "zeInit") : NULL;
	if (init && dladdr(init, &info) && (slash = strrchr(info.dli_fname, '/')) &&
	    try_folder(info.dli_fname, (size_t)(slash - info.dli_fname)))
		return;
	for (size_t i = 0; i < sizeof folders / sizeof *folders; i++)
		if (try_folder(folders[i], strlen(folders[i])))
			return;
}

static void *system_function(const char *name)
{
	pthread_once(&once, find_library);
	return library ? dlsym(library, name) : NULL;
}

/* If nothing was asked for, we wrap nothing. */
static bool is_asked_for(void)
{
	const struct gt_settings *s = gt_settings_get();

	return s->recording || s->tracker;
}

/*
 * Every table passes through here. The system's layer gets it first, if it is wanted, so that it is
 * below us and its checkers see what the driver sees.
 */
static ze_result_t take_table(const char *getter, const char *table, ze_api_version_t version,
			      void *functions)
{
	gt_ze_getter *below = (gt_ze_getter *)system_function(getter);
	ze_result_t e = ZE_RESULT_SUCCESS;

	if (below) {
		char *tracker = hide_tracker();

		e = below(version, functions);
		show_tracker(tracker);
	}
	if (!functions)
		return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
	if ((uint32_t)version >> 16 != 1)
		return ZE_RESULT_ERROR_UNSUPPORTED_VERSION;
	if (e == ZE_RESULT_SUCCESS && is_asked_for()) {
		gt_guest_start();
		gt_tap_open(GT_LEVELZERO);
		gt_ze_take_queries(getter, version, functions);
		gt_ze_wrap_table(table, version, functions);
	}
	return e;
}

/* The C name differs from the exported one, which headers declare with other types. */
#define TABLE(prefix, name)                                                                        \
	EXPORT ze_result_t table_##prefix##name(ze_api_version_t version,                          \
						void *functions) __asm__(#prefix "Get" #name       \
										 "ProcAddrTable"); \
	ze_result_t table_##prefix##name(ze_api_version_t version, void *functions)                \
	{                                                                                          \
		return take_table(#prefix "Get" #name "ProcAddrTable", #prefix #name, version,     \
				  functions);                                                      \
	}
#include "capture/levelzero/tables.def"
#undef TABLE

/* Newer loaders pass their logger to the layer: it is meant for the system's layer. */
EXPORT void *zelLoaderSetLogger(void *logger);
void *zelLoaderSetLogger(void *logger)
{
	void *(*below)(void *) = (void *(*)(void *))system_function("zelLoaderSetLogger");

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
