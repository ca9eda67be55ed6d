/* SPDX-License-Identifier: MIT */
/*
 * brief.c - many processes that live for a moment and allocate CUDA memory:
 *
 *	brief libcuda.so.1 fork N RATE    children of a process that makes no call itself
 *	brief libcuda.so.1 exec N RATE    each runs this program anew
 *	brief libcuda.so.1 one            what these do: two allocations, one release
 *
 * RATE: processes a second; 0: as fast as it goes.
 */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static int (*init)(unsigned);
static int (*create)(void **, unsigned, int);
static int (*allocate)(uint64_t *, size_t);
static int (*release)(uint64_t);

__attribute__((noinline)) static uint64_t allocate_here(size_t size)
{
	uint64_t handle = 0;
	int e = allocate(&handle, size);

	/* so that nothing is left to a tail call */
	return e ? 0 : handle;
}

__attribute__((noinline)) static int work(void)
{
	void *context;

	if (init(0) || create(&context, 0, 0))
		return 1;
	allocate_here(100);
	return release(allocate_here(200));
}

static void pace(struct timespec *next, unsigned rate)
{
	if (!rate)
		return;
	next->tv_nsec += 1000000000 / rate;
	if (next->tv_nsec >= 1000000000) {
		next->tv_nsec -= 1000000000;
		next->tv_sec++;
	}
	clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, next, NULL);
}

int main(int argc, char **argv)
{
	void *library = argc > 2 ? dlopen(argv[1], RTLD_NOW) : NULL;
	unsigned count = argc > 3 ? (unsigned)atoi(argv[3]) : 0;
	unsigned rate = argc > 4 ? (unsigned)atoi(argv[4]) : 0, failed = 0;
	struct timespec next;
	int status;

	if (!library) {
		fprintf(stderr, "%s\n", argc > 2 ? dlerror() : "brief LIBRARY fork|exec|one");
		return 1;
	}
	init = (int (*)(unsigned))dlsym(library, "cuInit");
	create = (int (*)(void **, unsigned, int))dlsym(library, "cuCtxCreate_v2");
	allocate = (int (*)(uint64_t *, size_t))dlsym(library, "cuMemAlloc_v2");
	release = (int (*)(uint64_t))dlsym(library, "cuMemFree_v2");
	if (!strcmp(argv[2], "one"))
		return work();
	puts("ready");
	fflush(stdout);
	getchar();
	clock_gettime(CLOCK_MONOTONIC, &next);
	for (unsigned i = 0; i < count; i++) {
		pid_t pid = fork();

		if (!pid && !strcmp(argv[2], "fork"))
			_exit(work());
		if (!pid) {
			execl("/proc/self/exe", argv[0], argv[1], "one", (char *)NULL);
			_exit(1);
		}
		pace(&next, rate);
		while (waitpid(-1, &status, rate ? WNOHANG : 0) > 0)
			failed += status != 0;
	}
	while (wait(&status) > 0)
		failed += status != 0;
	printf("%u failed\n", failed);
	return failed != 0;
}
