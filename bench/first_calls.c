/* SPDX-License-Identifier: MIT */
/*
 * first_calls.c - times the first calls of the CUDA driver in a process with many libraries.
 *
 * first_calls LIBRARY…: each library has a function `through` that calls another; all but the last
 * are loaded first. Prints, in ns: the first call that is recorded, one more from the same place,
 * the first through a library that was there, and the first through the last one, just loaded.
 */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

typedef void call_fn(void);
typedef void through_fn(call_fn *call);

static int (*init)(unsigned);
static int (*retain)(void **, int);

static void *find(void *library, const char *name)
{
	void *found = library ? dlsym(library, name) : NULL;

	if (!found) {
		fprintf(stderr, "first_calls: no %s: %s\n", name, dlerror());
		exit(1);
	}
	return found;
}

static void make_call(void)
{
	void *context;

	if (retain(&context, 0))
		exit(1);
}

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void tell(const char *what, through_fn *through)
{
	uint64_t begun = now_ns();

	if (through)
		through(make_call);
	else
		make_call();
	printf("%s\t%llu\n", what, (unsigned long long)(now_ns() - begun));
}

int main(int argc, char **argv)
{
	void *driver = dlopen("libcuda.so.1", RTLD_NOW), *last = NULL;

	for (int i = 1; i < argc - 1; i++)
		last = dlopen(argv[i], RTLD_NOW);
	*(void **)&init = find(driver, "cuInit");
	*(void **)&retain = find(driver, "cuDevicePrimaryCtxRetain");
	if (init(0))
		return 1;
	for (int i = 0; i < 2; i++)
		tell(i ? "second" : "first", NULL);
	if (argc > 2) {
		tell("library", (through_fn *)find(last, "through"));
		last = dlopen(argv[argc - 1], RTLD_NOW);
		tell("loaded", (through_fn *)find(last, "through"));
	}
	return 0;
}
