/* SPDX-License-Identifier: MIT */
/* held_signals.c - writing without being killed for it. */
#include "base/held_signals.h"

#include <errno.h>
#include <pthread.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static void the_signals(sigset_t *set)
{
	sigemptyset(set);
	sigaddset(set, SIGXFSZ);
	sigaddset(set, SIGPIPE);
}

void gt_signals_hold(struct gt_held_signals *q)
{
	sigset_t ours;

	the_signals(&ours);
	sigpending(&q->pending);
	pthread_sigmask(SIG_BLOCK, &ours, &q->before);
}

void gt_signals_release(const struct gt_held_signals *q)
{
	static const struct timespec at_once;
	int saved = errno;
	sigset_t now, ours;

	the_signals(&ours);
	sigpending(&now);
	/* one that was pending before is the program's own */
	if (sigismember(&q->pending, SIGXFSZ) || !sigismember(&now, SIGXFSZ))
		sigdelset(&ours, SIGXFSZ);
	if (sigismember(&q->pending, SIGPIPE) || !sigismember(&now, SIGPIPE))
		sigdelset(&ours, SIGPIPE);
	if (sigismember(&ours, SIGXFSZ) || sigismember(&ours, SIGPIPE))
		while (sigtimedwait(&ours, NULL, &at_once) >= 0)
			;
	pthread_sigmask(SIG_SETMASK, &q->before, NULL);
	errno = saved;
}

bool gt_write_may_signal(int fd)
{
	struct rlimit limit;
	struct stat st;

	return fstat(fd, &st) || !S_ISREG(st.st_mode) || getrlimit(RLIMIT_FSIZE, &limit) ||
	       limit.rlim_cur != RLIM_INFINITY;
}

ssize_t gt_write_without_signals(int fd, const void *data, size_t size, bool needed)
{
	struct gt_held_signals quiet;
	ssize_t n;

	if (needed)
		gt_signals_hold(&quiet);
	do
		n = write(fd, data, size);
	while (n < 0 && errno == EINTR);
	if (needed)
		gt_signals_release(&quiet);
	return n;
}
