/* SPDX-License-Identifier: MIT */
/*
 * attach_target.c - does with CUDA memory what it is told, a line at a time, and says when done:
 *
 *	attach_target libcuda.so.1
 *	a SIZE      allocate; answers with the handle
 *	f HANDLE    free; t HANDLE: free in another thread
 *	x           an allocation that fails
 *	k SIZE      a child allocates and ends, keeping it
 *	e           becomes itself again, by exec
 *	b N         N pairs of allocate and free
 *	l N         N allocations that are kept
 *	s N         N allocations that are kept, each with a stack of its own
 *	o PATH      loads a library and allocates through it; u: unloads it
 *	c SIZE      allocate in a second context, which then is not current any more
 *	d           destroy that context
 *	p           who am I
 *	q           end
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

static int (*init)(unsigned);
static int (*create)(void **, unsigned, int);
static int (*destroy)(void *);
static int (*set_current)(void *);
static int (*allocate)(uint64_t *, size_t);
static int (*release)(uint64_t);
static void *context, *second;

__attribute__((noinline)) static uint64_t allocate_here(size_t size)
{
	uint64_t handle = 0;
	int e = allocate(&handle, size);

	/* so that nothing is left to a tail call */
	return e ? 0 : handle;
}

__attribute__((noinline)) static uint64_t middle(size_t size)
{
	volatile char room[200];

	room[0] = 1;
	return allocate_here(size) + (uint64_t)(room[0] - 1);
}

__attribute__((noinline)) static uint64_t outer(size_t size)
{
	volatile char room[100];

	room[0] = 1;
	return middle(size) + (uint64_t)(room[0] - 1);
}

static uint64_t left(uint64_t n, int depth);

/* Twenty frames, each in one of two functions: the binary digits of `n`. */
__attribute__((noinline)) static uint64_t right(uint64_t n, int depth)
{
	volatile char room[16];

	room[0] = 2;
	if (!depth)
		return allocate_here(256) + (uint64_t)(room[0] - 2);
	return (n & 1 ? left(n >> 1, depth - 1) : right(n >> 1, depth - 1)) +
	       (uint64_t)(room[0] - 2);
}

__attribute__((noinline)) static uint64_t left(uint64_t n, int depth)
{
	volatile char room[32];

	room[0] = 1;
	if (!depth)
		return allocate_here(256) + (uint64_t)(room[0] - 1);
	return (n & 1 ? left(n >> 1, depth - 1) : right(n >> 1, depth - 1)) +
	       (uint64_t)(room[0] - 1);
}

static void *loaded;

static void through_library(char *path)
{
	uint64_t (*through)(uint64_t(*)(size_t), size_t);

	path[strcspn(path, "\n")] = '\0';
	loaded = dlopen(path, RTLD_NOW);
	through =
		loaded ? (uint64_t(*)(uint64_t(*)(size_t), size_t))dlsym(loaded, "through") : NULL;
	printf("%d\n", !through || !through(outer, 64));
}

/* Next time it is loaded elsewhere: something else is mapped in its place. */
static void unload(void)
{
	printf("%d\n", dlclose(loaded));
	mmap(NULL, 64 << 10, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

static void *release_there(void *handle)
{
	set_current(context);
	release((uint64_t)(uintptr_t)handle);
	return NULL;
}

static void in_child(size_t size)
{
	pid_t pid = fork();
	int status;

	if (!pid) {
		outer(size);
		_exit(3);
	}
	waitpid(pid, &status, 0);
	printf("%d\n", (int)pid);
}

static void in_second(size_t size)
{
	if (create(&second, 0, 0))
		exit(1);
	printf("%#llx\n", (unsigned long long)outer(size));
	set_current(context);
}

static int obey(char *line, char **argv)
{
	uint64_t number = strtoull(line + 1, NULL, 0), handle;
	pthread_t thread;

	switch (line[0]) {
	case 'a': printf("%#llx\n", (unsigned long long)outer(number)); break;
	case 'f': printf("%d\n", release(number)); break;
	case 't':
		pthread_create(&thread, NULL, release_there, (void *)(uintptr_t)number);
		pthread_join(thread, NULL);
		puts("0");
		break;
	case 'x': printf("%d\n", allocate(&handle, 0)); break;
	case 'k': in_child(number); break;
	case 'e': execv("/proc/self/exe", argv); return 1;
	case 'b':
		for (uint64_t i = 0; i < number; i++)
			release(outer(256));
		puts("0");
		break;
	case 'l':
		for (uint64_t i = 0; i < number; i++)
			outer(256);
		puts("0");
		break;
	case 's':
		for (uint64_t i = 0; i < number; i++)
			left(i, 20);
		puts("0");
		break;
	case 'o': through_library(line + 1); break;
	case 'u': unload(); break;
	case 'c': in_second(number); break;
	case 'd': printf("%d\n", destroy(second)); break;
	case 'p': printf("%d\n", (int)getpid()); break;
	case 'q': return 1;
	default: puts("?");
	}
	fflush(stdout);
	return 0;
}

int main(int argc, char **argv)
{
	void *library = dlopen(argc > 1 ? argv[1] : "libcuda.so.1", RTLD_NOW);
	char line[256];

	if (!library) {
		fprintf(stderr, "%s\n", dlerror());
		return 1;
	}
	init = (int (*)(unsigned))dlsym(library, "cuInit");
	create = (int (*)(void **, unsigned, int))dlsym(library, "cuCtxCreate_v2");
	destroy = (int (*)(void *))dlsym(library, "cuCtxDestroy_v2");
	set_current = (int (*)(void *))dlsym(library, "cuCtxSetCurrent");
	allocate = (int (*)(uint64_t *, size_t))dlsym(library, "cuMemAlloc_v2");
	release = (int (*)(uint64_t))dlsym(library, "cuMemFree_v2");
	if (init(0) || create(&context, 0, 0))
		return 1;
	puts("ready");
	fflush(stdout);
	while (fgets(line, sizeof line, stdin))
		if (obey(line, argv))
			break;
	return 0;
}
