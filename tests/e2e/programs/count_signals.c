/* SPDX-License-Identifier: MIT */
/*
 * count_signals.c - prints its pid, then, after SIGUSR2, how often it received each signal.
 *
 * With an argument it leaves the process group first.
 */
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

static const int numbers[] = { SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGUSR1, SIGWINCH, SIGCONT };
static const char *const names[] = { "TERM", "INT", "HUP", "QUIT", "USR1", "WINCH", "CONT" };
enum { COUNT = sizeof numbers / sizeof *numbers };

static volatile sig_atomic_t received[64], done;

static void count(int number)
{
	received[number]++;
}

static void stop(int number)
{
	(void)number;
	done = 1;
}

int main(int argc, char **argv)
{
	struct sigaction on = { .sa_handler = count, .sa_flags = SA_RESTART };
	sigset_t held, before;

	(void)argv;
	if (argc > 1)
		setsid();
	for (int i = 0; i < COUNT; i++)
		sigaction(numbers[i], &on, NULL);
	on.sa_handler = stop;
	sigaction(SIGUSR2, &on, NULL);
	sigemptyset(&held);
	sigaddset(&held, SIGUSR2);
	sigprocmask(SIG_BLOCK, &held, &before);
	for (;;) {
		printf("%d\n", (int)getpid());
		fflush(stdout);
		while (!done)
			sigsuspend(&before);
		for (int i = 0; i < COUNT; i++)
			if (received[numbers[i]]) {
				printf("%s %d ", names[i], (int)received[numbers[i]]);
				received[numbers[i]] = 0;
			}
		putchar('\n');
		if (argc > 2)
			return 0;
		done = 0;
	}
}
