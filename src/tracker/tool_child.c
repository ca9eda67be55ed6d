/* SPDX-License-Identifier: MIT */
/* tool_child.c - the gputrack program, as a child of the traced process that raises no SIGCHLD. */
#include "tracker/tool_child.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/guest_file.h"

/* The program of this library: where GPUTRACK_TOOL says, beside the library, or in its prefix. */
static bool find_tool(char path[PATH_MAX])
{
	static const char *const places[] = { "gputrack", "../gputrack", "../../bin/gputrack",
					      "../../../bin/gputrack" };
	const char *configured = secure_getenv("GPUTRACK_TOOL");
	char *folder, *slash;
	Dl_info info;

	if (configured && snprintf(path, PATH_MAX, "%s", configured) < PATH_MAX &&
	    !access(path, X_OK))
		return true;
	if (!dladdr((void *)(uintptr_t)gt_tool_start, &info))
		return false;
	folder = realpath(info.dli_fname, NULL);
	slash = folder ? strrchr(folder, '/') : NULL;
	if (slash)
		*slash = '\0';
	for (size_t i = 0; slash && i < sizeof places / sizeof *places; i++)
		if (snprintf(path, PATH_MAX, "%s/%s", folder, places[i]) < PATH_MAX &&
		    !access(path, X_OK)) {
			free(folder);
			return true;
		}
	free(folder);
	return false;
}

/* Moves a descriptor above the standard streams, which the program may have closed. */
static int move_above_stderr(int fd)
{
	int high;

	if (fd < 0 || fd > STDERR_FILENO)
		return fd;
	high = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	close(fd);
	return high;
}

static void close_pipe(const int ends[2])
{
	for (int i = 0; i < 2; i++)
		if (ends[i] >= 0)
			close(ends[i]);
}

static bool open_pipe(int ends[2])
{
	if (pipe2(ends, O_CLOEXEC))
		return false;
	for (int i = 0; i < 2; i++)
		ends[i] = move_above_stderr(ends[i]);
	if (ends[0] >= 0 && ends[1] >= 0)
		return true;
	close_pipe(ends);
	return false;
}

/* The variables that the child gets; each is NAME=VALUE in memory of its own. */
struct environment {
	char *list[8];
	size_t count;
};

static void pass(struct environment *e, const char *name, const char *value)
{
	char *text = value ? malloc(strlen(name) + strlen(value) + 2) : NULL;

	if (!text)
		return;
	stpcpy(stpcpy(stpcpy(text, name), "="), value);
	e->list[e->count++] = text;
}

static void make_environment(struct environment *e, const struct gt_tool_call *call)
{
	static const char *const configured[] = { "HOME", "XDG_CONFIG_HOME", "GPUTRACK_CONFIG",
						  "GPUTRACK_OPTIONS" };

	*e = (struct environment){ 0 };
	pass(e, "LC_ALL", "C.UTF-8");
	pass(e, "LD_LIBRARY_PATH", secure_getenv("LD_LIBRARY_PATH"));
	for (size_t i = 0; call->is_configured && i < sizeof configured / sizeof *configured; i++)
		pass(e, configured[i], secure_getenv(configured[i]));
}

static void free_environment(struct environment *e)
{
	for (size_t i = 0; i < e->count; i++)
		free(e->list[i]);
}

/* In the child; does not return. */
static void run(char *const argv[], char *const environment[], int in, int out, bool with_errors)
{
	int errors = with_errors ? out : open("/dev/null", O_WRONLY | O_CLOEXEC);

	errors = move_above_stderr(errors);
	dup2(in, STDIN_FILENO);
	dup2(out, STDOUT_FILENO);
	dup2(errors, STDERR_FILENO);
	execve(argv[0], argv, environment);
	_exit(127);
}

static bool open_streams(struct gt_tool_child *child, int to, int from)
{
	child->to = fdopen(to, "w");
	child->from = fdopen(from, "r");
	if (child->pid > 0 && child->to && child->from)
		return true;
	if (child->to)
		fclose(child->to);
	else
		close(to);
	if (child->from)
		fclose(child->from);
	else
		close(from);
	if (child->pid > 0)
		waitpid(child->pid, NULL, __WALL);
	return false;
}

bool gt_tool_start(struct gt_tool_child *child, const struct gt_tool_call *call)
{
	char path[PATH_MAX], *argv[GT_TOOL_ARGS + 2] = { path };
	struct environment environment;
	int in[2], out[2];

	child->pid = 0;
	if (!find_tool(path) || !open_pipe(in))
		return false;
	if (!open_pipe(out)) {
		close_pipe(in);
		return false;
	}
	for (size_t i = 0; i < GT_TOOL_ARGS && call->argv[i]; i++)
		argv[i + 1] = (char *)(uintptr_t)call->argv[i];
	make_environment(&environment, call);
	/* no SIGCHLD: the program may wait for its own children */
	child->pid = (pid_t)syscall(SYS_clone, 0, NULL, NULL, NULL, NULL);
	if (!child->pid)
		run(argv, environment.list, in[0], out[1], call->with_errors);
	free_environment(&environment);
	close(in[0]);
	close(out[1]);
	if (open_streams(child, in[1], out[0]))
		return true;
	child->pid = 0;
	return false;
}

void gt_tool_stop(struct gt_tool_child *child)
{
	struct gt_held_signals held;

	if (!child->pid)
		return;
	gt_signals_hold(&held);
	fclose(child->to);
	fclose(child->from);
	gt_signals_release(&held);
	/* a child of the program may have inherited the pipe: it would wait for an end of it */
	kill(child->pid, SIGKILL);
	while (waitpid(child->pid, NULL, __WALL) < 0 && errno == EINTR)
		;
}
