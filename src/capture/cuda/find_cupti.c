/* SPDX-License-Identifier: MIT */
/* find_cupti.c - finds CUPTI in the process, on the loader's path, in toolkits and in Python. */
#include "capture/cuda/find_cupti.h"

#include <dlfcn.h>
#include <glob.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *load(const char *path, int how)
{
	void *library = dlopen(path, RTLD_LAZY | RTLD_LOCAL | how);

	if (library && !dlsym(library, "cuptiSubscribe")) {
		dlclose(library);
		library = NULL;
	}
	return library;
}

/* Loads the last match of a pattern that can be loaded: the newest, by its name. */
static void *load_below(const char *folder, const char *tail)
{
	char pattern[4096];
	int size = folder && *folder ? snprintf(pattern, sizeof pattern, "%s%s", folder, tail) : -1;
	void *library = NULL;
	glob_t found;

	if (size < 0 || (size_t)size >= sizeof pattern || glob(pattern, 0, NULL, &found))
		return NULL;
	for (size_t i = found.gl_pathc; i > 0 && !library; i--)
		library = load(found.gl_pathv[i - 1], 0);
	globfree(&found);
	return library;
}

/* Tries several tails in turn; the list ends with NULL. */
static void *load_first(const char *folder, const char *const *tails)
{
	void *library = NULL;

	for (; *tails && !library; tails++)
		library = load_below(folder, *tails);
	return library;
}

/* The folder of a library that the process has loaded. */
struct beside {
	const char *name;
	char folder[4096];
};

static int look_beside(struct dl_phdr_info *info, size_t size, void *context)
{
	struct beside *b = context;
	const char *slash = info->dlpi_name ? strrchr(info->dlpi_name, '/') : NULL;

	(void)size;
	if (!slash || strncmp(slash + 1, b->name, strlen(b->name)))
		return 0;
	snprintf(b->folder, sizeof b->folder, "%.*s", (int)(slash - info->dlpi_name),
		 info->dlpi_name);
	return 1;
}

static void *load_beside(const char *name)
{
	static const char *const tails[] = {
		"/libcupti.so*",
		"/../../cuda_cupti/lib/libcupti.so*",
		"/../extras/CUPTI/lib64/libcupti.so*",
		NULL,
	};
	struct beside b = { .name = name };

	dl_iterate_phdr(look_beside, &b);
	return load_first(b.folder, tails);
}

static void *load_home(const char *folder)
{
	static const char *const tails[] = {
		"/lib64/libcupti.so*",
		"/lib/libcupti.so*",
		"/extras/CUPTI/lib64/libcupti.so*",
		NULL,
	};

	return load_first(folder, tails);
}

static void *load_python(const char *folder)
{
	return load_below(folder, "/lib/python3*/site-packages/nvidia/*/lib/libcupti.so*");
}

static void *load_place(unsigned place)
{
	switch (place) {
	case 0: return load("libcupti.so.13", RTLD_NOLOAD);
	case 1: return load("libcupti.so.12", RTLD_NOLOAD);
	case 2: return load("libcupti.so", 0);
	case 3: return load("libcupti.so.13", 0);
	case 4: return load("libcupti.so.12", 0);
	case 5: return load_beside("libcudart.so");
	case 6: return load_home(secure_getenv("CUDA_HOME"));
	case 7: return load_home(secure_getenv("CUDA_PATH"));
	case 8: return load_home("/usr/local/cuda");
	case 9: return load_home("/usr/local/cuda-*");
	case 10: return load_python(secure_getenv("VIRTUAL_ENV"));
	case 11: return load_python(secure_getenv("CONDA_PREFIX"));
	case 12: return load_python("/usr/local");
	default: return NULL;
	}
}

enum { PLACES = 13 };

void *gt_cupti_find(unsigned *next)
{
	const char *only = secure_getenv("GPUTRACK_CUPTI");
	void *library = NULL;

	if (only && *only)
		return (*next)++ ? NULL : load(only, 0);
	while (*next < PLACES && !library)
		library = load_place((*next)++);
	return library;
}
