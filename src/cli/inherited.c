/* SPDX-License-Identifier: MIT */
/* inherited.c - what a program that we start must find as we found it. */
#include "cli/inherited.h"

#include <signal.h>
#include <stdbool.h>
#include <sys/resource.h>

static const int signals[] = { SIGCHLD, SIGINT, SIGTERM, SIGHUP };
enum { SIGNALS = sizeof signals / sizeof *signals };

static struct rlimit files;
static bool has_files, is_ignored[SIGNALS];

void gt_inherited_take(void)
{
	struct sigaction before;

	/* readers of recordings raise it: trace/recording.c */
	has_files = !getrlimit(RLIMIT_NOFILE, &files);
	for (int i = 0; i < SIGNALS; i++)
		is_ignored[i] =
			!sigaction(signals[i], NULL, &before) && before.sa_handler == SIG_IGN;
	/* whoever ignores it is never told how a child ended */
	signal(SIGCHLD, SIG_DFL);
}

void gt_inherited_heed(int number, void (*handler)(int))
{
	struct sigaction on = { .sa_handler = handler }, before;

	if (!sigaction(number, NULL, &before) && before.sa_handler != SIG_IGN)
		sigaction(number, &on, NULL);
}

void gt_inherited_give(void)
{
	struct rlimit now;

	if (has_files && !getrlimit(RLIMIT_NOFILE, &now) && now.rlim_cur != files.rlim_cur) {
		now.rlim_cur = files.rlim_cur;
		setrlimit(RLIMIT_NOFILE, &now);
	}
	for (int i = 0; i < SIGNALS; i++)
		signal(signals[i], is_ignored[i] ? SIG_IGN : SIG_DFL);
}
