/* SPDX-License-Identifier: MIT */
/*
 * forks: a process and its children each leak their own number of buffers.
 *
 *   the process itself  1 buffer of 1000 bytes
 *   --early             2 of 2000: a child forked before the first OpenCL call
 *   --late              3 of 3000: a child forked when the parent has a context and buffers
 *   --exec              4 of 4000: fork and exec of this program
 *   --vfork             5 of 5000: vfork and exec
 *   --spawn             6 of 6000: posix_spawn
 *
 * Without one of these, all of them. Every process releases its context. The late child also
 * releases a buffer that it inherited and did not make; it enqueues nothing, because PoCL's
 * worker threads do not come along into a child and waiting for them would be forever.
 */
#include "cl_kinds.h"

#include <spawn.h>
#include <sys/wait.h>

extern char **environ;

static const char *platform;

static void leak_buffers(cl_context context, long count)
{
	for (long i = 0; i < count; i++) {
		cl_int err;

		clCreateBuffer(context, CL_MEM_READ_WRITE, count * 1000, NULL, &err);
		MUST(err);
	}
}

/* What every process does on its own. */
static void leak_alone(long count)
{
	cl_context context = cl_context_on(cl_pick(platform));

	leak_buffers(context, count);
	MUST(clReleaseContext(context));
}

static void wait_for(pid_t child, const char *name)
{
	int status;

	if (child < 0)
		quit(STATUS_FAILED, "cannot start the %s child: %m", name);
	if (waitpid(child, &status, 0) != child)
		quit(STATUS_FAILED, "cannot wait for the %s child: %m", name);
	if (WIFEXITED(status) && WEXITSTATUS(status) == STATUS_SKIPPED)
		exit(STATUS_SKIPPED); /* the child has said why */
	if (!WIFEXITED(status) || WEXITSTATUS(status))
		quit(STATUS_FAILED, "the %s child ended with status %#x", name, status);
}

static void fork_early(void)
{
	pid_t child = fork();

	if (!child) {
		leak_alone(2);
		exit(STATUS_OK); /* not _exit(): its destructors are part of the test */
	}
	wait_for(child, "early");
}

static void fork_late(cl_mem inherited)
{
	pid_t child = fork();

	if (!child) {
		leak_alone(3);
		MUST(clReleaseMemObject(inherited));
		exit(STATUS_OK);
	}
	wait_for(child, "late");
}

/* The arguments of this program for a child that leaks @count buffers. */
static void child_arguments(char *argv[6], char *count)
{
	argv[0] = (char *)"forks";
	argv[1] = (char *)"--alone";
	argv[2] = count;
	argv[3] = (char *)(platform ? "--platform" : NULL);
	argv[4] = (char *)platform;
	argv[5] = NULL;
}

static void fork_and_exec(void)
{
	char *argv[6];
	pid_t child;

	child_arguments(argv, (char *)"4");
	child = fork();
	if (!child) {
		execv("/proc/self/exe", argv);
		_exit(127);
	}
	wait_for(child, "exec");
}

static void vfork_and_exec(void)
{
	char *argv[6];
	pid_t child;

	child_arguments(argv, (char *)"5");
	child = vfork();
	if (!child) {
		execv("/proc/self/exe", argv);
		_exit(127);
	}
	wait_for(child, "vfork");
}

static void spawn(void)
{
	char *argv[6];
	pid_t child;

	child_arguments(argv, (char *)"6");
	if (posix_spawn(&child, "/proc/self/exe", NULL, NULL, argv, environ))
		child = -1;
	wait_for(child, "spawn");
}

int main(int argc, char **argv)
{
	bool early = arg_flag(&argc, argv, "--early");
	bool late = arg_flag(&argc, argv, "--late");
	bool exec = arg_flag(&argc, argv, "--exec");
	bool vforked = arg_flag(&argc, argv, "--vfork");
	bool spawned = arg_flag(&argc, argv, "--spawn");
	bool all = !early && !late && !exec && !vforked && !spawned;
	long alone = arg_number(&argc, argv, "--alone", 0);
	cl_context context;
	cl_mem buffer;
	cl_int err;

	platform = arg_take(&argc, argv, "--platform");
	arg_none_left(argc, argv);
	if (alone) {
		leak_alone(alone);
		return STATUS_OK;
	}

	if (early || all)
		fork_early();
	context = cl_context_on(cl_pick(platform));
	leak_buffers(context, 1);
	buffer = clCreateBuffer(context, CL_MEM_READ_WRITE, 123, NULL, &err);
	MUST(err);
	if (late || all)
		fork_late(buffer);
	if (exec || all)
		fork_and_exec();
	if (vforked || all)
		vfork_and_exec();
	if (spawned || all)
		spawn();
	MUST(clReleaseMemObject(buffer));
	MUST(clReleaseContext(context));
	puts("every child ended well");
	return STATUS_OK;
}
