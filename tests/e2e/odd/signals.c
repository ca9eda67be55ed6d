/* SPDX-License-Identifier: MIT */
/* signals.c - calls among signals: timers, interrupted system calls, queues, masks, filters. */
#include "odd.h"

#include "../../interrupted.h"

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <ucontext.h>

static volatile sig_atomic_t received;

static void count(int number)
{
	(void)number;
	received++;
}

static void handle(int number, void (*handler)(int), int flags)
{
	struct sigaction action = { .sa_handler = handler, .sa_flags = flags };

	if (sigaction(number, &action, NULL))
		fail("no handler: %m");
}

/* As a profiler does; errno must survive in the calls it interrupts. */
static int profiled(void)
{
	struct itimerval tick = { { 0, 1000 }, { 0, 1000 } }, none = { { 0, 0 }, { 0, 0 } };
	long wrong = 0;

	handle(SIGPROF, count, SA_RESTART);
	setitimer(ITIMER_PROF, &tick, NULL);
	for (long i = 0; received < 20; i++) {
		errno = 77;
		calls(1);
		wrong += errno != 77;
	}
	setitimer(ITIMER_PROF, &none, NULL);
	say("errno changed %ld times", wrong);
	return 0;
}

/* A read that a timer's signal interrupts, or does not. */
static int interrupted(void)
{
	struct itimerval once = { { 0, 0 }, { 0, 20000 } };
	int ends[2];
	char byte;

	if (pipe(ends))
		fail("no pipe: %m");
	handle(SIGALRM, count, 0);
	for (int i = 0; i < 3; i++) {
		calls(2);
		setitimer(ITIMER_REAL, &once, NULL);
		if (read(ends[0], &byte, 1) < 0)
			say("%s", strerror(errno));
		calls(2);
	}
	say("%d signals", (int)received);
	return 0;
}

static int write_end;

static void count_and_write(int number)
{
	count(number);
	calls(1);
	(void)!write(write_end, "x", 1);
}

static int restarted(void)
{
	struct itimerval once = { { 0, 0 }, { 0, 20000 } };
	int ends[2];
	char byte;

	if (pipe(ends))
		fail("no pipe: %m");
	write_end = ends[1];
	handle(SIGALRM, count_and_write, SA_RESTART);
	calls(2);
	setitimer(ITIMER_REAL, &once, NULL);
	say("read %zd after %d signals", read(ends[0], &byte, 1), (int)received);
	return 0;
}

static int by_descriptor(void)
{
	struct signalfd_siginfo info;
	sigset_t set;
	int fd;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigaddset(&set, SIGUSR2);
	sigprocmask(SIG_BLOCK, &set, NULL);
	fd = signalfd(-1, &set, SFD_CLOEXEC);
	raise(SIGUSR2);
	calls(3);
	raise(SIGUSR1);
	calls(3);
	state("pending");
	for (int i = 0; i < 2; i++)
		if (read(fd, &info, sizeof(info)) == sizeof(info))
			say("signal %u", info.ssi_signo);
	return 0;
}

static void say_value(int number, siginfo_t *info, void *unused)
{
	(void)unused;
	calls(1);
	say("signal %d value %d", number - SIGRTMIN, info->si_value.sival_int);
}

/* Queued signals arrive once each and in order. */
static int queued(void)
{
	struct sigaction action = { .sa_sigaction = say_value, .sa_flags = SA_SIGINFO };
	sigset_t all, before;

	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, &before);
	for (int i = 0; i < 6; i++) {
		sigaction(SIGRTMIN + i % 2, &action, NULL);
		sigqueue(getpid(), SIGRTMIN + i % 2, (union sigval){ .sival_int = i });
		calls(1);
	}
	state("blocked");
	sigprocmask(SIG_SETMASK, &before, NULL);
	return 0;
}

static int children_ignored(void)
{
	pid_t child;

	handle(SIGCHLD, SIG_IGN, 0);
	child = fork();
	if (!child) {
		calls(2);
		_exit(3);
	}
	say_end("child", child);
	return 0;
}

static int broken_pipe(void)
{
	int ends[2];

	if (pipe(ends))
		fail("no pipe: %m");
	close(ends[0]);
	handle(SIGPIPE, SIG_IGN, 0);
	calls(2);
	say("write %zd: %s", write(ends[1], "x", 1), strerror(errno));
	handle(SIGPIPE, SIG_DFL, 0);
	calls(2);
	(void)!write(ends[1], "x", 1);
	return 1;
}

/* A child stops itself and is continued, as in a shell's job control. */
static int stopped(void)
{
	pid_t child = fork();
	int status;

	if (!child) {
		for (int i = 0; i < 3; i++) {
			calls(1);
			raise(SIGSTOP);
			calls(1);
		}
		_exit(2);
	}
	for (int i = 0; i < 3; i++) {
		waitpid(child, &status, WUNTRACED);
		say("stopped %d", WIFSTOPPED(status));
		calls(1);
		kill(child, SIGCONT);
	}
	say_end("child", child);
	return 0;
}

static void emulate(int number, siginfo_t *info, void *context)
{
	(void)number;
	received++;
	set_result(context, info->si_syscall == SYS_getppid ? 4711 : -ENOSYS);
}

static void filter(int number, uint32_t action)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)number, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, action),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog fprog = { .len = sizeof(code) / sizeof(*code), .filter = code };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &fprog))
		skip("no seccomp: %m");
}

/* A sandbox that answers system calls itself. */
static int emulated(void)
{
	struct sigaction action = { .sa_sigaction = emulate, .sa_flags = SA_SIGINFO };

	sigaction(SIGSYS, &action, NULL);
	filter(SYS_getppid, SECCOMP_RET_TRAP);
	for (int i = 0; i < 3; i++) {
		calls(2);
		say("parent %ld", syscall(SYS_getppid));
	}
	say("%d system calls", (int)received);
	return 0;
}

/* Files can no longer be opened. */
static int refused(void)
{
	filter(SYS_openat, SECCOMP_RET_ERRNO | EACCES);
	calls(200);
	say("open %d: %s", open("/", O_RDONLY), strerror(errno));
	return 0;
}

static int filtered_to_death(void)
{
	calls(5);
	filter(SYS_socket, SECCOMP_RET_KILL_PROCESS);
	calls(200);
	socket(AF_UNIX, SOCK_STREAM, 0);
	return 1;
}

const struct mode signal_modes[] = {
	{ .name = "profiled", .run = profiled },
	{ .name = "interrupted", .run = interrupted },
	{ .name = "restarted", .run = restarted },
	{ .name = "signal-descriptor", .run = by_descriptor },
	{ .name = "queued-signals", .run = queued },
	{ .name = "children-ignored", .run = children_ignored },
	{ .name = "broken-pipe", .run = broken_pipe },
	{ .name = "stopped", .run = stopped },
	{ .name = "filter-emulates", .run = emulated },
	{ .name = "filter-refuses", .run = refused },
	{ .name = "filter-kills", .run = filtered_to_death },
	{ .name = NULL },
};
