/* SPDX-License-Identifier: MIT */
/* launch.c - starts the traced program and waits for it as if we were not there. */
#include "cli/launch.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/inherited.h"

static volatile sig_atomic_t child, was_told;

static void pass_on(int signal, siginfo_t *info, void *context)
{
	int saved = errno;
	bool typed = (signal == SIGINT || signal == SIGQUIT) && info->si_code > 0;

	(void)context;
	if (signal == SIGTERM || signal == SIGINT || signal == SIGHUP)
		was_told = 1;
	/* what was typed at the terminal went to the program as well */
	if (child > 0 && !typed)
		kill((pid_t)child, signal);
	errno = saved;
}

/*
 * What a keyboard sends goes to the whole group, so the program has it already: we only have to
 * outlive it. The rest is passed on.
 */
static const int passed[] = { SIGINT,  SIGQUIT, SIGTERM,  SIGHUP, SIGUSR1,
			      SIGUSR2, SIGALRM, SIGWINCH, SIGCONT };
enum { PASSED = sizeof passed / sizeof *passed };

static void take_signals(struct sigaction before[PASSED])
{
	struct sigaction on = { .sa_sigaction = pass_on, .sa_flags = SA_RESTART | SA_SIGINFO };

	for (int i = 0; i < PASSED; i++) {
		sigaction(passed[i], NULL, &before[i]);
		/* a signal that was ignored when we started is ignored by the program too */
		if (before[i].sa_handler != SIG_IGN)
			sigaction(passed[i], &on, NULL);
	}
}

/* Signals that come before we know whom to pass them on to wait until we do. */
static void hold_signals(sigset_t *mask)
{
	sigset_t held;

	sigemptyset(&held);
	for (int i = 0; i < PASSED; i++)
		sigaddset(&held, passed[i]);
	sigprocmask(SIG_BLOCK, &held, mask);
}

void gt_launch_explain(struct gt_error *error, const char *program, int why)
{
	/* a name without a slash is looked for in PATH, where this folder is not */
	bool is_here = why == ENOENT && !strchr(program, '/') && !access(program, F_OK);

	if (is_here && !access(program, X_OK))
		gt_error_set(error, 0,
			     "cannot run %s: it is not in PATH; the one in this folder "
			     "is ./%s",
			     program, program);
	else if (is_here)
		gt_error_set(error, 0,
			     "cannot run %s: it is not in PATH, and the one in this "
			     "folder is no program; if it is a script, name what runs it first, "
			     "as in `python3 %s`",
			     program, program);
	else
		gt_error_set(error, 0, "cannot run %s: %s; check its name and permissions", program,
			     strerror(why));
}

/*
 * Why the child never became the program, told through a pipe that exec closes; before that, an
 * empty text when it is prepared. It goes on when `wait` is closed.
 */
static void child_main(const struct gt_launch *launch, int tell, int wait)
{
	struct gt_error error = { "" };
	char nothing;

	if (!launch->prepare(launch->context, &error)) {
		(void)!write(tell, "", 1);
		(void)!read(wait, &nothing, 1);
		gt_inherited_give();
		execvp(launch->argv[0], launch->argv);
		gt_launch_explain(&error, launch->argv[0], errno);
		launch->undo(launch->context);
	}
	(void)!write(tell, error.text, strlen(error.text));
	_exit(127);
}

static int make_pipes(int tell[2], int wait[2], struct gt_error *error)
{
	int e;

	if (!pipe2(tell, O_CLOEXEC)) {
		if (!pipe2(wait, O_CLOEXEC))
			return 0;
		e = errno;
		close(tell[0]);
		close(tell[1]);
		errno = e;
	}
	return gt_error_set(error, -1, "cannot make a pipe: %s", strerror(errno));
}

static ssize_t read_some(int fd, char *text, size_t size)
{
	ssize_t n;

	do
		n = read(fd, text, size);
	while (n < 0 && errno == EINTR);
	return n;
}

/* True when the program runs; otherwise why it does not. Closes both. */
static bool see_it_begin(const struct gt_launch *launch, pid_t pid, int tell, int wait,
			 struct gt_error *error)
{
	ssize_t n = read_some(tell, error->text, 1);
	bool is_prepared = n == 1 && !error->text[0];
	size_t had = n == 1 && !is_prepared;

	if (is_prepared && launch->prepared)
		launch->prepared(launch->context, pid);
	close(wait);
	n = read_some(tell, error->text + had, sizeof error->text - 1 - had);
	close(tell);
	had += n > 0 ? (size_t)n : 0;
	error->text[had] = '\0';
	return !had;
}

int gt_launch(const struct gt_launch *launch, pid_t *pid, struct gt_error *error)
{
	struct sigaction before[PASSED];
	int tell[2], wait[2], status = -1;
	sigset_t mask;
	bool runs;

	*pid = -1;
	if (make_pipes(tell, wait, error))
		return -1;
	hold_signals(&mask);
	*pid = fork();
	if (*pid < 0) {
		sigprocmask(SIG_SETMASK, &mask, NULL);
		close(tell[0]);
		close(tell[1]);
		close(wait[0]);
		close(wait[1]);
		return gt_error_set(error, -1, "cannot fork: %s", strerror(errno));
	}
	if (!*pid) {
		sigprocmask(SIG_SETMASK, &mask, NULL);
		close(tell[0]);
		close(wait[1]);
		child_main(launch, tell[1], wait[0]);
	}
	child = *pid;
	take_signals(before);
	sigprocmask(SIG_SETMASK, &mask, NULL);
	close(tell[1]);
	close(wait[0]);
	runs = see_it_begin(launch, *pid, tell[0], wait[1], error);
	if (runs && launch->started)
		launch->started(launch->context, *pid);
	while (waitpid(*pid, &status, 0) < 0 && errno == EINTR)
		;
	child = 0;
	/* the report can be interrupted again */
	for (int i = 0; i < PASSED; i++)
		sigaction(passed[i], &before[i], NULL);
	if (runs && status < 0)
		gt_error_set(error, -1, "cannot wait for %s: %s", launch->argv[0], strerror(errno));
	return runs ? status : -1;
}

bool gt_launch_was_told(void)
{
	return was_told;
}

void gt_launch_die_by(int number)
{
	const struct rlimit none = { 0, 0 };
	sigset_t one;

	setrlimit(RLIMIT_CORE, &none);
	/* where cores go into a pipe, no limit holds */
	prctl(PR_SET_DUMPABLE, 0);
	signal(number, SIG_DFL);
	sigemptyset(&one);
	sigaddset(&one, number);
	sigprocmask(SIG_UNBLOCK, &one, NULL);
	raise(number);
}
