/* SPDX-License-Identifier: MIT */
/*
 * cuda_lives.c - lives and deaths of CUDA memory, by name: WHAT…
 *
 *   leak       two blocks of device memory, pinned memory, a stream and an event, never freed
 *   context    memory, a stream and pinned memory that a context takes along
 *   primary    the same with the primary context: released once, retained twice; then reset
 *   kept       a primary context that is never released, as the runtime does it; memory is freed
 *   threads    memory that other threads free, eight threads, a hundred blocks each
 *   fork       a child that makes no call of CUDA, and frees nothing
 *   fails      allocations that the environment makes fail
 *   devices    a context on each device, with memory
 *   stripes    four blocks of memory mapped side by side, and unmapped by one call
 *   statics    loads the modules a.cubin and b.cubin, unloads the second
 *   early      loads the library a.cubin before there is a context, then allocates 5,000 bytes
 *   packed     loads 0.fatbin, 1.fatbin, … by each function in its turn
 *   seen       200 MiB that stay until somebody has asked libnvidia-ml's stand-in about them twice
 */
#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cuda_common.h"
#include "../../fake/gpu_memory/share.h"

enum { THREADS = 8, BLOCKS = 100 };

static CUcontext context;

static void open_context(void)
{
	need(cuCtxCreate_v2(&context, 0, 0), "cuCtxCreate");
}

static CUdeviceptr make_memory(size_t bytes)
{
	CUdeviceptr p = 0;

	need(cuMemAlloc_v2(&p, bytes), "cuMemAlloc");
	return p;
}

static void leak(void)
{
	CUstream stream;
	CUevent event;
	void *host;

	open_context();
	make_memory(1 << 20);
	make_memory(3000);
	need(cuMemHostAlloc(&host, 512, 0), "cuMemHostAlloc");
	need(cuStreamCreate(&stream, 0), "cuStreamCreate");
	need(cuEventCreate(&event, 0), "cuEventCreate");
	need(cuMemFree_v2(make_memory(64)), "cuMemFree");
}

static void hold_some(void)
{
	CUstream stream;
	void *host;

	make_memory(10000);
	need(cuMemHostAlloc(&host, 500, 0), "cuMemHostAlloc");
	need(cuStreamCreate(&stream, 0), "cuStreamCreate");
}

static void in_context(void)
{
	open_context();
	hold_some();
	need(cuCtxDestroy_v2(context), "cuCtxDestroy");
}

static void in_primary(void)
{
	CUcontext primary;

	need(cuDevicePrimaryCtxRetain(&primary, 0), "retain");
	need(cuDevicePrimaryCtxRetain(&primary, 0), "retain");
	need(cuCtxSetCurrent(primary), "cuCtxSetCurrent");
	hold_some();
	need(cuDevicePrimaryCtxRelease_v2(0), "release");
	need(cuMemFree_v2(make_memory(1)), "cuMemFree"); /* it still lives */
	need(cuDevicePrimaryCtxReset_v2(0), "reset");
}

static void kept(void)
{
	CUcontext primary;

	need(cuDevicePrimaryCtxRetain(&primary, 0), "retain");
	need(cuCtxSetCurrent(primary), "cuCtxSetCurrent");
	need(cuMemFree_v2(make_memory(1000)), "cuMemFree");
}

static void *free_all(void *blocks)
{
	need(cuCtxSetCurrent(context), "cuCtxSetCurrent");
	for (int i = 0; i < BLOCKS; i++)
		need(cuMemFree_v2(((CUdeviceptr *)blocks)[i]), "cuMemFree");
	return NULL;
}

static void *make_all(void *unused)
{
	CUdeviceptr blocks[BLOCKS];
	pthread_t other;

	(void)unused;
	need(cuCtxSetCurrent(context), "cuCtxSetCurrent");
	for (int i = 0; i < BLOCKS; i++)
		blocks[i] = make_memory(100 + (size_t)i);
	pthread_create(&other, NULL, free_all, blocks);
	pthread_join(other, NULL);
	return NULL;
}

static void threads(void)
{
	pthread_t thread[THREADS];

	open_context();
	for (int i = 0; i < THREADS; i++)
		pthread_create(&thread[i], NULL, make_all, NULL);
	for (int i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	need(cuCtxDestroy_v2(context), "cuCtxDestroy");
}

static void in_child(void)
{
	int status;
	pid_t child;

	open_context();
	make_memory(4096);
	child = fork();
	if (!child) {
		need(cuMemFree_v2(make_memory(77)), "cuMemFree");
		make_memory(99);
		exit(0);
	}
	waitpid(child, &status, 0);
	printf("child ended with %d\n", status);
}

static void fails(void)
{
	CUdeviceptr p = 0x1234;
	CUcontext none;
	CUstream stream;

	printf("context %d\n", (int)cuCtxCreate_v2(&none, 0, 9));
	open_context();
	printf("memory %d\n", (int)cuMemAlloc_v2(&p, 5000));
	printf("memory %d\n", (int)cuMemAlloc_v2(&p, 6000));
	printf("stream %d\n", (int)cuStreamCreate(&stream, 0));
	printf("free %d\n", (int)cuMemFree_v2(p));
	printf("free again %d\n", (int)cuMemFree_v2(p));
	need(cuCtxDestroy_v2(context), "cuCtxDestroy");
}

static void devices(void)
{
	int count = 0;

	need(cuDeviceGetCount(&count), "cuDeviceGetCount");
	for (int i = 0; i < count; i++) {
		CUcontext one;

		need(cuCtxCreate_v2(&one, 0, i), "cuCtxCreate");
		make_memory(1000 * (size_t)(i + 1));
	}
}

static void statics(void)
{
	static const struct {
		uint32_t magic, version;
		const void *data, *more;
	} wrapper = { 0x466243b1, 1, NULL, NULL };
	CUlibrary library;
	CUmodule a, b;

	open_context();
	need(cuModuleLoad(&a, "a.cubin"), "cuModuleLoad");
	need(cuModuleLoad(&b, "b.cubin"), "cuModuleLoad");
	need(cuModuleUnload(b), "cuModuleUnload");
	/* as the runtime loads what nvcc put into the program, and as a program loads its own */
	need(cuLibraryLoadData(&library, &wrapper, NULL, NULL, 0, NULL, NULL, 0), "own code");
	need(cuLibraryLoadData(&library, "code", NULL, NULL, 0, NULL, NULL, 0), "other code");
}

static void early(void)
{
	CUlibrary library;

	need(cuLibraryLoadFromFile(&library, "a.cubin", NULL, NULL, 0, NULL, NULL, 0),
	     "cuLibraryLoadFromFile");
	open_context();
	make_memory(5000);
}

static const void *bytes_of(const char *path)
{
	struct stat st;
	int fd = open(path, O_RDONLY);
	void *bytes = fd < 0 || fstat(fd, &st) ?
			      MAP_FAILED :
			      mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);

	return bytes == MAP_FAILED ? NULL : bytes;
}

static void packed(void)
{
	struct {
		uint32_t magic, version;
		const void *data, *more;
	} wrapper = { .magic = 0x466243b1, .version = 1 };
	const void *bytes;
	CUlibrary library;
	CUmodule module;
	char path[32];

	open_context();
	for (int i = 0; snprintf(path, sizeof path, "%d.fatbin", i), bytes = bytes_of(path); i++) {
		wrapper.data = bytes;
		if (i % 4 == 0)
			need(cuModuleLoadFatBinary(&module, bytes), "cuModuleLoadFatBinary");
		else if (i % 4 == 1)
			need(cuModuleLoad(&module, path), "cuModuleLoad");
		else if (i % 4 == 2)
			need(cuLibraryLoadFromFile(&library, path, NULL, NULL, 0, NULL, NULL, 0),
			     "cuLibraryLoadFromFile");
		else
			need(cuLibraryLoadData(&library, &wrapper, NULL, NULL, 0, NULL, NULL, 0),
			     "cuLibraryLoadData");
	}
}

static void stripes(void)
{
	enum { STRIPES = 4, SIZE = 65536 };
	CUmemAllocationProp where = { .location.type = CU_MEM_LOCATION_TYPE_DEVICE };
	CUmemGenericAllocationHandle one;
	CUdeviceptr p;

	open_context();
	need(cuMemAddressReserve(&p, STRIPES * SIZE, 0, 0, 0), "cuMemAddressReserve");
	for (int i = 0; i < STRIPES; i++) {
		need(cuMemCreate(&one, SIZE, &where, 0), "cuMemCreate");
		need(cuMemMap(p + (CUdeviceptr)i * SIZE, SIZE, 0, one, 0), "cuMemMap");
		need(cuMemRelease(one), "cuMemRelease");
	}
	need(cuMemUnmap(p, STRIPES * SIZE), "cuMemUnmap");
	need(cuMemAddressFree(p, STRIPES * SIZE), "cuMemAddressFree");
	need(cuCtxDestroy_v2(context), "cuCtxDestroy");
}

static void seen(void)
{
	struct fake_share *share = fake_share_open();
	CUdeviceptr p;

	open_context();
	p = make_memory(200 << 20);
	fake_share_be_seen(share);
	need(cuMemFree_v2(p), "cuMemFree");
	need(cuCtxDestroy_v2(context), "cuCtxDestroy");
}

static const struct {
	const char *name;
	void (*run)(void);
} lives[] = {
	{ "leak", leak },       { "context", in_context }, { "primary", in_primary },
	{ "kept", kept },       { "threads", threads },    { "fork", in_child },
	{ "fails", fails },     { "devices", devices },    { "seen", seen },
	{ "statics", statics }, { "stripes", stripes },    { "packed", packed },
	{ "early", early },
};

int main(int argc, char **argv)
{
	CUresult result = cuInit(0);

	setvbuf(stdout, NULL, _IONBF, 0);
	if (result) {
		printf("no GPU: %d\n", (int)result);
		return 5;
	}
	for (int i = 1; i < argc; i++)
		for (size_t k = 0; k < sizeof lives / sizeof *lives; k++)
			if (!strcmp(argv[i], lives[k].name)) {
				lives[k].run();
				printf("%s done\n", argv[i]);
			}
	return 0;
}
