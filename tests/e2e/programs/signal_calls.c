/* SPDX-License-Identifier: MIT */
/*
 * signal_calls: makes OpenCL calls in a signal handler while the thread it stops makes them too.
 *
 * --layer FILE, --rounds N (default 20000) of the main loop, --track with the live objects tracked.
 * The driver is that of fake_table.h, which a handler may call: real ones take locks and would wait
 * for themselves. The handler sets the timer anew, so that a slow machine gets its work done too.
 */
#include "fake_table.h"

#include <signal.h>
#include <sys/time.h>

static const cl_icd_dispatch *table;
static volatile long handler_rounds, handler_failures;
static volatile sig_atomic_t over;

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

static void on_timer(int number)
{
	cl_event event;

	(void)number;
	if (over)
		return;
	event = table->clCreateUserEvent(NULL, NULL);
	if (event && table->clReleaseEvent(event) == CL_SUCCESS)
		handler_rounds++;
	else
		handler_failures++;
	set_timer();
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

	arg_none_left(argc, argv);
	table = layer_open(path);
	if (tracked)
		start_tracking();
	sigaction(SIGALRM, &on, NULL);
	set_timer();
	/* until the handler, too, has had its share of turns */
	while (made < rounds || handler_rounds < 1000) {
		make_and_release();
		made++;
	}
	over = 1;
	printf("creates %ld in the handler %ld\n", made + handler_rounds, handler_rounds);
	return handler_failures ? STATUS_FAILED : STATUS_OK;
}
