/* SPDX-License-Identifier: MIT */
/* threads.c - threads that end in unusual ways, or are many. */
#include "odd.h"

#include <pthread.h>
#include <semaphore.h>
#include <sys/wait.h>

static pthread_key_t key;
static sem_t ready, released;
static pthread_barrier_t barrier;

static int number(int i, int otherwise)
{
	for (int n = 0; n <= i; n++)
		if (!arguments[n])
			return otherwise;
	return atoi(arguments[i]);
}

static pthread_t start(void *(*fn)(void *), void *with)
{
	pthread_attr_t attr;
	pthread_t thread;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 256 << 10);
	errno = pthread_create(&thread, &attr, fn, with);
	if (errno)
		fail("no thread: %m");
	return thread;
}

static void *call(void *unused)
{
	calls(1);
	return unused;
}

static int in_sequence(void)
{
	int count = number(0, 300);

	for (int i = 0; i < count; i++)
		pthread_join(start(call, NULL), NULL);
	say("%d threads", count);
	return 0;
}

static void *call_together(void *unused)
{
	pthread_barrier_wait(&barrier);
	calls(1);
	pthread_barrier_wait(&barrier);
	return unused;
}

static int at_once(void)
{
	int count = number(0, 100);
	pthread_t *all = calloc((size_t)count, sizeof(*all));

	pthread_barrier_init(&barrier, NULL, (unsigned)count);
	for (int i = 0; i < count; i++)
		all[i] = start(call_together, NULL);
	for (int i = 0; i < count; i++)
		pthread_join(all[i], NULL);
	free(all);
	say("%d threads", count);
	return 0;
}

static void unlock(void *unused)
{
	(void)unused;
	calls(1);
}

static void *wait_for_ever(void *unused)
{
	pthread_cleanup_push(unlock, NULL);
	calls(1);
	sem_post(&ready);
	for (;;)
		pause();
	pthread_cleanup_pop(1);
	return unused;
}

/* A thread that may be cancelled in any call that waits, while it makes calls of the API. */
static void *call_for_ever(void *unused)
{
	pthread_cleanup_push(unlock, NULL);
	for (int i = 0;; i++) {
		calls(1);
		if (i == 10)
			sem_post(&ready);
		pthread_testcancel();
	}
	pthread_cleanup_pop(1);
	return unused;
}

static int cancelled(void)
{
	sem_init(&ready, 0, 0);
	for (int i = 0; i < 6; i++) {
		pthread_t thread = start(i % 2 ? wait_for_ever : call_for_ever, NULL);
		void *result;

		sem_wait(&ready);
		pthread_cancel(thread);
		pthread_join(thread, &result);
		say("%s", result == PTHREAD_CANCELED ? "cancelled" : "ended");
	}
	return 0;
}

static void *last(void *main_thread)
{
	pthread_join(*(pthread_t *)main_thread, NULL);
	calls(5);
	say("the last thread ends");
	return NULL;
}

static int main_thread_exits(void)
{
	static pthread_t self;

	self = pthread_self();
	start(last, &self);
	pthread_exit(NULL);
}

static void release_value(void *object)
{
	door_release(object);
	calls(1);
}

static void *keep_value(void *unused)
{
	pthread_setspecific(key, door_create());
	return unused;
}

static int key_destructors(void)
{
	if (pthread_key_create(&key, release_value))
		fail("no key");
	for (int i = 0; i < 20; i++)
		pthread_join(start(keep_value, NULL), NULL);
	return 0;
}

static void *outlive(void *unused)
{
	calls(5);
	sem_post(&ready);
	sem_wait(&released);
	return unused;
}

static int outlived(void)
{
	sem_init(&ready, 0, 0);
	sem_init(&released, 0, 0);
	for (int i = 0; i < 4; i++)
		pthread_detach(start(outlive, NULL));
	for (int i = 0; i < 4; i++)
		sem_wait(&ready);
	return 6;
}

static void *fork_in_thread(void *unused)
{
	pid_t child;

	calls(2);
	child = fork();
	if (!child) {
		calls(3);
		pthread_join(start(call, NULL), NULL);
		exit(4);
	}
	say_end("child", child);
	return unused;
}

static int forks_in_threads(void)
{
	for (int i = 0; i < 4; i++)
		pthread_join(start(fork_in_thread, NULL), NULL);
	return 0;
}

static void *exit_in_thread(void *unused)
{
	calls(2);
	exit(9);
	return unused;
}

static int exits_in_thread(void)
{
	pthread_join(start(exit_in_thread, NULL), NULL);
	return 1;
}

const struct mode thread_modes[] = {
	{ .name = "threads-in-sequence", .run = in_sequence },
	{ .name = "threads-at-once", .run = at_once },
	{ .name = "cancelled", .run = cancelled },
	{ .name = "main-thread-exits", .run = main_thread_exits },
	{ .name = "key-destructors", .run = key_destructors },
	{ .name = "outlived", .run = outlived },
	{ .name = "forks-in-threads", .run = forks_in_threads },
	{ .name = "exit-in-thread", .run = exits_in_thread },
	{ .name = NULL },
};
