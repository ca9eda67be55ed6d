/* inherited.c - what a program that we start must find as we found it. */
#include "cli/inherited.h"

#include <signal.h>
#include <stdbool.h>
#include <sys/resource.h>

static struct rlimit files;
static bool has_files, ignores_children;

void gt_inherited_take(void)
{
	struct sigaction children;

	/* readers of recordings raise it: trace/recording.c */
	has_files = !getrlimit(RLIMIT_NOFILE, &files);
	ignores_children = !sigaction(SIGCHLD, NULL, &children) && children.sa_handler == SIG_IGN;
	/* whoever ignores it is never told how a child ended */
	if (ignores_children)
		signal(SIGCHLD, SIG_DFL);
}

void gt_inherited_give(void)
{
	struct rlimit now;

	if (has_files && !getrlimit(RLIMIT_NOFILE, &now) && now.rlim_cur != files.rlim_cur) {
		now.rlim_cur = files.rlim_cur;
		setrlimit(RLIMIT_NOFILE, &now);
	}
	if (ignores_children)
		signal(SIGCHLD, SIG_IGN);
}
