/* SPDX-License-Identifier: MIT */
/* system_layer.c - the system's own validation layer below ours, so that its checkers go on
 * working. */
#include <dlfcn.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "capture/levelzero/levelzero.h"

extern char **environ;

static void *library;
static pthread_once_t once = PTHREAD_ONCE_INIT;

/* ZEL_ENABLE_…_CHECKER=1 or ZE_ENABLE_…: anything of the system layer's that is not our tracker. */
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
	       strncmp(variable, "ZEL_ENABLE_SYSTEM_RESOURCE_TRACKER_CHECKER=", 43);
}

static bool is_wanted(void)
{
	for (char **variable = environ; variable && *variable; variable++)
		if (asks_for_system_checker(*variable))
			return true;
	return false;
}

static bool same_file(const char *a, const char *b)
{
	struct stat x, y;

	return !stat(a, &x) && !stat(b, &y) && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

static bool try_folder(const char *folder, size_t length)
{
	char path[PATH_MAX];
	Dl_info own;

	snprintf(path, sizeof path, "%.*s/libze_validation_layer.so.1", (int)length, folder);
	if (dladdr((void *)(uintptr_t)gt_ze_system_function, &own) &&
	    same_file(path, own.dli_fname))
		return false;
	library = dlopen(path, RTLD_LAZY | RTLD_LOCAL);
	return library != NULL;
}

/* Beside the loader, then where distributions put it. By path: by name we would find ourselves. */
static void find_library(void)
{
	static const char *const folders[] = { "/usr/lib/x86_64-linux-gnu", "/usr/lib64",
					       "/usr/local/lib", "/usr/lib" };
	void *loader, *init;
	const char *slash;
	Dl_info info;

	if (!is_wanted())
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

void *gt_ze_system_function(const char *name)
{
	pthread_once(&once, find_library);
	return library ? dlsym(library, name) : NULL;
}
