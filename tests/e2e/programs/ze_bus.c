/* SPDX-License-Identifier: MIT */
/*
 * ze_bus.c - children whose traces are shortened while they make calls; SIGBUS of a program's own.
 *
 * --children N		how many, one after another (0); --threads T of each make calls
 * --recording FOLDER	of which the parent shortens their traces at random moments
 * --handler WHAT	none (default), chain: installed after the first call, calls the one before
 *it
 * --pause WHAT		shortened between calls, not during them, in children that: own: handle
 *SIGBUS since before the first call, block: block it, replace: handle it since the first
 * --end WHAT		return (default), or as SIGBUS does: fault, kill, queue, thread
 *
 * Prints how the children ended. Exit status 0: all of them by themselves.
 */
#include "ze_common.h"

#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>

enum { CALLS_AFTER = 300, PAUSE_US = 40000, THREADS_MAX = 8 };

static struct ze ze;
static ze_context_handle_t context;
static const char *recording = "", *handler = "none", *pausing = "", *ending = "return";
static int threads = 1;

/* Shared with the child. */
static struct {
	_Atomic int calls, is_cut, is_paused;
} * shared;

static struct sigaction before;

static void chain(int number, siginfo_t *info, void *where)
{
	before.sa_sigaction(number, info, where);
}

static void fail(int number)
{
	(void)number;
	_exit(9);
}

static void one(void)
{
	ze_device_mem_alloc_desc_t desc = { .stype = ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC };
	void *p;

	CHECK(zeMemAllocDevice, context, &desc, 64, 64, ze.device, &p);
	CHECK(zeMemFree, context, p);
	shared->calls++;
}

static void handle(void (*action)(int), void (*chained)(int, siginfo_t *, void *))
{
	struct sigaction new = { .sa_handler = action };

	if (chained) {
		new.sa_sigaction = chained;
		new.sa_flags = SA_SIGINFO;
	}
	sigaction(SIGBUS, &new, &before);
}

static void *calls(void *unused)
{
	while (!shared->is_cut)
		one();
	for (int i = 0; i < CALLS_AFTER; i++)
		one();
	return unused;
}

static void pauses(void)
{
	sigset_t bus;

	sigemptyset(&bus);
	sigaddset(&bus, SIGBUS);
	if (!strcmp(pausing, "own"))
		handle(fail, NULL);
	if (!strcmp(pausing, "block"))
		pthread_sigmask(SIG_BLOCK, &bus, NULL);
	one();
	if (!strcmp(pausing, "replace")) {
		handle(fail, NULL);
		/* until the recorder needs more space, and looks */
		for (int i = 0; i < 200000; i++)
			one();
	}
	shared->is_paused = 1;
	while (!shared->is_cut)
		usleep(100);
	for (int i = 0; i < CALLS_AFTER; i++)
		one();
}

static void child(void)
{
	pthread_t others[THREADS_MAX];

	shared->calls = shared->is_cut = shared->is_paused = 0;
	if (*pausing) {
		pauses();
		_exit(0);
	}
	/* a child has its parent's handler */
	one();
	if (!strcmp(handler, "chain"))
		handle(NULL, chain);
	for (int i = 1; i < threads; i++)
		pthread_create(&others[i], NULL, calls, NULL);
	calls(NULL);
	for (int i = 1; i < threads; i++)
		pthread_join(others[i], NULL);
	_exit(0);
}

static int cut_one(unsigned *random, int *signals, int *failures)
{
	static const off_t sizes[] = { 0, 4096, 8192, 100 };
	char path[4096];
	pid_t pid;
	int status;

	shared->calls = shared->is_paused = shared->is_cut = 0;
	pid = fork();
	if (!pid)
		child();
	snprintf(path, sizeof path, "%s/%d.trace", recording, (int)pid);
	while (!waitpid(pid, &status, WNOHANG)) {
		if (shared->is_cut || (*pausing ? !shared->is_paused : shared->calls < 2)) {
			usleep(100);
			continue;
		}
		*random = *random * 1664525u + 1013904223u;
		usleep(*random >> 24);
		if (truncate(path, sizes[*random >> 20 & 3]))
			return -1;
		if (*pausing)
			usleep(PAUSE_US);
		shared->is_cut = 1;
	}
	*signals += WIFSIGNALED(status);
	*failures += WIFEXITED(status) && WEXITSTATUS(status);
	return 0;
}

static void *fault(void *unused)
{
	int fd = memfd_create("empty", MFD_CLOEXEC);
	volatile char *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	*page = 1;
	return unused;
}

static void end(void)
{
	struct rlimit no_core = { 0, 0 };
	pthread_t other;

	setrlimit(RLIMIT_CORE, &no_core);
	prctl(PR_SET_DUMPABLE, 0);
	if (!strcmp(ending, "fault"))
		fault(NULL);
	if (!strcmp(ending, "kill"))
		kill(getpid(), SIGBUS);
	if (!strcmp(ending, "queue"))
		sigqueue(getpid(), SIGBUS, (union sigval){ .sival_int = 5 });
	if (!strcmp(ending, "thread") && !pthread_create(&other, NULL, fault, NULL))
		pthread_join(other, NULL);
}

int main(int argc, char **argv)
{
	ze_context_desc_t desc = { .stype = ZE_STRUCTURE_TYPE_CONTEXT_DESC };
	int children = 0, signals = 0, failures = 0;
	unsigned random = 1;

	for (int i = 1; i + 1 < argc; i += 2) {
		if (!strcmp(argv[i], "--children"))
			children = atoi(argv[i + 1]);
		else if (!strcmp(argv[i], "--threads"))
			threads = atoi(argv[i + 1]);
		else if (!strcmp(argv[i], "--recording"))
			recording = argv[i + 1];
		else if (!strcmp(argv[i], "--handler"))
			handler = argv[i + 1];
		else if (!strcmp(argv[i], "--pause"))
			pausing = argv[i + 1];
		else if (!strcmp(argv[i], "--end"))
			ending = argv[i + 1];
	}
	shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		      0);
	/* children have their parent's handler, or none */
	if (!strcmp(pausing, "own"))
		handle(fail, NULL);
	ze_open(&ze);
	CHECK(zeContextCreate, ze.driver, &desc, &context);
	for (int i = 0; i < children; i++)
		if (cut_one(&random, &signals, &failures)) {
			perror("cannot shorten a trace");
			return 3;
		}
	printf("%d children: %d ended by a signal, %d failed\n", children, signals, failures);
	fflush(stdout);
	end();
	return signals || failures;
}
