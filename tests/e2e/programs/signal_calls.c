/* SPDX-License-Identifier: MIT */
/*
 * signal_calls: makes OpenCL calls in a signal handler while the thread it stops makes them too.
 *
 * --layer FILE, --rounds N (default 20000) of the main loop, --track with the live objects tracked,
 * --malloc: the thread allocates memory instead, and the handler's calls have ever new stacks.
 * The driver is that of fake_table.h, which a handler may call: real ones take locks and would wait
 * for themselves. The handler sets the timer anew, so that a slow machine gets its work done too.
 */
#include "fake_table.h"

#include <pthread.h>
#include <signal.h>
#include <sys/time.h>

static const cl_icd_dispatch *table;
static volatile long handler_rounds, handler_failures;
static volatile sig_atomic_t over;
static bool in_malloc;

static void make_and_release(void)
{
	cl_event event = table->clCreateUserEvent(NULL, NULL);

	if (!event || table->clReleaseEvent(event) != CL_SUCCESS)
		quit(STATUS_FAILED, "the fake driver has run out of events");
}

static void set_timer(void)
{
	const struct itimerval soon = { .it_value = { .tv_usec = 50 } };

	setitimer(ITIMER_REAL, &soon, NULL);
}

static void handle(void)
{
	cl_event event = table->clCreateUserEvent(NULL, NULL);

	if (event && table->clReleaseEvent(event) == CL_SUCCESS)
		handler_rounds++;
	else
		handler_failures++;
}

static void turn(unsigned long way, int depth);

__attribute__((noinline)) static void left(unsigned long way, int depth)
{
	turn(way, depth);
	__asm__ volatile("");
}

__attribute__((noinline)) static void right(unsigned long way, int depth)
{
	turn(way, depth);
	__asm__ volatile("");
}

/* Each number leads to the calls on another way. */
__attribute__((noinline)) static void turn(unsigned long way, int depth)
{
	if (!depth)
		handle();
	else if (way & 1)
		left(way >> 1, depth - 1);
	else
		right(way >> 1, depth - 1);
	__asm__ volatile("");
}

static void on_timer(int number)
{
	(void)number;
	if (over)
		return;
	if (in_malloc)
		turn((unsigned long)handler_rounds, 12);
	else
		handle();
	set_timer();
}

/* Large enough for malloc to take its lock, which it does as soon as there is a second thread. */
static void allocate(void)
{
	static void *blocks[64];
	static unsigned int next;
	void **block = &blocks[next++ % 64];

	free(*block);
	*block = malloc(1100 + next % 7 * 1000);
}

static void *wait_for_end(void *unused)
{
	while (!over)
		usleep(10000);
	return unused;
}

static void start_tracking(void)
{
	void(CL_API_CALL * track)(cl_platform_id);
	void *address = table->clGetExtensionFunctionAddress("clTrackLiveObjectsIntelFPGA");

	if (!address)
		quit(STATUS_FAILED, "the layer does not know the extension");
	memcpy(&track, &address, sizeof(track));
	track((cl_platform_id)&fake_platform);
}

int main(int argc, char **argv)
{
	const char *path = arg_take(&argc, argv, "--layer");
	long rounds = arg_number(&argc, argv, "--rounds", 20000), made = 0;
	bool tracked = arg_flag(&argc, argv, "--track");
	struct sigaction on = { .sa_handler = on_timer, .sa_flags = SA_RESTART };
	sigset_t timer;
	pthread_t other;

	in_malloc = arg_flag(&argc, argv, "--malloc");
	arg_none_left(argc, argv);
	table = layer_open(path);
	if (tracked)
		start_tracking();
	sigaction(SIGALRM, &on, NULL);
	sigemptyset(&timer);
	sigaddset(&timer, SIGALRM);
	pthread_sigmask(SIG_BLOCK, &timer, NULL);
	if (in_malloc && pthread_create(&other, NULL, wait_for_end, NULL))
		quit(STATUS_FAILED, "no second thread");
	pthread_sigmask(SIG_UNBLOCK, &timer, NULL);
	set_timer();
	/* until the handler, too, has had its share of turns */
	while (made < rounds || handler_rounds < 1000) {
		if (in_malloc)
			allocate();
		else
			make_and_release();
		made += !in_malloc;
		rounds -= in_malloc;
	}
	over = 1;
	if (in_malloc)
		pthread_join(other, NULL);
	printf("creates %ld in the handler %ld\n", made + handler_rounds, handler_rounds);
	return handler_failures ? STATUS_FAILED : STATUS_OK;
}
