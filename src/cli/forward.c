/* SPDX-License-Identifier: MIT */
/*
 * forward.c - passes the signals that we receive on to the program that we run, each once.
 *
 * A signal does not tell whether it was sent to us alone or to our whole process group, where the
 * program received it as well (Ctrl-C, `kill -- -PGID`, timeout). So a witness, a process that does
 * nothing else, stands in the group: what it receives too went to the group, and only what it does
 * not receive is forwarded. timeout sends each signal twice, first to us and then to the group, so
 * the witness waits for a moment before it forwards.
 */
#include "cli/forward.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static const int forwarded[] = { SIGINT,  SIGQUIT, SIGTERM,  SIGHUP, SIGUSR1,
				 SIGUSR2, SIGALRM, SIGWINCH, SIGCONT };
enum { FORWARDED = sizeof forwarded / sizeof *forwarded };

/* What our handler writes to the witness. */
struct message {
	int signal;
	pid_t sender;
};

volatile sig_atomic_t gt_stopped;

static void stop(int number)
{
	gt_stopped = number;
}

void gt_stop_on(int number)
{
	sigaction(number, &(struct sigaction){ .sa_handler = stop }, NULL);
}

void gt_stop_unless_ignored(int number)
{
	struct sigaction before;

	if (!sigaction(number, NULL, &before) && before.sa_handler != SIG_IGN)
		gt_stop_on(number);
}

static struct {
	struct sigaction before[FORWARDED];
	pid_t witness; /* -1: none could be started */
} state;

/* For the handler. */
static volatile sig_atomic_t program_pid, to_witness = -1;

/* A group signal that we were told of late, because the machine is busy, is still the same one. */
static const unsigned long long OWED_NS = 1000000000;

void gt_witness_see(struct gt_witness_signal *s, pid_t sender, unsigned long long now_ns)
{
	bool is_same = s->told_ns && s->told_by == sender;

	s->owed = !is_same;
	if (is_same)
		s->told_ns = 0;
	s->seen_ns = now_ns;
	s->seen_by = sender;
}

void gt_witness_tell(struct gt_witness_signal *s, pid_t sender, bool is_in_group,
		     unsigned long long now_ns)
{
	unsigned long long covered_ns = s->owed ? OWED_NS : GT_WITNESS_WAIT_NS;

	if (is_in_group && s->seen_ns && s->seen_by == sender && now_ns - s->seen_ns < covered_ns) {
		s->owed = false;
	} else if (!s->told_ns) { /* otherwise they are one, as pending signals are */
		s->told_ns = now_ns;
		s->told_by = is_in_group ? sender : -1;
	}
}

bool gt_witness_is_due(struct gt_witness_signal *s, unsigned long long now_ns)
{
	if (!s->told_ns || now_ns - s->told_ns < GT_WITNESS_WAIT_NS)
		return false;
	s->told_ns = 0;
	return true;
}

static unsigned long long now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (unsigned long long)t.tv_sec * 1000000000 + (unsigned long long)t.tv_nsec;
}

static int index_of(int signal)
{
	for (int i = 0; i < FORWARDED; i++)
		if (forwarded[i] == signal)
			return i;
	return -1;
}

/* `pkill gputrack` and `pkill -f` must not find the witness: they mean us, not the group. */
static void rename_witness(void)
{
	char line[4096];
	int fd = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? 0 : read(fd, line, sizeof line);
	char *name = program_invocation_name;

	if (fd >= 0)
		close(fd);
	prctl(PR_SET_NAME, "signal-witness");
	/* the kernel shows the memory that argv points to */
	if (n <= 0 || (size_t)n <= strlen(name) || strcmp(line, name))
		return;
	memset(name, 0, (size_t)n);
	snprintf(name, (size_t)n, "signal-witness");
}

/* Keeps no file open, so that nobody who waits for the end of a pipe waits for the witness. */
static int keep_only(int fd)
{
	if (dup2(fd, 0) < 0)
		return -1;
	if (close_range(1, ~0U, 0))
		for (int i = 1; i < 1024; i++)
			close(i);
	return 0;
}

static void read_seen(int fd, struct gt_witness_signal *signals)
{
	struct signalfd_siginfo info;

	while (read(fd, &info, sizeof info) == sizeof info)
		if (index_of((int)info.ssi_signo) >= 0)
			gt_witness_see(&signals[index_of((int)info.ssi_signo)], (pid_t)info.ssi_pid,
				       now());
}

/* False when the tool has ended or needs the witness no longer. */
static bool read_told(struct gt_witness_signal *signals, pid_t program)
{
	struct message m;
	ssize_t n = read(0, &m, sizeof m);

	if (n != sizeof m)
		return n < 0 && errno == EINTR;
	if (index_of(m.signal) < 0)
		return true;
	gt_witness_tell(&signals[index_of(m.signal)], m.sender, getpgid(program) == getpgrp(),
			now());
	return true;
}

static void witness(int from_tool, pid_t program)
{
	struct gt_witness_signal signals[FORWARDED] = { { 0 } };
	struct pollfd fds[2] = { { .fd = 0, .events = POLLIN }, { .events = POLLIN } };
	sigset_t all;

	/* it stops with the group, so that it sees no signal before we and the program do */
	sigfillset(&all);
	sigdelset(&all, SIGTSTP);
	sigdelset(&all, SIGTTIN);
	sigdelset(&all, SIGTTOU);
	sigprocmask(SIG_SETMASK, &all, NULL);
	rename_witness();
	if (keep_only(from_tool))
		return;
	fds[1].fd = signalfd(-1, &all, SFD_CLOEXEC | SFD_NONBLOCK);
	for (;;) {
		unsigned long long now_ns;
		bool waits = false;

		for (int i = 0; i < FORWARDED; i++)
			waits |= signals[i].told_ns != 0;
		poll(fds, 2, waits ? 5 : -1);
		read_seen(fds[1].fd, signals);
		if (fds[0].revents && !read_told(signals, program))
			return;
		/* once more: what came to the group before this moment is not to be forwarded */
		read_seen(fds[1].fd, signals);
		now_ns = now();
		for (int i = 0; i < FORWARDED; i++)
			if (gt_witness_is_due(&signals[i], now_ns))
				kill(program, forwarded[i]);
	}
}

static void forward(int signal, siginfo_t *info, void *context)
{
	struct message m = { .signal = signal, .sender = info->si_pid };
	bool typed =
		info->si_code > 0 && (signal == SIGINT || signal == SIGQUIT || signal == SIGWINCH);
	int saved = errno;

	(void)context;
	if (info->si_code > 0) /* the kernel's own, which has no sender */
		m.sender = 0;
	if (signal == SIGTERM || signal == SIGINT || signal == SIGHUP)
		gt_stopped = signal;
	/* the terminal signals its foreground group, and nobody who has left it */
	if (!typed && to_witness >= 0)
		(void)!write(to_witness, &m, sizeof m);
	else if (!typed && program_pid > 0)
		kill((pid_t)program_pid, signal);
	errno = saved;
}

static void start_witness(pid_t program)
{
	int ends[2];

	state.witness = -1;
	if (pipe2(ends, O_CLOEXEC))
		return;
	state.witness = fork();
	if (!state.witness) {
		close(ends[1]);
		witness(ends[0], program);
		_exit(0);
	}
	close(ends[0]);
	if (state.witness < 0) {
		close(ends[1]);
		return;
	}
	fcntl(ends[1], F_SETFL, O_NONBLOCK);
	to_witness = ends[1];
}

void gt_forward_hold(sigset_t *mask)
{
	sigset_t held;

	sigemptyset(&held);
	for (int i = 0; i < FORWARDED; i++)
		sigaddset(&held, forwarded[i]);
	sigprocmask(SIG_BLOCK, &held, mask);
}

void gt_forward_begin(pid_t program, const sigset_t *mask)
{
	struct sigaction on = { .sa_sigaction = forward, .sa_flags = SA_RESTART | SA_SIGINFO };

	sigfillset(&on.sa_mask); /* one after the other, in their order */
	start_witness(program);
	program_pid = program;
	for (int i = 0; i < FORWARDED; i++) {
		sigaction(forwarded[i], NULL, &state.before[i]);
		/* a signal that was ignored when we started is ignored by the program too */
		if (state.before[i].sa_handler != SIG_IGN)
			sigaction(forwarded[i], &on, NULL);
	}
	sigprocmask(SIG_SETMASK, mask, NULL);
}

void gt_forward_end(pid_t program)
{
	int fd = to_witness;
	siginfo_t info;

	/* not reaped before the witness is gone: it must not signal another process of that pid */
	while (waitid(P_PID, (id_t)program, &info, WEXITED | WNOWAIT) && errno == EINTR)
		;
	program_pid = 0;
	/* what comes from now on is for us */
	for (int i = 0; i < FORWARDED; i++)
		sigaction(forwarded[i], &state.before[i], NULL);
	to_witness = -1;
	if (fd < 0)
		return;
	close(fd);
	while (waitpid(state.witness, NULL, 0) < 0 && errno == EINTR)
		;
}
