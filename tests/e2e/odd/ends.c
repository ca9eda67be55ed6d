/* SPDX-License-Identifier: MIT */
/* ends.c - calls before main and after it, and ways to end. */
#include "odd.h"

#include <sys/resource.h>

static bool is_mode(const char *name)
{
	FILE *file = fopen("/proc/self/cmdline", "r");
	char text[4096] = "";
	size_t length = file ? fread(text, 1, sizeof(text) - 1, file) : 0;

	if (file)
		fclose(file);
	return strlen(text) + 1 < length && !strcmp(text + strlen(text) + 1, name);
}

static bool is_around;

__attribute__((constructor)) static void before_main(void)
{
	is_around = is_mode("around-main");
	if (!is_around)
		return;
	door_open();
	calls(3);
	say("before main");
}

__attribute__((destructor)) static void after_main(void)
{
	if (!is_around)
		return;
	calls(3);
	say("after main");
}

static void at_exit(void)
{
	calls(2);
	say("at exit");
}

static int around_main(void)
{
	calls(1);
	atexit(at_exit);
	state("main");
	return 3;
}

static int by_exit(void)
{
	atexit(at_exit);
	exit(5);
}

static int by__exit(void)
{
	calls(5);
	_exit(6);
}

static void at_quick_exit_(void)
{
	calls(2);
	say("at quick exit");
}

static int by_quick_exit(void)
{
	at_quick_exit(at_quick_exit_);
	calls(1);
	quick_exit(7);
}

static void no_core(void)
{
	struct rlimit none = { 0, 0 };

	setrlimit(RLIMIT_CORE, &none);
}

static void on_abort(int number)
{
	calls(1);
	say("signal %d", number);
}

static int by_abort(void)
{
	no_core();
	signal(SIGABRT, on_abort);
	calls(3);
	abort();
}

static int by_crash(void)
{
	no_core();
	calls(3);
	*(volatile int *)8 = 1;
	return 0;
}

static int by_crash_in_call(void)
{
	no_core();
	calls(3);
	door_crash();
	return 0;
}

static int by_signal(void)
{
	calls(3);
	raise(SIGTERM);
	return 0;
}

static int by_kill(void)
{
	calls(3);
	raise(SIGKILL);
	return 0;
}

static void exit_here(int number)
{
	calls(1);
	exit(number);
}

static int exit_in_handler(void)
{
	signal(SIGUSR2, exit_here);
	raise(SIGUSR2);
	return 1;
}

const struct mode end_modes[] = {
	{ .name = "around-main", .run = around_main, .opens_itself = true },
	{ .name = "exit", .run = by_exit },
	{ .name = "_exit", .run = by__exit },
	{ .name = "quick-exit", .run = by_quick_exit },
	{ .name = "abort", .run = by_abort },
	{ .name = "crash", .run = by_crash },
	{ .name = "crash-in-call", .run = by_crash_in_call },
	{ .name = "terminated", .run = by_signal },
	{ .name = "killed", .run = by_kill },
	{ .name = "exit-in-handler", .run = exit_in_handler },
	{ .name = NULL },
};
