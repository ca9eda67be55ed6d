/* SPDX-License-Identifier: MIT */
/* bus_guard.c - survives stores to a trace that was shortened, or whose disk has failed. */
#include "guest/bus_guard.h"

#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "trace/window.h"

static void reset(void)
{
	struct sigaction action;

	memset(&action, 0, sizeof action);
	action.sa_handler = SIG_DFL;
	sigaction(SIGBUS, &action, NULL);
}

/* Sent by the kernel for an instruction that is repeated when the handler returns. */
static bool is_fault(const siginfo_t *info)
{
	return info->si_code > 0 && info->si_code != SI_KERNEL && info->si_code != BUS_MCEERR_AO;
}

/*
 * What is not ours ends the process as if we were not here: a fault happens again, with the same
 * address and the program's registers; any other signal is sent again with all that came with it,
 * and arrives when the handler has returned.
 */
static void on_bus_error(int number, siginfo_t *info, void *context)
{
	int saved = errno;

	(void)context;
	if (!is_fault(info) || !gt_window_recover(info->si_addr)) {
		reset();
		if (!is_fault(info))
			syscall(SYS_rt_tgsigqueueinfo, getpid(), syscall(SYS_gettid), number, info);
	}
	errno = saved;
}

void gt_bus_guard_start(void)
{
	struct sigaction action, before;

	if (sigaction(SIGBUS, NULL, &before) || before.sa_flags & SA_SIGINFO ||
	    before.sa_handler != SIG_DFL)
		return;
	memset(&action, 0, sizeof action);
	action.sa_sigaction = on_bus_error;
	/* on the stack for signals where there is one: the program's may be small */
	action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART;
	/* a handler that made a call meanwhile could not be guarded */
	sigfillset(&action.sa_mask);
	sigaction(SIGBUS, &action, NULL);
}

/* The kernel's own forms: those of the C library take 500 bytes of a stack that may be small. */
bool gt_bus_guard_is_on(void)
{
	struct {
		void (*handler)(int number, siginfo_t *info, void *context);
		unsigned long flags;
		void (*restorer)(void);
		uint64_t mask;
	} now;

	return !syscall(SYS_rt_sigaction, SIGBUS, NULL, &now, sizeof now.mask) &&
	       now.flags & SA_SIGINFO && now.handler == on_bus_error;
}

bool gt_bus_guard_is_blocked(void)
{
	uint64_t blocked;

	return syscall(SYS_rt_sigprocmask, SIG_SETMASK, NULL, &blocked, sizeof blocked) ||
	       blocked >> (SIGBUS - 1) & 1;
}
