/* SPDX-License-Identifier: MIT */
/*
 * cuda_asks.c - reaches the CUDA driver in every way that programs do, and asks dlsym odd
 * questions.
 *
 *   handle     dlsym of each function in a handle
 *   default    the driver is global; RTLD_DEFAULT
 *   proc       cuGetProcAddress_v2 alone, as CUDA's runtime does
 *   old        cuGetProcAddress, as it did before
 *   apart      the driver in a name space of its own: dlmopen
 *   questions  what dlsym says of names that are there and that are not, with and without the
 * driver loop N     N questions of a name that is nobody's Each of the first five makes a context
 * and ten blocks of memory, and frees eight.
 */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../libc_first.h"

typedef int any_fn();
typedef void *find_fn(const char *name);

static void *driver;

static void *by_handle(const char *name)
{
	return dlsym(driver, name);
}

static void *by_default(const char *name)
{
	return dlsym(RTLD_DEFAULT, name);
}

/* The names of the functions as cuGetProcAddress knows them: without their version. */
static void base_name(char *base, size_t size, const char *name)
{
	snprintf(base, size, "%s", name);
	if (strstr(base, "_v2"))
		*strstr(base, "_v2") = '\0';
}

static void *by_proc(const char *name)
{
	static any_fn *proc;
	void *found = NULL;
	char base[64];

	base_name(base, sizeof base, name);
	if (!proc) {
		any_fn *first = (any_fn *)dlsym(driver, "cuGetProcAddress_v2");

		/* it hands itself out, too */
		if (first("cuGetProcAddress", &proc, 12000, (uint64_t)0, NULL))
			return NULL;
	}
	return proc(base, &found, 12000, (uint64_t)0, NULL) ? NULL : found;
}

static void *by_old_proc(const char *name)
{
	any_fn *proc = (any_fn *)dlsym(driver, "cuGetProcAddress");
	void *found = NULL;
	char base[64];

	base_name(base, sizeof base, name);
	return proc(base, &found, 11030, (uint64_t)0) ? NULL : found;
}

static void need(int error, const char *what)
{
	if (!error)
		return;
	printf("%s fails with %d\n", what, error);
	exit(1);
}

static void use(find_fn *find)
{
	any_fn *alloc = (any_fn *)find("cuMemAlloc_v2"), *release = (any_fn *)find("cuMemFree_v2");
	any_fn *context = (any_fn *)find("cuCtxCreate_v2"), *init = (any_fn *)find("cuInit");
	uint64_t memory[10];
	void *current;

	need(init(0), "cuInit");
	need(context(&current, 0, 0), "cuCtxCreate");
	for (int i = 0; i < 10; i++)
		need(alloc(&memory[i], (size_t)1000), "cuMemAlloc");
	for (int i = 0; i < 8; i++)
		need(release(memory[i]), "cuMemFree");
	puts("used");
}

static void ask(const char *who, void *handle, const char *name)
{
	void *found = dlsym(handle, name);
	const char *error = dlerror();

	printf("%s %s: %s %s\n", who, name, found ? "found" : "none", error ? error : "-");
}

static void ask_all(const char *when, void *handle)
{
	static const char *const names[] = { "cuMemAlloc_v2",        "cuInit", "cuNobodys", "cu",
					     "cuMemAlloc_v2x",       "",       "malloc",    "dlsym",
					     "gt_slot_cuMemAlloc_v2" };
	void *self = dlopen(NULL, RTLD_LAZY);
	char who[64];

	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		snprintf(who, sizeof who, "%s, default", when);
		ask(who, RTLD_DEFAULT, names[i]);
		snprintf(who, sizeof who, "%s, next", when);
		ask(who, RTLD_NEXT, names[i]);
		snprintf(who, sizeof who, "%s, self", when);
		ask(who, self, names[i]);
		snprintf(who, sizeof who, "%s, handle", when);
		if (handle)
			ask(who, handle, names[i]);
	}
	printf("%s, a version: %s\n", when,
	       dlvsym(RTLD_DEFAULT, "malloc", LIBC_FIRST) ? "found" : "none");
	printf("%s, a wrong version: %s\n", when,
	       dlvsym(RTLD_DEFAULT, "malloc", "CUDA_1") ? "found" : "none");
}

static void load(int flags)
{
	driver = dlopen("libcuda.so.1", flags);
	if (!driver) {
		puts("no driver");
		exit(1);
	}
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (!strcmp(what, "questions")) {
		ask_all("before", NULL);
		load(RTLD_LAZY | RTLD_LOCAL);
		ask_all("local", driver);
		load(RTLD_LAZY | RTLD_GLOBAL);
		ask_all("global", driver);
		return 0;
	}
	if (!strcmp(what, "loop")) {
		for (long i = atol(argv[2]); i > 0; i--)
			if (dlsym(RTLD_DEFAULT, "nobodys"))
				return 1;
		return 0;
	}
	if (!strcmp(what, "apart"))
		driver = dlmopen(LM_ID_NEWLM, "libcuda.so.1", RTLD_LAZY);
	else
		load(RTLD_LAZY | (strcmp(what, "default") ? RTLD_LOCAL : RTLD_GLOBAL));
	use(!strcmp(what, "default") ? by_default :
	    !strcmp(what, "proc")    ? by_proc :
	    !strcmp(what, "old")     ? by_old_proc :
				       by_handle);
	return 0;
}
