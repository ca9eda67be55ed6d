/* SPDX-License-Identifier: MIT */
/*
 * ten_leaks_cuda.c - ten resources of CUDA's driver that are never released, and ten that are.
 *
 * The driver is loaded, not linked, and declared here: the same program runs on NVIDIA's and on the
 * stand-in. With an argument it ends its context before it ends itself: compute-sanitizer reports
 * leaks only then, and gputrack that they were freed with their context.
 */
#include <dlfcn.h>
#include <stdint.h>

#include "ten_leaks.h"

enum { BYTES = 65536, ATTACH_GLOBAL = 1, FORMAT_FLOAT = 0x20 };

struct array_descriptor {
	size_t width, height;
	int format;
	unsigned channels;
};

#define FUNCTIONS(_)                                                                               \
	_(cuInit, (unsigned))                                                                      \
	_(cuDevicePrimaryCtxRetain, (void **, int))                                                \
	_(cuDevicePrimaryCtxRelease_v2, (int))                                                     \
	_(cuCtxSetCurrent, (void *))                                                               \
	_(cuMemAlloc_v2, (uint64_t *, size_t))                                                     \
	_(cuMemFree_v2, (uint64_t))                                                                \
	_(cuMemAllocAsync, (uint64_t *, size_t, void *))                                           \
	_(cuMemFreeAsync, (uint64_t, void *))                                                      \
	_(cuMemAllocPitch_v2, (uint64_t *, size_t *, size_t, size_t, unsigned))                    \
	_(cuMemAllocManaged, (uint64_t *, size_t, unsigned))                                       \
	_(cuMemHostAlloc, (void **, size_t, unsigned))                                             \
	_(cuMemFreeHost, (void *))                                                                 \
	_(cuArrayCreate_v2, (void **, const struct array_descriptor *))                            \
	_(cuArrayDestroy, (void *))                                                                \
	_(cuEventCreate, (void **, unsigned))                                                      \
	_(cuEventDestroy_v2, (void *))                                                             \
	_(cuStreamCreate, (void **, unsigned))                                                     \
	_(cuStreamDestroy_v2, (void *))                                                            \
	_(cuGraphCreate, (void **, unsigned))                                                      \
	_(cuGraphDestroy, (void *))                                                                \
	_(cuCtxCreate_v2, (void **, unsigned, int))                                                \
	_(cuCtxDestroy_v2, (void *))

#define DECLARE(name, arguments) static int(*name) arguments;
#define FIND(name, arguments)    { #name, (void *)&name },

FUNCTIONS(DECLARE)

static void *context;

static uint64_t make_memory(void)
{
	uint64_t p;

	must(cuMemAlloc_v2(&p, BYTES), "cuMemAlloc");
	return p;
}

static uint64_t make_async_memory(void)
{
	uint64_t p;

	must(cuMemAllocAsync(&p, BYTES, NULL), "cuMemAllocAsync");
	return p;
}

static uint64_t make_pitched_memory(void)
{
	uint64_t p;
	size_t pitch;

	must(cuMemAllocPitch_v2(&p, &pitch, 256, 256, 4), "cuMemAllocPitch");
	return p;
}

static uint64_t make_managed_memory(void)
{
	uint64_t p;

	must(cuMemAllocManaged(&p, BYTES, ATTACH_GLOBAL), "cuMemAllocManaged");
	return p;
}

static void *make_pinned_memory(void)
{
	void *p;

	must(cuMemHostAlloc(&p, BYTES, 0), "cuMemHostAlloc");
	return p;
}

static void *make_array(void)
{
	struct array_descriptor desc = {
		.width = 64, .height = 64, .format = FORMAT_FLOAT, .channels = 1
	};
	void *p;

	must(cuArrayCreate_v2(&p, &desc), "cuArrayCreate");
	return p;
}

static void *make_event(void)
{
	void *p;

	must(cuEventCreate(&p, 0), "cuEventCreate");
	return p;
}

static void *make_stream(void)
{
	void *p;

	must(cuStreamCreate(&p, 0), "cuStreamCreate");
	return p;
}

static void *make_graph(void)
{
	void *p;

	must(cuGraphCreate(&p, 0), "cuGraphCreate");
	return p;
}

/* A new context is current: back to the first. */
static void *make_context(void)
{
	void *p;

	must(cuCtxCreate_v2(&p, 0, 0), "cuCtxCreate");
	must(cuCtxSetCurrent(context), "cuCtxSetCurrent");
	return p;
}

#define release_memory(x)         must(cuMemFree_v2(x), "cuMemFree")
#define release_async_memory(x)   must(cuMemFreeAsync(x, NULL), "cuMemFreeAsync")
#define release_pitched_memory(x) must(cuMemFree_v2(x), "cuMemFree")
#define release_managed_memory(x) must(cuMemFree_v2(x), "cuMemFree")
#define release_pinned_memory(x)  must(cuMemFreeHost(x), "cuMemFreeHost")
#define release_array(x)          must(cuArrayDestroy(x), "cuArrayDestroy")
#define release_event(x)          must(cuEventDestroy_v2(x), "cuEventDestroy")
#define release_stream(x)         must(cuStreamDestroy_v2(x), "cuStreamDestroy")
#define release_graph(x)          must(cuGraphDestroy(x), "cuGraphDestroy")
#define release_context(x)        must(cuCtxDestroy_v2(x), "cuCtxDestroy")

#define KINDS(_)                                                                                   \
	_(memory)                                                                                  \
	_(async_memory)                                                                            \
	_(pitched_memory)                                                                          \
	_(managed_memory)                                                                          \
	_(pinned_memory)                                                                           \
	_(array)                                                                                   \
	_(event)                                                                                   \
	_(stream)                                                                                  \
	_(graph)                                                                                   \
	_(context)

KINDS(TEN_LEAKS_KIND)

static const struct ten_leaks_row rows[] = { KINDS(TEN_LEAKS_ROW) };

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void *at;
	} functions[] = { FUNCTIONS(FIND) };
	void *driver = dlopen("libcuda.so.1", RTLD_NOW);

	for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
		void *found = driver ? dlsym(driver, functions[i].name) : NULL;

		if (!found) {
			fprintf(stderr, "ten_leaks: no %s in libcuda.so.1\n", functions[i].name);
			return 1;
		}
		*(void **)functions[i].at = found;
	}
	must(cuInit(0), "cuInit");
	must(cuDevicePrimaryCtxRetain(&context, 0), "cuDevicePrimaryCtxRetain");
	must(cuCtxSetCurrent(context), "cuCtxSetCurrent");
	run_rows(rows, sizeof rows / sizeof *rows);
	(void)argv;
	if (argc > 1)
		must(cuDevicePrimaryCtxRelease_v2(0), "cuDevicePrimaryCtxRelease");
	return 0;
}
