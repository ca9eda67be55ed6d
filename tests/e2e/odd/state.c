/* SPDX-License-Identifier: MIT */
/* state.c - what a recorder must leave alone, as the process sees it. */
#include "odd.h"

#include <dirent.h>
#include <dlfcn.h>
#include <sched.h>
#include <stdarg.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>

/* The recorder's own descriptors: at 500, or in the upper half below a lower limit. */
enum { OWN_FIRST = 500 };

/* What `gputrack run` sets, doc/man/run.scd. */
static const char *const set_by_run[] = { "GPUTRACK_",
					  "OPENCL_LAYERS=",
					  "ZE_ENABLE_VALIDATION",
					  "LD_LIBRARY_PATH=",
					  "CUDA_INJECTION64_PATH=",
					  "NVTX_INJECTION64_PATH=",
					  "LD_PRELOAD=",
					  "ASAN_OPTIONS=",
					  "ODD_COUNTS=",
					  "ZEL_",
					  "_=",
					  "PWD=",
					  "OLDPWD=",
					  "SHLVL=" };

static char line[6000];
static size_t used;

__attribute__((format(printf, 1, 2))) static void add(const char *format, ...)
{
	va_list list;

	va_start(list, format);
	used += (size_t)vsnprintf(line + used, sizeof(line) - used, format, list);
	va_end(list);
}

static void add_descriptors(void)
{
	struct rlimit limit;
	DIR *folder = opendir("/proc/self/fd");
	bool is_open[OWN_FIRST] = { false };
	int own = OWN_FIRST, next;

	getrlimit(RLIMIT_NOFILE, &limit);
	if (limit.rlim_cur <= OWN_FIRST)
		own = (int)(limit.rlim_cur / 2);
	add(" fds");
	for (struct dirent *e; folder && (e = readdir(folder));)
		if (e->d_name[0] != '.' && atoi(e->d_name) < own &&
		    atoi(e->d_name) != dirfd(folder))
			is_open[atoi(e->d_name)] = true;
	for (int i = 0; i < own; i++)
		if (is_open[i])
			add(" %d", i);
	if (folder)
		closedir(folder);
	next = open("/", O_RDONLY | O_CLOEXEC | O_DIRECTORY);
	add(" next %d", next);
	close(next);
}

/* SIGBUS, where the program leaves it alone: doc/reliability.md. */
static bool is_recorders(const struct sigaction *action)
{
	Dl_info info;

	return action->sa_flags & SA_SIGINFO && dladdr((void *)action->sa_sigaction, &info) &&
	       info.dli_fname && strstr(info.dli_fname, "libgputrack");
}

static void add_signals(void)
{
	struct sigaction action;
	sigset_t mask, pending;
	stack_t stack;

	add(" handlers");
	for (int i = 1; i < NSIG; i++)
		if (!sigaction(i, NULL, &action) && action.sa_handler != SIG_DFL &&
		    !(i == SIGBUS && is_recorders(&action)))
			add(" %d:%s:%x", i, action.sa_handler == SIG_IGN ? "ignored" : "own",
			    (unsigned)action.sa_flags);
	sigprocmask(SIG_BLOCK, NULL, &mask);
	sigpending(&pending);
	for (int i = 1; i < NSIG; i++)
		if (sigismember(&mask, i) > 0 || sigismember(&pending, i) > 0)
			add(" %s%d", sigismember(&pending, i) > 0 ? "pending" : "blocked", i);
	sigaltstack(NULL, &stack);
	add(" altstack %zu:%x", stack.ss_size, (unsigned)stack.ss_flags);
}

static void add_limits(void)
{
	struct itimerval timer;
	struct rlimit limit;
	cpu_set_t cpus;
	mode_t mask = umask(0);

	umask(mask);
	add(" umask %o limits", (unsigned)mask);
	for (int i = 0; i < RLIM_NLIMITS; i++)
		if (!getrlimit((__rlimit_resource_t)i, &limit))
			add(" %lld/%lld", (long long)limit.rlim_cur, (long long)limit.rlim_max);
	sched_getaffinity(0, sizeof(cpus), &cpus);
	add(" nice %d cpus %d", getpriority(PRIO_PROCESS, 0), CPU_COUNT(&cpus));
	for (int i = ITIMER_REAL; i <= ITIMER_PROF; i++)
		if (!getitimer((__itimer_which_t)i, &timer) && timer.it_interval.tv_usec)
			add(" timer%d %ld", i, (long)timer.it_interval.tv_usec);
}

static void add_process(void)
{
	char name[17] = "", where[4096] = "";
	int death = 0, threads = 0;
	DIR *folder = opendir("/proc/self/task");

	for (struct dirent *e; folder && (e = readdir(folder));)
		threads += e->d_name[0] != '.';
	if (folder)
		closedir(folder);
	if (getenv("GPUTRACK_TEST_QEMU"))
		threads = 0; /* it has some of its own */
	prctl(PR_GET_NAME, name);
	prctl(PR_GET_PDEATHSIG, &death);
	if (!getcwd(where, sizeof(where)))
		strcpy(where, "/gone");
	add(" threads %d name %s dumpable %d death %d no-new %d users %d/%d groups %d/%d "
	    "folder %s",
	    threads, name, prctl(PR_GET_DUMPABLE), death, prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0),
	    (int)getuid(), (int)geteuid(), (int)getgid(), (int)getegid(), strrchr(where, '/') + 1);
}

static void add_environment(void)
{
	unsigned sum = 0, count = 0;

	for (char **e = environ; e && *e; e++) {
		bool is_ours = false;
		unsigned one = 0;

		for (size_t i = 0; i < sizeof(set_by_run) / sizeof(*set_by_run); i++)
			is_ours |= !strncmp(*e, set_by_run[i], strlen(set_by_run[i]));
		if (is_ours)
			continue;
		count++;
		/* in whatever order: qemu turns it round */
		for (const char *p = *e; *p; p++)
			one = one * 31 + (unsigned char)*p;
		sum += one;
	}
	add(" environment %u:%08x", count, sum);
}

void state(const char *where)
{
	int saved = errno;

	used = 0;
	add("%s:", where);
	add_descriptors();
	add_signals();
	add_limits();
	add_process();
	add_environment();
	errno = saved;
	say("%s", line);
}
