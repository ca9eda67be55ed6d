/* SPDX-License-Identifier: MIT */
/*
 * ze_next_descriptor.c - prints the number of each file it opens, before, between and after calls.
 *
 * --room	at the end also the number of files it can open
 */
#include "ze_common.h"

#include <pthread.h>
#include <sys/wait.h>

static ze_context_handle_t context;
static struct ze ze;

static void open_one(const char *when)
{
	printf("%s %d\n", when, open("/dev/null", O_RDONLY | O_CLOEXEC));
	fflush(stdout);
}

static void call(void)
{
	ze_event_pool_desc_t desc = { .stype = ZE_STRUCTURE_TYPE_EVENT_POOL_DESC, .count = 1 };
	ze_event_pool_handle_t pool;

	CHECK(zeEventPoolCreate, context, &desc, 0, NULL, &pool);
	CHECK(zeEventPoolDestroy, pool);
}

static void *in_thread(void *unused)
{
	call();
	open_one("in a thread");
	return unused;
}

int main(int argc, char **argv)
{
	ze_context_desc_t desc = { .stype = ZE_STRUCTURE_TYPE_CONTEXT_DESC };
	pthread_t thread;
	int files = 0;
	pid_t child;

	(void)argv;
	open_one("first");
	ze_open(&ze);
	open_one("with the driver");
	CHECK(zeContextCreate, ze.driver, &desc, &context);
	open_one("after a call");
	for (int i = 0; i < 5000; i++) /* the trace grows */
		call();
	open_one("after many calls");
	if (pthread_create(&thread, NULL, in_thread, NULL) || pthread_join(thread, NULL))
		return 2;
	child = fork();
	if (!child) {
		call();
		open_one("in a child");
		_exit(0);
	}
	waitpid(child, NULL, 0);
	CHECK(zeContextDestroy, context);
	open_one("last");
	while (argc > 1 && open("/dev/null", O_RDONLY | O_CLOEXEC) >= 0)
		files++;
	if (argc > 1)
		printf("room for %d\n", files);
	return 0;
}
