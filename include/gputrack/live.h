/* SPDX-License-Identifier: MIT */
/*
 * live.h - asks gputrack, from inside the program that it records, which GPU resources are alive.
 *
 *	static int show(void *context, const gputrack_live_site *site)
 *	{
 *		printf("%s left alive: %s\n", site->what, site->place);
 *		return 1;
 *	}
 *
 *	gputrack_live_mark before;
 *
 *	gputrack_live_now(&before);
 *	work();
 *	gputrack_live_sites(&before, show, NULL);
 *
 * There is no library to link: without `gputrack run` the functions return 0. C and C++.
 * doc/live-objects.md
 */
#ifndef GPUTRACK_LIVE_H
#define GPUTRACK_LIVE_H

#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

/* In libdl before glibc 2.34: link with -ldl there, or gputrack is not found. */
#pragma weak dlopen
#pragma weak dlsym

#ifdef __cplusplus
extern "C" {
#endif

/* A moment, and what was alive then. Resources count from the first mark of the process on. */
typedef struct gputrack_live_mark {
	uint64_t time_ns; /* CLOCK_MONOTONIC */
	uint64_t resources;
	uint64_t device_bytes; /* memory that drivers gave out on devices */
	uint64_t block_bytes;  /* blocks of pools, which usually lie in that memory */
} gputrack_live_mark;

/* Resources created from one moment to before another. */
typedef struct gputrack_live_span {
	uint64_t from_ns, to_ns;
} gputrack_live_span;

/* A living resource. The texts are constants. */
typedef struct gputrack_live_resource {
	size_t struct_size; /* sizeof of this struct in gputrack: later ones are longer */
	uint64_t handle, bytes, time_ns;
	const char *api;        /* "OpenCL", "CUDA", "Level Zero", "PyTorch", … */
	const char *kind;       /* "buffer", "event", … */
	const char *created_by; /* "clCreateBuffer" */
	uint64_t references;    /* the program's creations and retains minus its releases */
	uint64_t thread;        /* the creating thread's id, as ps and gdb show it */
	uint64_t owner; /* the handle of its context, or of what it was made of; 0: unknown */
} gputrack_live_resource;

/* A call site with living resources of one kind. The texts are valid during the callback. */
typedef struct gputrack_live_site {
	size_t struct_size;
	uint64_t count, bytes;
	const char *what; /* "2 buffers, 8.00 KiB" */
	const char *api, *kind, *created_by;
	const char *place; /* "make_buffer src/buffer.cc:12 < main src/main.cc:40" */
	const char *file;  /* of that place; "" if unknown, and then the line is 0 */
	unsigned line;
	const char *stack;   /* all of it, a line for each frame, the innermost first */
	const char *excused; /* why it is no leak: a cache, a suppression; "" if it may be one */
} gputrack_live_site;

/* Both return 0 to stop. No lock is held: they may make any call. */
typedef int gputrack_live_resource_fn(void *context, const gputrack_live_resource *resource);
typedef int gputrack_live_site_fn(void *context, const gputrack_live_site *site);

#ifndef __cplusplus
extern char *secure_getenv(const char *name); /* declared for GNU sources alone */
#endif

/* gputrack's function of this name; null: this process is not recorded. */
static __inline__ void *gputrack_live_find(void **found, const char *name)
{
	void *function = __atomic_load_n(found, __ATOMIC_ACQUIRE), *library;
	const char *path = function || !dlopen ? NULL : secure_getenv("GPUTRACK_LIBRARY");

	if (!path || !*path)
		return function;
	library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	function = library ? dlsym(library, name) : NULL;
	__atomic_store_n(found, function, __ATOMIC_RELEASE);
	return function;
}

/*
 * Fills `mark` with the present moment. Returns 1 if this process is recorded by gputrack, 0 (and
 * zeros) if it is not. The first call makes gputrack count what is alive; it may load a library.
 * All later ones may be made in signal handlers.
 */
static __inline__ int gputrack_live_now(gputrack_live_mark *mark)
{
	typedef int ask_fn(gputrack_live_mark *);
	static const gputrack_live_mark none = { 0, 0, 0, 0 };
	static void *found;
	ask_fn *ask = __extension__(ask_fn *) gputrack_live_find(&found, "gt_live_query_now");

	*mark = none;
	return ask ? ask(mark) : 0;
}

/*
 * The most that was alive at once since a mark, of device_bytes and of block_bytes, each for
 * itself; what was alive at the mark is part of it. The 128 latest marks and the first 128 are
 * remembered. Returns 1, or 0 as above.
 */
static __inline__ int gputrack_live_peak(const gputrack_live_mark *since, gputrack_live_mark *peak)
{
	typedef int ask_fn(uint64_t, gputrack_live_mark *);
	static void *found;
	ask_fn *ask = __extension__(ask_fn *) gputrack_live_find(&found, "gt_live_query_peak");

	*peak = *since;
	return ask ? ask(since->time_ns, peak) : 0;
}

/*
 * Calls `each` for the resources that were created since a mark (NULL: since the first) and are
 * alive, the newest first, and returns how many there are. `each` may be NULL, to count: that takes
 * no memory.
 */
static __inline__ long gputrack_live_list(const gputrack_live_mark *since,
					  gputrack_live_resource_fn *each, void *context)
{
	typedef long ask_fn(const gputrack_live_span *, size_t, gputrack_live_resource_fn *,
			    void *);
	static void *found;
	ask_fn *ask = __extension__(ask_fn *) gputrack_live_find(&found, "gt_live_query_list");
	gputrack_live_span span = { 0, UINT64_MAX };

	if (since)
		span.from_ns = since->time_ns;
	return ask ? ask(&span, 1, each, context) : 0;
}

/*
 * The same by call site, the most bytes first, with functions, files and lines: the recording is
 * read by a child process, which takes as long as a report, so ask only if something is alive.
 * Returns how many sites there are; -1 if that cannot be told, and then `each` is called once, with
 * the reason in `excused`. Do not call it in signal handlers.
 */
static __inline__ long gputrack_live_sites(const gputrack_live_mark *since,
					   gputrack_live_site_fn *each, void *context)
{
	typedef long ask_fn(const gputrack_live_span *, size_t, gputrack_live_site_fn *, void *);
	static void *found;
	ask_fn *ask = __extension__(ask_fn *) gputrack_live_find(&found, "gt_live_query_sites");
	gputrack_live_span span = { 0, UINT64_MAX };

	if (since)
		span.from_ns = since->time_ns;
	return ask ? ask(&span, 1, each, context) : 0;
}

#ifdef __cplusplus
}
#endif

#endif
