/* SPDX-License-Identifier: MIT */
/* processes.c - processes made in every way there is. */
#include "odd.h"

#include <linux/sched.h>
#include <pthread.h>
#include <sched.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>

/* Another run of this program, with a mode and an argument. */
static char *const *command(const char *mode, const char *argument)
{
	static char *words[4];

	words[0] = (char *)program;
	words[1] = (char *)mode;
	words[2] = (char *)argument;
	return words;
}

static int leaf(void)
{
	door_open();
	calls(3);
	door_close();
	return 11;
}

static int vforks(void)
{
	for (int i = 0; i < 3; i++) {
		pid_t child = vfork();

		if (!child) {
			execv("/proc/self/exe", command("leaf", NULL));
			_exit(1);
		}
		say_end("child", child);
		calls(1);
	}
	return 0;
}

static int spawns(void)
{
	for (int i = 0; i < 3; i++) {
		pid_t child = -1;

		errno = posix_spawn(&child, "/proc/self/exe", NULL, NULL, command("leaf", NULL),
				    environ);
		say_end("child", child);
		calls(1);
	}
	return 0;
}

static int in_clone(void *is_call)
{
	if (is_call)
		calls(3);
	syscall(SYS_exit, 12);
	return 0;
}

/* A child that shares the memory and makes no call, and one that has its own and makes some. */
static int clones(void)
{
	static char stack[64 << 10] __attribute__((aligned(64)));

	for (int i = 0; i < 4; i++) {
		bool is_shared = i % 2;

		say_end(is_shared ? "sharing child" : "child",
			clone(in_clone, stack + sizeof(stack), (is_shared ? CLONE_VM : 0) | SIGCHLD,
			      is_shared ? NULL : stack));
		calls(1);
	}
	return 0;
}

/* A child that shares the memory makes calls: nobody can tell whose they are. */
static int calls_in_sharing_child(void)
{
	static char stack[64 << 10] __attribute__((aligned(64)));

	for (int i = 0; i < 3; i++) {
		say_end("sharing child", clone(in_clone, stack + sizeof(stack),
					       CLONE_VM | CLONE_VFORK | SIGCHLD, stack));
		calls(1);
	}
	return 0;
}

static int clone3s(void)
{
	struct clone_args args = { .exit_signal = SIGCHLD };

	for (int i = 0; i < 3; i++) {
		long child = syscall(SYS_clone3, &args, sizeof(args));

		if (!child) {
			calls(3);
			_exit(13);
		}
		if (child < 0)
			skip("no clone3: %m");
		say_end("child", (pid_t)child);
		calls(1);
	}
	return 0;
}

/* Each process has two children, four generations deep. */
static void breed(int depth)
{
	pid_t children[2];

	calls(1);
	if (!depth)
		return;
	for (int i = 0; i < 2; i++) {
		children[i] = fork();
		if (!children[i]) {
			breed(depth - 1);
			_exit(depth);
		}
	}
	for (int i = 0; i < 2; i++)
		waitpid(children[i], NULL, 0);
}

static int forks_of_forks(void)
{
	breed(4);
	return 0;
}

/* As a service starts: its parent waits until it has written its state, and not for it. */
static int daemons(void)
{
	int ends[2], null;
	char byte;

	if (pipe(ends))
		fail("no pipe: %m");
	if (fork()) {
		close(ends[1]);
		say("daemon ends: %zd", read(ends[0], &byte, 1));
		return 0;
	}
	setsid();
	if (fork())
		_exit(0);
	null = open("/dev/null", O_RDWR);
	dup2(null, 0);
	say_to = open("daemon.txt", O_RDWR | O_CREAT | O_CLOEXEC, 0666);
	calls(5);
	state("daemon");
	say("session %d %d", getsid(0) == getpid(), getsid(0) == getpgrp());
	_exit(0);
}

/* Executes itself five times, a process with one pid and six programs. */
static int exec_chain(void)
{
	const char *left = arguments[0] ? arguments[0] : "5";
	char less[16];

	door_open();
	calls(2);
	state(left);
	if (atoi(left) == 0)
		return 15;
	snprintf(less, sizeof(less), "%d", atoi(left) - 1);
	execv("/proc/self/exe", command("exec-chain", less));
	fail("no exec: %m");
}

static void *exec_here(void *unused)
{
	calls(2);
	execv("/proc/self/exe", command("leaf", NULL));
	return unused;
}

static int exec_in_thread(void)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, exec_here, NULL))
		fail("no thread");
	for (;;)
		calls(1);
}

static int deleted(void)
{
	char path[4096] = "";

	if (readlink("/proc/self/exe", path, sizeof(path) - 1) < 0 || unlink(path))
		fail("cannot remove %s: %m", path);
	calls(20);
	return 0;
}

/* The program as a file in memory that has no name. */
static int exec_memory(void)
{
	int from = open("/proc/self/exe", O_RDONLY | O_CLOEXEC),
	    fd = memfd_create("odd", MFD_CLOEXEC);
	char block[65536];
	ssize_t n;

	while ((n = read(from, block, sizeof(block))) > 0)
		if (write(fd, block, (size_t)n) != n)
			fail("no memory: %m");
	door_open();
	calls(2);
	fexecve(fd, command("leaf", NULL), environ);
	fail("no exec: %m");
}

/* Executes itself without any environment: nothing of it is recorded. */
static int exec_without_environment(void)
{
	char path[4200] = "", *keep[] = { path, NULL };

	door_open();
	calls(2);
	door_close();
	snprintf(path, sizeof(path), "LD_LIBRARY_PATH=%s", getenv("LD_LIBRARY_PATH") ?: "");
	clearenv();
	calls(0);
	execve("/proc/self/exe", command("plain", NULL), keep);
	fail("no exec: %m");
}

static int plain(void)
{
	state("plain");
	return 16;
}

static int without_environment(void)
{
	clearenv();
	calls(5);
	return 0;
}

const struct mode process_modes[] = {
	{ .name = "leaf", .run = leaf, .opens_itself = true },
	{ .name = "plain", .run = plain, .opens_itself = true },
	{ .name = "vfork", .run = vforks },
	{ .name = "spawn", .run = spawns },
	{ .name = "clone", .run = clones },
	{ .name = "clone-sharing", .run = calls_in_sharing_child },
	{ .name = "clone3", .run = clone3s },
	{ .name = "forks-of-forks", .run = forks_of_forks },
	{ .name = "daemon", .run = daemons },
	{ .name = "exec-chain", .run = exec_chain, .opens_itself = true },
	{ .name = "exec-in-thread", .run = exec_in_thread },
	{ .name = "deleted-program", .run = deleted },
	{ .name = "exec-memory", .run = exec_memory, .opens_itself = true },
	{ .name = "exec-without-environment",
	  .run = exec_without_environment,
	  .opens_itself = true },
	{ .name = "without-environment", .run = without_environment },
	{ .name = NULL },
};
