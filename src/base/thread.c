/* SPDX-License-Identifier: MIT */
/* thread.c - threads of the tool. */
#include "base/thread.h"

#include <signal.h>

int gt_thread_start(pthread_t *thread, void *(*run)(void *), void *context)
{
	sigset_t all, before;
	int e;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	e = pthread_create(thread, NULL, run, context);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return e;
}
