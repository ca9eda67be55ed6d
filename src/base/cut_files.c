/* cut_files.c - survives files that are cut short while they are mapped. */
#include "base/cut_files.h"

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

void gt_cut_files_survive(void)
{
	struct sigaction action = { .sa_sigaction = put_zeroes, .sa_flags = SA_SIGINFO }, before;

	page_size = (uintptr_t)sysconf(_SC_PAGESIZE);
	/* one that is ignored stays so in the programs that we start */
	if (!sigaction(SIGBUS, NULL, &before) && before.sa_handler == SIG_DFL)
		sigaction(SIGBUS, &action, NULL);
}
