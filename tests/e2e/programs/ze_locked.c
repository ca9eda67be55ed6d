/* SPDX-License-Identifier: MIT */
/*
 * ze_locked.c - calls on stacks of many shapes and in threads that end; locked down if asked to.
 *
 * --threads N			threads, one after another (0)
 * --calls N			allocations and frees per thread (100)
 * --filter none|kill|trap	from the first call on, every system call but a few ends the process
 *				(kill) or raises SIGSYS, whose handler prints its number (trap)
 * --allow NUMBER		may be repeated: another system call that is allowed
 *
 * Prints how many allocations were made. Threads run one after another, so that the test driver,
 * which no sanitizer has seen, gives none of them a reason to report a race.
 */
#include "lock_down.h"
#include "ze_common.h"

#include <pthread.h>

enum { DEPTH_MAX = 12 };

static struct ze ze;
static ze_context_handle_t context;
static long calls = 100, made;

static void one(void)
{
	ze_device_mem_alloc_desc_t desc = { .stype = ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC };
	void *p;

	TRACKED(zeMemAllocDevice, p, 64, "memory", context, &desc, 64, 64, ze.device, &p);
	TRACKED(zeMemFree, p, 64, "memory", context, p);
	__atomic_add_fetch(&made, 1, __ATOMIC_RELAXED);
}

/* Each value of `turns` gives another stack. */
__attribute__((noinline)) static void descend(unsigned turns, int depth)
{
	if (!depth)
		one();
	else if (turns & 1)
		descend(turns >> 1, depth - 1);
	else
		descend(turns >> 1, depth - 1 - (depth > 1));
	__asm__ volatile("" ::: "memory"); /* no tail call */
}

static void *work(void *unused)
{
	for (long i = 0; i < calls; i++)
		descend((unsigned)i * 2654435761u >> 16, (int)(i % DEPTH_MAX));
	return unused;
}

int main(int argc, char **argv)
{
	ze_context_desc_t desc = { .stype = ZE_STRUCTURE_TYPE_CONTEXT_DESC };
	const char *filter = "none";
	long threads = 0;
	char line[64];
	int n;

	for (int i = 1; i < argc; i++) {
		if (!strcmp(argv[i], "--threads"))
			threads = atol(ze_value(argc, argv, &i));
		else if (!strcmp(argv[i], "--calls"))
			calls = atol(ze_value(argc, argv, &i));
		else if (!strcmp(argv[i], "--filter"))
			filter = ze_value(argc, argv, &i);
		else if (!strcmp(argv[i], "--allow"))
			allow(atoi(ze_value(argc, argv, &i)));
		else
			return ze_usage(argv[0],
					"[--threads N] [--calls N] [--filter none|kill|trap] "
					"[--allow NUMBER]...");
	}
	ze_open(&ze);
	CHECK(zeContextCreate, ze.driver, &desc, &context);
	one();
	lock_down(filter);
	work(NULL);
	for (long i = 0; i < threads; i++) {
		pthread_t thread;

		if (pthread_create(&thread, NULL, work, NULL))
			return 2;
		pthread_join(thread, NULL);
	}
	CHECK(zeContextDestroy, context);
	/* stdio would ask what kind of file this is */
	n = snprintf(line, sizeof(line), "made %ld\n", made);
	return write(STDOUT_FILENO, line, (size_t)n) != n;
}
