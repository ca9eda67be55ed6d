/* SPDX-License-Identifier: MIT */
/*
 * inside_calls.c - what calls of the CUDA driver cost their process; bench/inside.py runs it bare
 * and recorded.
 *
 * inside_calls THREADS DEPTH STACKS ROUNDS [work]: each thread makes a pair of calls (an event
 * created and destroyed; with "work", memory set) from each of STACKS different stacks, DEPTH
 * functions deep, then again so often as ROUNDS says. Prints, tab-separated, while all threads are
 * there: pairs of the first round and of the others, page faults, cache misses and instructions of
 * both (-1: not counted here), ns of the processor, resident memory and private memory in KiB.
 */
#include <dlfcn.h>
#include <linux/perf_event.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { STACK_BYTES = 256 << 10, BYTES = 4096 };

static int (*init)(unsigned);
static int (*retain)(void **, int);
static int (*set_current)(void *);
static int (*event_create)(void **, unsigned);
static int (*event_destroy)(void *);
static int (*alloc)(uint64_t *, size_t);
static int (*set_bytes)(uint64_t, unsigned char, size_t);

static long depth, stacks, rounds, threads;
static void *context;
static uint64_t memory; /* 0: events are created */
static pthread_barrier_t barrier;

static void must(int error)
{
	if (error) {
		fprintf(stderr, "inside_calls: a call failed: %d\n", error);
		exit(1);
	}
}

static void *find(void *driver, const char *name)
{
	void *found = driver ? dlsym(driver, name) : NULL;

	if (!found) {
		fprintf(stderr, "inside_calls: no %s\n", name);
		exit(1);
	}
	return found;
}

static void call(void)
{
	void *event;

	if (memory) {
		must(set_bytes(memory, 0, BYTES));
		must(set_bytes(memory, 0, BYTES));
		return;
	}
	must(event_create(&event, 0));
	must(event_destroy(event));
}

/* Which of two places it goes deeper from is a digit of the stack's number. */
static __attribute__((noinline)) void descend(long levels, unsigned long number)
{
	if (!levels)
		call();
	else if (number & 1) {
		descend(levels - 1, number >> 1);
		__asm__ volatile("" : : "r"(number));
	} else {
		descend(levels - 1, number >> 1);
		__asm__ volatile("" : : "r"(levels));
	}
	/* no tail call: the frame must stay */
	__asm__ volatile("" : : : "memory");
}

static void *work(void *arg)
{
	(void)arg;
	must(set_current(context));
	for (long round = 0; round <= rounds; round++) {
		/* the first round, then all others, begin and end together */
		if (round < 2)
			pthread_barrier_wait(&barrier);
		for (long i = 0; i < stacks; i++)
			descend(depth - 1, (unsigned long)i);
		if (!round || round == rounds)
			pthread_barrier_wait(&barrier);
	}
	pthread_barrier_wait(&barrier); /* all has been measured */
	return NULL;
}

static int open_counter(uint64_t what)
{
	struct perf_event_attr attr = { .size = sizeof attr,
					.type = PERF_TYPE_HARDWARE,
					.config = what,
					.inherit = 1,
					.exclude_hv = 1 };

	return (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0);
}

/* Figures of the process up to now. */
struct reading {
	double faults, misses, instructions, processor_ns;
};

static double counted(int counter)
{
	uint64_t value;

	return counter >= 0 && read(counter, &value, sizeof value) == sizeof value ? (double)value :
										     -1;
}

static struct reading take_reading(const int counters[2])
{
	struct rusage use;
	struct timespec t;

	getrusage(RUSAGE_SELF, &use);
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (struct reading){ .faults = (double)(use.ru_minflt + use.ru_majflt),
				 .misses = counted(counters[0]),
				 .instructions = counted(counters[1]),
				 .processor_ns = (double)t.tv_sec * 1e9 + (double)t.tv_nsec };
}

static void print_difference(const char *what, const struct reading *from, const struct reading *to,
			     double pairs)
{
	printf("%s\t%.0f\t%.0f\t%.0f\t%.0f\t%.0f\n", what, pairs, to->faults - from->faults,
	       to->misses < 0 ? -1 : to->misses - from->misses,
	       to->instructions < 0 ? -1 : to->instructions - from->instructions,
	       to->processor_ns - from->processor_ns);
}

static void print_memory(void)
{
	FILE *status = fopen("/proc/self/status", "re");
	char line[256];
	long kib;

	while (status && fgets(line, sizeof line, status)) {
		if (sscanf(line, "VmRSS: %ld", &kib) == 1)
			printf("resident\t%ld\n", kib);
		if (sscanf(line, "RssAnon: %ld", &kib) == 1)
			printf("private\t%ld\n", kib);
	}
	if (status)
		fclose(status);
}

static void load(void)
{
	void *driver = dlopen("libcuda.so.1", RTLD_NOW);

	*(void **)&init = find(driver, "cuInit");
	*(void **)&retain = find(driver, "cuDevicePrimaryCtxRetain");
	*(void **)&set_current = find(driver, "cuCtxSetCurrent");
	*(void **)&event_create = find(driver, "cuEventCreate");
	*(void **)&event_destroy = find(driver, "cuEventDestroy_v2");
	*(void **)&alloc = find(driver, "cuMemAlloc_v2");
	*(void **)&set_bytes = find(driver, "cuMemsetD8_v2");
	must(init(0));
	must(retain(&context, 0));
	must(set_current(context));
}

int main(int argc, char **argv)
{
	int counters[2];
	struct reading readings[4];
	pthread_attr_t attr;
	pthread_t *ids;

	if (argc < 5) {
		fprintf(stderr, "usage: %s THREADS DEPTH STACKS ROUNDS [work]\n", argv[0]);
		return 2;
	}
	threads = atol(argv[1]);
	depth = atol(argv[2]);
	stacks = atol(argv[3]);
	rounds = atol(argv[4]);
	counters[0] = open_counter(PERF_COUNT_HW_CACHE_MISSES);
	counters[1] = open_counter(PERF_COUNT_HW_INSTRUCTIONS);
	load();
	if (argc > 5)
		must(alloc(&memory, BYTES));
	pthread_barrier_init(&barrier, NULL, (unsigned)threads + 1);
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, STACK_BYTES);
	ids = calloc((size_t)threads, sizeof *ids);
	for (long i = 0; i < threads; i++)
		must(pthread_create(&ids[i], &attr, work, NULL));
	for (int i = 0; i < (rounds ? 4 : 2); i++) {
		/* before the barrier that begins a part, after the one that ends it */
		if (!(i & 1))
			readings[i] = take_reading(counters);
		pthread_barrier_wait(&barrier);
		if (i & 1)
			readings[i] = take_reading(counters);
	}
	print_difference("first", &readings[0], &readings[1], (double)(threads * stacks));
	if (rounds)
		print_difference("later", &readings[2], &readings[3],
				 (double)(threads * stacks * rounds));
	print_memory();
	pthread_barrier_wait(&barrier);
	for (long i = 0; i < threads; i++)
		pthread_join(ids[i], NULL);
	return 0;
}
