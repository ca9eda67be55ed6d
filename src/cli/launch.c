/* SPDX-License-Identifier: MIT */
/* launch.c - starts programs: with our libraries, and with the signals and limits we found. */
#include "cli/launch.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/tool.h"
#include "cli/forward.h"

/* Path from the installed program to the folder of the doors; set by Meson. */
#ifndef GT_DOORS_FROM_PROGRAM
#define GT_DOORS_FROM_PROGRAM "."
#endif

bool gt_doors_find(char *out, size_t size, const char *file)
{
	static const char *const places[] = { ".", GT_DOORS_FROM_PROGRAM };
	char folder[PATH_MAX], place[2 * PATH_MAX], whole[PATH_MAX], *slash;
	ssize_t n = readlink("/proc/self/exe", folder, sizeof folder - 1);

	if (n <= 0)
		return false;
	folder[n] = '\0';
	slash = strrchr(folder, '/');
	if (!slash)
		return false;
	*slash = '\0';
	for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
		int used;

		/* users see this path: no dots in it */
		snprintf(place, sizeof place, "%s/%s", folder, places[i]);
		if (!realpath(place, whole))
			continue;
		used = snprintf(out, size, "%s/%s", whole, file);
		if (used > 0 && (size_t)used < size && !access(out, R_OK))
			return true;
	}
	return false;
}

/* Where the shell finds it: itself, or in `found`; NULL: nowhere. */
static const char *path_of(const char *program, char found[PATH_MAX])
{
	if (strchr(program, '/'))
		return program;
	return gt_tool_search(program, found, PATH_MAX) ? found : NULL;
}

const char *gt_program_rights(const char *program)
{
	char found[PATH_MAX];
	struct stat st;

	program = path_of(program, found);
	if (!program || stat(program, &st) || !S_ISREG(st.st_mode))
		return NULL;
	if (st.st_mode & S_ISUID && st.st_uid != geteuid())
		return "is set-user-ID";
	/* without the right to execute, the bit means something else */
	if (st.st_mode & S_ISGID && st.st_mode & S_IXGRP && st.st_gid != getegid())
		return "is set-group-ID";
	if (geteuid() && getxattr(program, "security.capability", NULL, 0) > 0)
		return "has file capabilities";
	return NULL;
}

/* Without a dynamic loader. Of those that can be loaded anywhere, the loader itself has none. */
static bool is_static(int fd)
{
	Elf64_Ehdr head;
	Elf64_Phdr segment;

	if (pread(fd, &head, sizeof head, 0) != sizeof head ||
	    memcmp(head.e_ident, ELFMAG, SELFMAG) || head.e_ident[EI_CLASS] != ELFCLASS64 ||
	    head.e_type != ET_EXEC)
		return false;
	for (unsigned i = 0; i < head.e_phnum; i++)
		if (pread(fd, &segment, sizeof segment,
			  (off_t)(head.e_phoff + (uint64_t)i * head.e_phentsize)) !=
			    sizeof segment ||
		    segment.p_type == PT_INTERP)
			return false;
	return true;
}

const char *gt_program_obstacle(const char *program)
{
	const char *why = gt_program_rights(program);
	char found[PATH_MAX];
	int fd;

	program = path_of(program, found);
	if (why || !program)
		return why;
	fd = open(program, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return NULL;
	why = is_static(fd) ? "is a static program" : NULL;
	close(fd);
	return why;
}

static const int saved_signals[] = { SIGCHLD, SIGINT, SIGTERM, SIGHUP };
enum { SAVED = sizeof saved_signals / sizeof *saved_signals };

static struct {
	struct rlimit files;
	bool has_files, is_ignored[SAVED];
} inherited;

void gt_inherited_save(void)
{
	struct sigaction before;

	/* readers of recordings raise it: trace/recording.c */
	inherited.has_files = !getrlimit(RLIMIT_NOFILE, &inherited.files);
	for (int i = 0; i < SAVED; i++)
		inherited.is_ignored[i] =
			!sigaction(saved_signals[i], NULL, &before) && before.sa_handler == SIG_IGN;
	/* a process that ignores SIGCHLD cannot wait for its children */
	signal(SIGCHLD, SIG_DFL);
}

void gt_inherited_restore(void)
{
	struct rlimit now;

	if (inherited.has_files && !getrlimit(RLIMIT_NOFILE, &now)) {
		now.rlim_cur = inherited.files.rlim_cur;
		setrlimit(RLIMIT_NOFILE, &now);
	}
	for (int i = 0; i < SAVED; i++)
		signal(saved_signals[i], inherited.is_ignored[i] ? SIG_IGN : SIG_DFL);
}

void gt_launch_explain(struct gt_error *error, const char *program, int why)
{
	/* a name without a slash is searched for in PATH, which does not include this folder */
	bool is_here = why == ENOENT && !strchr(program, '/') && !access(program, F_OK);

	if (is_here && !access(program, X_OK))
		gt_error_set(
			error, 0,
			"cannot run %s: it is not in PATH; for the one in this folder, use ./%s",
			program, program);
	else if (is_here)
		gt_error_set(error, 0,
			     "cannot run %s: it is not in PATH, and the file in this folder is not "
			     "executable; if it is a script, start it with its interpreter, as in "
			     "`python3 %s`",
			     program, program);
	else
		gt_error_set(error, 0, "cannot run %s: %s; check its name and permissions", program,
			     strerror(why));
}

/*
 * Reports through the pipe `report`, which exec closes: one NUL byte once prepared, then why exec
 * failed, if it did. Continues when `go` is closed.
 */
static void child_main(const struct gt_launch *launch, int report, int go)
{
	struct gt_error error = { "" };
	char nothing;

	if (!launch->prepare || !launch->prepare(launch->context, &error)) {
		(void)!write(report, "", 1);
		(void)!read(go, &nothing, 1);
		gt_inherited_restore();
		execvp(launch->argv[0], launch->argv);
		gt_launch_explain(&error, launch->argv[0], errno);
		if (launch->undo)
			launch->undo(launch->context);
	}
	(void)!write(report, error.text, strlen(error.text));
	_exit(127);
}

static int make_pipes(int report[2], int go[2], struct gt_error *error)
{
	int e;

	if (!pipe2(report, O_CLOEXEC)) {
		if (!pipe2(go, O_CLOEXEC))
			return 0;
		e = errno;
		close(report[0]);
		close(report[1]);
		errno = e;
	}
	return gt_error_set(error, -1, "cannot create a pipe: %s", strerror(errno));
}

static ssize_t read_some(int fd, char *text, size_t size)
{
	ssize_t n;

	do
		n = read(fd, text, size);
	while (n < 0 && errno == EINTR);
	return n;
}

/* True if the program runs; otherwise the error says why not. Closes both pipes. */
static bool wait_for_start(const struct gt_launch *launch, pid_t pid, int report, int go,
			   struct gt_error *error)
{
	ssize_t n = read_some(report, error->text, 1);
	bool is_prepared = n == 1 && !error->text[0];
	size_t had = n == 1 && !is_prepared;

	if (is_prepared && launch->prepared)
		launch->prepared(launch->context, pid);
	close(go);
	n = read_some(report, error->text + had, sizeof error->text - 1 - had);
	close(report);
	had += n > 0 ? (size_t)n : 0;
	error->text[had] = '\0';
	return !had;
}

int gt_launch_start(const struct gt_launch *launch, pid_t *pid, struct gt_error *error)
{
	int report[2], go[2];
	sigset_t mask;

	*pid = -1;
	if (make_pipes(report, go, error))
		return -1;
	gt_forward_hold(&mask);
	*pid = fork();
	if (*pid < 0) {
		sigprocmask(SIG_SETMASK, &mask, NULL);
		close(report[0]);
		close(report[1]);
		close(go[0]);
		close(go[1]);
		return gt_error_set(error, -1, "cannot fork: %s", strerror(errno));
	}
	if (!*pid) {
		sigprocmask(SIG_SETMASK, &mask, NULL);
		close(report[0]);
		close(go[1]);
		child_main(launch, report[1], go[0]);
	}
	/* before the program begins, so that no signal for the group goes unnoticed */
	gt_forward_begin(*pid, &mask);
	close(report[1]);
	close(go[0]);
	if (wait_for_start(launch, *pid, report[0], go[1], error))
		return 0;
	gt_launch_wait(*pid);
	return -1;
}

int gt_launch_wait(pid_t pid)
{
	int status = -1;

	/* afterwards the report can be interrupted */
	gt_forward_end(pid);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return status;
}

int gt_launch(const struct gt_launch *launch, pid_t *pid, struct gt_error *error)
{
	int status;

	if (gt_launch_start(launch, pid, error))
		return -1;
	if (launch->started)
		launch->started(launch->context, *pid);
	status = gt_launch_wait(*pid);
	if (status < 0)
		gt_error_set(error, -1, "cannot wait for %s: %s", launch->argv[0], strerror(errno));
	return status;
}

void gt_launch_die_by(int number)
{
	const struct rlimit none = { 0, 0 };
	sigset_t one;

	setrlimit(RLIMIT_CORE, &none);
	/* the limit does not apply to cores that are piped to a program */
	prctl(PR_SET_DUMPABLE, 0);
	signal(number, SIG_DFL);
	sigemptyset(&one);
	sigaddset(&one, number);
	sigprocmask(SIG_UNBLOCK, &one, NULL);
	raise(number);
}
