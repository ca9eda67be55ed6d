/* SPDX-License-Identifier: MIT */
/* survive.c - survives files that are cut short while they are mapped, or may not grow. */
#include "base/survive.h"

#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

static uintptr_t page_size;

static void put_zeroes(int number, siginfo_t *info, void *context)
{
	int saved = errno;
	void *page = (void *)((uintptr_t)info->si_addr & ~(page_size - 1));

	(void)context;
	/* sent by somebody, a broken memory or our own mistake: it comes again, and ends us */
	if (info->si_code != BUS_ADRERR ||
	    mmap(page, page_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED,
		 -1, 0) == MAP_FAILED) {
		signal(number, SIG_DFL);
		if (info->si_code <= 0)
			raise(number);
	}
	errno = saved;
}

/* The write that it came of fails. */
static void go_on(int number, siginfo_t *info, void *context)
{
	(void)number;
	(void)info;
	(void)context;
}

/* A handler, which is gone in programs that we start; what is ignored stays so in them. */
static void handle(int number, void (*handler)(int, siginfo_t *, void *))
{
	struct sigaction action = { .sa_sigaction = handler, .sa_flags = SA_SIGINFO | SA_RESTART };
	struct sigaction before;

	if (!sigaction(number, NULL, &before) && before.sa_handler == SIG_DFL)
		sigaction(number, &action, NULL);
}

void gt_survive_files(void)
{
	page_size = (uintptr_t)sysconf(_SC_PAGESIZE);
	handle(SIGBUS, put_zeroes);
	handle(SIGXFSZ, go_on);
}
