/* SPDX-License-Identifier: MIT */
/* syscalls.c - the cost of the resource tracker's system calls, and of the original's. */
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { ROUNDS = 9, CALLS = 5000, CROWD = 4 };

static int statm, tasks, file;
static char text[4096];

static double now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static void read_statm(void)
{
	if (pread(statm, text, 128, 0) < 0)
		abort();
}

static void stat_tasks(void)
{
	struct stat st;

	fstat(tasks, &st);
}

static void read_faults(void)
{
	struct rusage usage;

	getrusage(RUSAGE_THREAD, &usage);
}

static void read_limit(void)
{
#ifdef SYS_getrlimit
	unsigned long limit[2];

	syscall(SYS_getrlimit, RLIMIT_FSIZE, limit);
#endif
}

static void read_limit_by_libc(void)
{
	struct rlimit limit;

	getrlimit(RLIMIT_FSIZE, &limit);
}

static void write_row(void)
{
	if (write(file, text, 86) != 86)
		abort();
}

static void write_event(void)
{
	if (pwrite(file, text, 24, 4096) != 24)
		abort();
}

static void stat_file(void)
{
	struct stat st;

	fstat(file, &st);
}

/* One sample as the original tracker takes it: reads a text file line by line, and a folder. */
static void sample_by_status(void)
{
	FILE *status = fopen("/proc/self/status", "r");
	char line[256];
	long found = 0;
	struct rlimit limit;
	int fd;

	while (status && fgets(line, sizeof line, status))
		if (!strncmp(line, "Vm", 2) || !strncmp(line, "Threads:", 8))
			found += strtol(strchr(line, ':') + 1, NULL, 10);
	if (status)
		fclose(status);
	fd = open("/proc/self/fd", O_RDONLY);
	getrlimit(RLIMIT_NOFILE, &limit);
	close(fd);
	text[0] = (char)found;
}

static double cost(void (*call)(void))
{
	double best = 0;

	for (int round = 0; round < ROUNDS; round++) {
		double begun = now_ns(), each;

		for (int i = 0; i < CALLS; i++)
			call();
		each = (now_ns() - begun) / CALLS;
		if (!round || each < best)
			best = each;
	}
	return best;
}

static pthread_barrier_t start;
static pthread_mutex_t in_order = PTHREAD_ADAPTIVE_MUTEX_INITIALIZER_NP;

/* The minimum for any tracker: one reading per call, and rows written one at a time. */
static void *read_and_write(void *unused)
{
	int own = open("/proc/self/statm", O_RDONLY);
	char reading[128];

	pthread_barrier_wait(&start);
	for (int i = 0; i < CALLS; i++) {
		if (pread(own, reading, sizeof reading, 0) < 0)
			abort();
		pthread_mutex_lock(&in_order);
		write_row();
		pthread_mutex_unlock(&in_order);
	}
	close(own);
	return unused;
}

/* This many threads at once: the core time of each. */
static double crowd_cost(int threads)
{
	pthread_t crowd[CROWD];
	cpu_set_t cpus;
	double best = 0;
	int cores;

	sched_getaffinity(0, sizeof cpus, &cpus);
	cores = CPU_COUNT(&cpus) < threads ? CPU_COUNT(&cpus) : threads;
	for (int round = 0; round < ROUNDS; round++) {
		double begun, each;

		pthread_barrier_init(&start, NULL, (unsigned int)threads + 1);
		for (int i = 0; i < threads; i++)
			if (pthread_create(&crowd[i], NULL, read_and_write, NULL))
				abort();
		pthread_barrier_wait(&start);
		begun = now_ns();
		for (int i = 0; i < threads; i++)
			pthread_join(crowd[i], NULL);
		each = (now_ns() - begun) * cores / threads / CALLS;
		pthread_barrier_destroy(&start);
		if (!round || each < best)
			best = each;
	}
	return best;
}

int main(void)
{
	char path[] = "/tmp/gputrack-bench-XXXXXX";

	statm = open("/proc/self/statm", O_RDONLY);
	tasks = open("/proc/self/task", O_RDONLY);
	file = mkstemp(path);
	unlink(path);
	printf("| system call | ns |\n|---|--:|\n");
	printf("| pread of an open /proc/self/statm (the tracker: one or two per call) | %.0f |\n",
	       cost(read_statm));
	printf("| write of a row of 86 bytes (with CSV: one per call) | %.0f |\n", cost(write_row));
	printf("| getrlimit (with CSV: one per call) | %.0f |\n", cost(read_limit));
	printf("| prlimit64, by which the C library reads limits (not done) | %.0f |\n",
	       cost(read_limit_by_libc));
	printf("| getrusage of the thread (in a program with threads, after work of its own) | "
	       "%.0f |\n",
	       cost(read_faults));
	printf("| fstat of an open /proc/self/task (once a millisecond) | %.0f |\n",
	       cost(stat_tasks));
	printf("| fstat of a trace (recording: once a millisecond) | %.0f |\n", cost(stat_file));
	printf("| pwrite of an event of 24 bytes (not done: events go into a mapping) | %.0f |\n",
	       cost(write_event));
	printf("| one reading and one row at a time, 1 thread | %.0f |\n", crowd_cost(1));
	printf("| one reading and one row at a time, %d threads | %.0f |\n", CROWD,
	       crowd_cost(CROWD));
	printf("| a sample as the original takes it (two to four per call) | %.0f |\n",
	       cost(sample_by_status));
	return 0;
}
