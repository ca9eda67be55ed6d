/* SPDX-License-Identifier: MIT */
/*
 * crowd: many threads and forks at once, over the driver of fake_table.h, which holds no locks.
 *
 * --layer FILE
 * --forks N    four threads make and release events, with other stacks each time, so that each is
 *              unwound the long way and defined; N children are forked meanwhile, each of which
 *              leaves three of its own
 * --threads N  N threads that are all alive at once; each makes an event and releases it
 * --cancels N  N threads, one after another, that make and release events until they are cancelled,
 *              which they may be between two rounds alone
 * --vforks N   N children of vfork, in each of which an event is made before it executes `true`
 */
#include "fake_table.h"

#include <pthread.h>
#include <sys/wait.h>

static const cl_icd_dispatch *table;
static pthread_barrier_t together;
static volatile bool over;
static long made[4];

static cl_event make(void)
{
	cl_event event = table->clCreateUserEvent(NULL, NULL);

	if (!event)
		quit(STATUS_FAILED, "the fake driver has run out of events");
	return event;
}

/* From one of two places for each bit of `way`: as many stacks as there are ways. */
/* NOLINTNEXTLINE(misc-no-recursion) */
__attribute__((noinline)) static void make_and_release(unsigned long way, int bits)
{
	if (!bits) {
		table->clReleaseEvent(make());
	} else if (way & 1) {
		make_and_release(way >> 1, bits - 1);
		__asm__ volatile("# odd");
	} else {
		make_and_release(way >> 1, bits - 1);
		__asm__ volatile("# even");
	}
}

static void *work(void *count)
{
	while (!over)
		make_and_release((unsigned long)++*(long *)count * 7919, 16);
	return NULL;
}

static void *meet(void *unused)
{
	cl_event event;

	pthread_barrier_wait(&together);
	event = make();
	table->clReleaseEvent(event);
	pthread_barrier_wait(&together);
	return unused;
}

static void await(pid_t pid)
{
	int status;

	if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFEXITED(status) || WEXITSTATUS(status))
		quit(STATUS_FAILED, "a child did not end well");
}

static void fork_many(long forks)
{
	pthread_t threads[4];
	long sum = 0;

	for (int i = 0; i < 4; i++)
		pthread_create(&threads[i], NULL, work, &made[i]);
	for (long i = 0; i < forks; i++) {
		pid_t pid = fork();

		if (!pid) {
			for (int k = 0; k < 3; k++)
				make();
			_exit(0);
		}
		await(pid);
	}
	over = true;
	for (int i = 0; i < 4; i++) {
		pthread_join(threads[i], NULL);
		sum += made[i];
	}
	printf("made %ld\n", sum);
}

static void meet_many(long count)
{
	pthread_t *threads = calloc((size_t)count, sizeof(*threads));
	pthread_attr_t small;

	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, 256 << 10);
	pthread_barrier_init(&together, NULL, (unsigned)count);
	for (long i = 0; i < count; i++)
		if (pthread_create(&threads[i], &small, meet, NULL))
			quit(STATUS_SKIPPED, "no more threads to be had here");
	for (long i = 0; i < count; i++)
		pthread_join(threads[i], NULL);
	free(threads);
	printf("made %ld\n", count);
}

static void *work_until_cancelled(void *count)
{
	for (;;) {
		table->clReleaseEvent(make());
		++*(long *)count;
		pthread_testcancel();
	}
	return NULL;
}

static void cancel_many(long count)
{
	for (long i = 0; i < count; i++) {
		volatile long *done = &made[0];
		long before = *done;
		pthread_t thread;

		pthread_create(&thread, NULL, work_until_cancelled, &made[0]);
		while (*done < before + 10)
			sched_yield();
		pthread_cancel(thread);
		pthread_join(thread, NULL);
		table->clReleaseEvent(make());
		made[1]++;
	}
	printf("made %ld\n", made[0] + made[1]);
}

/* A function of its own: what it has in registers must survive the child. */
__attribute__((noinline)) static pid_t vfork_one(void)
{
	pid_t pid = vfork();

	if (!pid) {
		table->clReleaseEvent(table->clCreateUserEvent(NULL, NULL));
		execl("/bin/true", "true", NULL);
		_exit(1);
	}
	return pid;
}

static void vfork_many(long count)
{
	for (long i = 0; i < count; i++) {
		await(vfork_one());
		table->clReleaseEvent(make());
	}
	printf("made %ld\n", count);
}

int main(int argc, char **argv)
{
	const char *path = arg_take(&argc, argv, "--layer");
	long forks = arg_number(&argc, argv, "--forks", 0);
	long threads = arg_number(&argc, argv, "--threads", 0);
	long cancels = arg_number(&argc, argv, "--cancels", 0);
	long vforks = arg_number(&argc, argv, "--vforks", 0);

	arg_none_left(argc, argv);
	table = layer_open(path);
	if (forks)
		fork_many(forks);
	if (threads)
		meet_many(threads);
	if (cancels)
		cancel_many(cancels);
	if (vforks)
		vfork_many(vforks);
	return STATUS_OK;
}
