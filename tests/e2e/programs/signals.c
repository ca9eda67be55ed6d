/* SPDX-License-Identifier: MIT */
/*
 * signals: what a wrapper must pass through: streams, exit status, signals, arguments, environment.
 *
 *   --echo          copies stdin to stdout, and its length in bytes to stderr
 *   --exit STATUS   exits with that status
 *   --wait          says "ready", waits for SIGTERM or SIGUSR1, says which came
 *   --raise NUMBER  ends by that signal, with its default action
 *   --env NAME      prints the variable's value, or that it is not set
 *   --cl            makes an OpenCL call first, and leaves nothing behind
 *
 * Other arguments are printed one per line. Prints nothing that differs between two runs.
 */
#include "cl_common.h"

#include <signal.h>
#include <unistd.h>

static void echo(void)
{
	char bytes[65536];
	size_t total = 0;
	ssize_t got;

	while ((got = read(STDIN_FILENO, bytes, sizeof(bytes))) > 0) {
		total += got;
		if (fwrite(bytes, 1, got, stdout) != (size_t)got)
			quit(STATUS_FAILED, "cannot write: %m");
	}
	fflush(stdout);
	fprintf(stderr, "read %zu bytes\n", total);
}

/* The signals were blocked at the start of main(): one that comes early is not lost. */
static void wait_for_signal(const sigset_t *set)
{
	int number;

	puts("ready");
	fflush(stdout);
	if (sigwait(set, &number))
		quit(STATUS_FAILED, "cannot wait for a signal");
	printf("got %s\n", number == SIGTERM ? "SIGTERM" : "SIGUSR1");
}

int main(int argc, char **argv)
{
	bool wait = arg_flag(&argc, argv, "--wait");
	bool echoes = arg_flag(&argc, argv, "--echo");
	bool cl = arg_flag(&argc, argv, "--cl");
	long status = arg_number(&argc, argv, "--exit", STATUS_OK);
	long raised = arg_number(&argc, argv, "--raise", 0);
	const char *platform = arg_take(&argc, argv, "--platform");
	const char *variable = arg_take(&argc, argv, "--env");
	sigset_t set;

	if (wait) {
		sigemptyset(&set);
		sigaddset(&set, SIGTERM);
		sigaddset(&set, SIGUSR1);
		sigprocmask(SIG_BLOCK, &set, NULL);
	}
	if (cl)
		MUST(clReleaseContext(cl_context_on(cl_pick(platform))));
	for (int i = 1; i < argc; i++)
		printf("argument %d: %s\n", i, argv[i]);
	if (variable) {
		const char *value = getenv(variable);

		printf("%s %s%s\n", variable, value ? "= " : "is not set", value ? value : "");
	}
	puts("a line on stdout");
	fflush(stdout);
	fputs("a line on stderr\n", stderr);
	if (echoes)
		echo();
	if (wait)
		wait_for_signal(&set);
	fflush(stdout);
	if (raised) {
		signal((int)raised, SIG_DFL); /* PoCL's compiler has handlers of its own */
		raise((int)raised);
	}
	return (int)status;
}
