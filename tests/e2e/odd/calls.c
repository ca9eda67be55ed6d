/* SPDX-License-Identifier: MIT */
/* calls.c - calls, how many were made by which processes, and lines for the harness. */
#include "odd.h"

#include "../../call_on.h"

#include <stdarg.h>
#include <sys/mman.h>
#include <sys/wait.h>

enum { PIDS = 1022 };

/* As the harness reads it: test_odd.py. */
static struct counts {
	int64_t begun, ended, pid_count;
	int64_t pids[PIDS];
} * counts;

int say_to = STDOUT_FILENO;

void counts_open(void)
{
	const char *path = getenv("ODD_COUNTS");
	static struct counts own;
	int fd;

	if (counts)
		return;
	counts = &own;
	fd = path ? open(path, O_RDWR | O_CLOEXEC) : -1;
	if (fd < 0)
		return;
	counts = mmap(NULL, sizeof(*counts), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (counts == MAP_FAILED)
		fail("cannot map %s: %m", path);
	close(fd);
}

/* The pid that the harness sees, if the process is in a namespace of its own. */
static int64_t outer_pid(void)
{
	char name[32] = "";

	return readlink("/proc/self", name, sizeof(name) - 1) > 0 ? atol(name) : getpid();
}

static void add_pid(void)
{
	static pid_t known;
	int64_t pid, n;

	if (getpid() == known)
		return;
	known = getpid();
	pid = outer_pid();
	n = __atomic_load_n(&counts->pid_count, __ATOMIC_SEQ_CST);
	for (int64_t i = 0; i < n && i < PIDS; i++)
		if (counts->pids[i] == pid)
			return;
	n = __atomic_fetch_add(&counts->pid_count, 1, __ATOMIC_SEQ_CST);
	if (n < PIDS)
		counts->pids[n] = pid;
}

void count_begin(void)
{
	counts_open();
	add_pid();
	__atomic_fetch_add(&counts->begun, 1, __ATOMIC_SEQ_CST);
}

void count_end(void)
{
	__atomic_fetch_add(&counts->ended, 1, __ATOMIC_SEQ_CST);
}

__attribute__((noinline)) void calls(int n)
{
	while (n-- > 0)
		door_release(door_create());
}

void say(const char *format, ...)
{
	char line[8192];
	va_list list;
	int n;

	va_start(list, format);
	n = vsnprintf(line, sizeof(line) - 1, format, list);
	va_end(list);
	line[n++] = '\n';
	if (write(say_to, line, (size_t)n) != n)
		_exit(99);
}

static void complain(const char *format, va_list list)
{
	char line[512];
	int n = vsnprintf(line, sizeof(line) - 1, format, list);

	line[n++] = '\n';
	(void)!write(STDERR_FILENO, line, (size_t)n);
}

void fail(const char *format, ...)
{
	va_list list;

	va_start(list, format);
	complain(format, list);
	va_end(list);
	_exit(98);
}

void skip(const char *format, ...)
{
	va_list list;

	va_start(list, format);
	complain(format, list);
	va_end(list);
	_exit(SKIPPED);
}

void say_end(const char *who, pid_t child)
{
	int status;

	if (child < 0)
		fail("%s cannot be started: %m", who);
	while (waitpid(child, &status, 0) < 0)
		if (errno != EINTR) {
			say("%s: %s", who, strerror(errno));
			return;
		}
	if (WIFSIGNALED(status))
		say("%s: signal %d", who, WTERMSIG(status));
	else
		say("%s: status %d", who, WEXITSTATUS(status));
}
