/* SPDX-License-Identifier: MIT */
/*
 * measure.c - runs a command and adds a line to a file: elapsed seconds, CPU seconds, peak
 * resident memory in KiB. Returns the exit status of the command.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double seconds(const struct timeval *t)
{
	return (double)t->tv_sec + (double)t->tv_usec * 1e-6;
}

int main(int argc, char **argv)
{
	struct timespec begun, ended;
	struct rusage use;
	FILE *out;
	int status;
	pid_t pid;

	if (argc < 3) {
		fprintf(stderr, "usage: %s RESULTS COMMAND [ARGUMENT…]\n", argv[0]);
		return 2;
	}
	clock_gettime(CLOCK_MONOTONIC, &begun);
	pid = fork();
	if (!pid) {
		execvp(argv[2], argv + 2);
		perror(argv[2]);
		_exit(127);
	}
	if (pid < 0 || wait4(pid, &status, 0, &use) < 0) {
		perror("measure");
		return 1;
	}
	clock_gettime(CLOCK_MONOTONIC, &ended);
	out = fopen(argv[1], "a");
	if (!out) {
		perror(argv[1]);
		return 1;
	}
	fprintf(out, "%.4f\t%.4f\t%ld\n",
		(double)(ended.tv_sec - begun.tv_sec) +
			(double)(ended.tv_nsec - begun.tv_nsec) * 1e-9,
		seconds(&use.ru_utime) + seconds(&use.ru_stime), use.ru_maxrss);
	fclose(out);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
