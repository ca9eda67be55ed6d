/* SPDX-License-Identifier: MIT */
/*
 * endings WAY leak|clean: leaves a context and 12288 bytes of device memory alive, or nothing, and
 * ends as WAY says. doc/endings.md has a row for each.
 *
 * wait:    prints "ready", and ends by itself when a line comes or stdin is closed
 * pause:   waits to be killed
 * until:   waits until its recording's time is over, then creates and destroys one more context
 * many N:  creates and destroys N events before it ends by itself
 * orphan:  a child waits until its parent has ended, then does the work and ends by itself
 */
#include "ze_common.h"

#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/mman.h>
#include <time.h>

enum { SIZE = 12288 };

static struct ze ze;
static ze_context_handle_t context;
static void *memory;
static bool leaks;
static sem_t is_made;

#ifdef HAVE_THROW
void throw_exception(void); /* endings_throw.cpp */
#endif

static void make(void)
{
	ze_context_desc_t desc = { .stype = ZE_STRUCTURE_TYPE_CONTEXT_DESC };
	ze_device_mem_alloc_desc_t how = { .stype = ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC };

	CHECK(zeContextCreate, ze.driver, &desc, &context);
	CHECK(zeMemAllocDevice, context, &how, SIZE, 64, ze.device, &memory);
	if (leaks)
		return;
	CHECK(zeMemFree, context, memory);
	CHECK(zeContextDestroy, context);
}

static void *work(void *unused)
{
	(void)unused;
	make();
	sem_post(&is_made);
	for (;;)
		pause();
	return NULL;
}

/* The thread that made it still runs; it would have released it later. */
static void by_busy__exit(void)
{
	pthread_t thread;

	if (sem_init(&is_made, 0, 0) || pthread_create(&thread, NULL, work, NULL))
		exit(2);
	while (sem_wait(&is_made))
		;
	_exit(0);
}

/* Any thread may join the first one. */
static void *make_last(void *main_thread)
{
	pthread_join(*(pthread_t *)main_thread, NULL);
	make();
	return NULL;
}

static void by_last_thread(void)
{
	static pthread_t main_thread;
	pthread_t thread;

	main_thread = pthread_self();
	if (pthread_create(&thread, NULL, make_last, &main_thread))
		exit(2);
	pthread_exit(NULL);
}

static void by_memory(void)
{
	for (;;) {
		void *block = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE,
				   MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

		if (block == MAP_FAILED)
			exit(2);
	}
}

static void by_waiting(void)
{
	char line[8];

	make();
	puts("ready");
	fflush(stdout);
	(void)!fgets(line, sizeof line, stdin);
	exit(0);
}

/* GPUTRACK_UNTIL is how `gputrack run --duration` tells the recorder. */
static void wait_until_over(void)
{
	const char *until = getenv("GPUTRACK_UNTIL");
	ze_context_desc_t desc = { .stype = ZE_STRUCTURE_TYPE_CONTEXT_DESC };
	ze_context_handle_t own;
	struct timespec now;

	do {
		usleep(10000);
		clock_gettime(CLOCK_MONOTONIC, &now);
	} while (until && now.tv_sec * 1000000000ll + now.tv_nsec <= atoll(until));
	CHECK(zeContextCreate, ze.driver, &desc, &own);
	CHECK(zeContextDestroy, own);
}

static void in_orphan(void)
{
	pid_t parent = getpid();

	if (fork())
		_exit(0);
	while (getppid() == parent)
		usleep(1000);
	make();
	exit(0);
}

/* It reads what it is told to read. */
static void crash_in_driver(void)
{
	ze_event_pool_desc_t *nowhere = (ze_event_pool_desc_t *)(uintptr_t)64;
	ze_context_desc_t desc = { .stype = ZE_STRUCTURE_TYPE_CONTEXT_DESC };
	ze_event_pool_handle_t pool;
	ze_context_handle_t own;

	CHECK(zeContextCreate, ze.driver, &desc, &own);
	zeEventPoolCreate(own, nowhere, 0, NULL, &pool);
}

static void make_many(const char *count)
{
	ze_context_desc_t desc = { .stype = ZE_STRUCTURE_TYPE_CONTEXT_DESC };
	ze_event_pool_desc_t pool_desc = { .stype = ZE_STRUCTURE_TYPE_EVENT_POOL_DESC, .count = 1 };
	ze_event_desc_t event_desc = { .stype = ZE_STRUCTURE_TYPE_EVENT_DESC };
	ze_event_pool_handle_t pool;
	ze_context_handle_t own;
	ze_event_handle_t event;

	CHECK(zeContextCreate, ze.driver, &desc, &own);
	CHECK(zeEventPoolCreate, own, &pool_desc, 0, NULL, &pool);
	for (long i = atol(count); i > 0; i--) {
		CHECK(zeEventCreate, pool, &event_desc, &event);
		CHECK(zeEventDestroy, event);
	}
	CHECK(zeEventPoolDestroy, pool);
	CHECK(zeContextDestroy, own);
}

int main(int argc, char **argv)
{
	const char *way = argc > 2 ? argv[1] : "";
	char *const next[] = { (char *)"true", NULL };

	if (argc < 3)
		return ze_usage(argv[0], "WAY leak|clean [N]");
	leaks = !strcmp(argv[2], "leak");
	if (!strcmp(way, "orphan")) {
		ze_open(&ze);
		in_orphan();
	}
	ze_open(&ze);
	if (!strcmp(way, "_exit-busy"))
		by_busy__exit();
	if (!strcmp(way, "last-thread"))
		by_last_thread();
	if (!strcmp(way, "wait"))
		by_waiting();
	make();
	if (!strcmp(way, "many"))
		make_many(argv[3]);
	else if (!strcmp(way, "until"))
		wait_until_over();
	else if (!strcmp(way, "pause"))
		pause();
	else if (!strcmp(way, "exit"))
		exit(0);
	else if (!strcmp(way, "_exit"))
		_exit(0);
	else if (!strcmp(way, "quick_exit"))
		quick_exit(0);
	else if (!strcmp(way, "exec"))
		execvp(next[0], next);
#ifdef HAVE_THROW
	else if (!strcmp(way, "throw"))
		throw_exception();
#endif
	else if (!strcmp(way, "abort"))
		abort();
	else if (!strcmp(way, "driver-segv"))
		crash_in_driver();
	else if (!strcmp(way, "term"))
		raise(SIGTERM);
	else if (!strcmp(way, "kill"))
		raise(SIGKILL);
	else if (!strcmp(way, "oom"))
		by_memory();
	else if (strcmp(way, "return"))
		return ze_usage(argv[0], "WAY leak|clean [N]");
	return 0;
}
