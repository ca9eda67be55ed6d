/* SPDX-License-Identifier: MIT */
/* calls.c - times calls of an API as a program makes them. */
#include "calls.h"

#include <execinfo.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
	ROUND_NS = 20 * 1000 * 1000, /* of one thread: long against a turn of the scheduler */
	WARM_UP = 16,                /* that part of a round is run first, and not timed */
};

static const char thread_counts[] = "1 4";

struct descent {
	void (*run)(void *self, long repeats);
	void *self;
	long repeats;
};

/*
 * Functions of different sizes and return addresses, as on the stack of a real program: one
 * repeated function would favour an unwinder with a cache.
 */
#define LEVEL(n, below, bytes)                                                                     \
	static __attribute__((noinline)) void level_##n(struct descent *d)                         \
	{                                                                                          \
		char room[bytes];                                                                  \
                                                                                                   \
		__asm__ volatile("" : : "r"(room) : "memory");                                     \
		below(d);                                                                          \
		/* no tail call: the frame must stay */                                            \
		__asm__ volatile("" : : "r"(room) : "memory");                                     \
	}

static __attribute__((noinline)) void level_0(struct descent *d)
{
	d->run(d->self, d->repeats);
	__asm__ volatile("" : : : "memory");
}

LEVEL(1, level_0, 16)
LEVEL(2, level_1, 200)
LEVEL(3, level_2, 48)
LEVEL(4, level_3, 1024)
LEVEL(5, level_4, 32)
LEVEL(6, level_5, 72)
LEVEL(7, level_6, 496)
LEVEL(8, level_7, 24)
LEVEL(9, level_8, 136)
LEVEL(10, level_9, 16)
LEVEL(11, level_10, 320)
LEVEL(12, level_11, 64)
LEVEL(13, level_12, 112)
LEVEL(14, level_13, 40)

static void (*const levels[])(struct descent *d) = {
	level_0, level_1, level_2,  level_3,  level_4,  level_5,  level_6,  level_7,
	level_8, level_9, level_10, level_11, level_12, level_13, level_14,
};

enum { LEVEL_COUNT = sizeof levels / sizeof *levels };

static uint64_t read_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void __attribute__((noreturn)) fail(const char *what)
{
	perror(what);
	exit(1);
}

/* Takes the place of a case's function. */
static void count_frames(void *self, long repeats)
{
	void *frames[4 * BENCH_FRAMES];

	(void)repeats;
	*(int *)self = backtrace(frames, 4 * BENCH_FRAMES);
}

struct worker {
	struct descent descent;
	void (*from)(struct descent *d); /* the level to start at */
	pthread_barrier_t *start;
	const cpu_set_t *cpus;
	uint64_t begun_ns, ended_ns, processor_ns;
	pthread_t thread;
};

static long warm_up_of(long repeats)
{
	return (repeats + WARM_UP - 1) / WARM_UP;
}

static void *work(void *arg)
{
	struct worker *w = arg;
	struct descent warm_up = w->descent;

	if (w->cpus && pthread_setaffinity_np(pthread_self(), sizeof *w->cpus, w->cpus))
		fail("cannot pin a thread");
	warm_up.repeats = warm_up_of(warm_up.repeats);
	if (warm_up.repeats)
		w->from(&warm_up);
	/* profiles count what a thread of this name does: not its start, nor the main thread */
	pthread_setname_np(pthread_self(), "caller");
	pthread_barrier_wait(w->start);
	w->processor_ns = read_ns(CLOCK_THREAD_CPUTIME_ID);
	w->begun_ns = read_ns(CLOCK_MONOTONIC);
	w->from(&w->descent);
	w->ended_ns = read_ns(CLOCK_MONOTONIC);
	w->processor_ns = read_ns(CLOCK_THREAD_CPUTIME_ID) - w->processor_ns;
	return NULL;
}

static void run_workers(struct worker *workers, int count)
{
	pthread_barrier_t start;

	pthread_barrier_init(&start, NULL, (unsigned int)count);
	for (int i = 0; i < count; i++) {
		workers[i].start = &start;
		if (pthread_create(&workers[i].thread, NULL, work, &workers[i]))
			fail("cannot start a thread");
	}
	for (int i = 0; i < count; i++)
		pthread_join(workers[i].thread, NULL);
	pthread_barrier_destroy(&start);
}

/* The level from which a worker's calls have BENCH_FRAMES frames, as glibc counts them. */
static void (*find_level(void))(struct descent *d)
{
	int frames = 0, level;
	struct worker w = { .descent = { .run = count_frames, .self = &frames, .repeats = 1 } };

	w.from = levels[0];
	run_workers(&w, 1);
	level = BENCH_FRAMES - frames;
	if (level < 0 || level >= LEVEL_COUNT)
		level = level < 0 ? 0 : LEVEL_COUNT - 1;
	w.from = levels[level];
	run_workers(&w, 1);
	printf("frames\t%d\n", frames);
	return w.from;
}

/* The last CPU we may use, as interrupts tend to go to the first. */
static void one_cpu(cpu_set_t *one, int *usable)
{
	cpu_set_t all;

	if (sched_getaffinity(0, sizeof all, &all))
		fail("sched_getaffinity");
	*usable = CPU_COUNT(&all);
	for (int i = CPU_SETSIZE - 1; i >= 0; i--)
		if (CPU_ISSET(i, &all)) {
			CPU_ZERO(one);
			CPU_SET(i, one);
			return;
		}
}

/* Work that all threads do once at the same time. */
struct round {
	const struct bench_case *what;
	long repeats; /* of each thread */
	int threads;
};

/* The time of one repetition. */
struct took {
	double core_ns;      /* of the cores that the threads could use, waiting included */
	double processor_ns; /* of the processor: other processes do not count */
};

/* Adds to the total. */
static struct took run_round(const struct round *r, const struct bench_plan *plan,
			     void (*from)(struct descent *d), struct bench_total *total)
{
	struct worker workers[BENCH_THREADS_MAX] = { 0 };
	uint64_t begun = UINT64_MAX, ended = 0, processor = 0;
	cpu_set_t one;
	long all;
	int cores;

	one_cpu(&one, &cores);
	if (cores > r->threads)
		cores = r->threads;
	for (int i = 0; i < r->threads; i++) {
		workers[i].descent = (struct descent){ .run = r->what->run,
						       .self = plan->selves[i],
						       .repeats = r->repeats };
		workers[i].from = from;
		workers[i].cpus = r->threads == 1 ? &one : NULL;
	}
	run_workers(workers, r->threads);
	for (int i = 0; i < r->threads; i++) {
		if (workers[i].begun_ns < begun)
			begun = workers[i].begun_ns;
		if (workers[i].ended_ns > ended)
			ended = workers[i].ended_ns;
		processor += workers[i].processor_ns;
	}
	all = r->threads * (r->repeats + warm_up_of(r->repeats));
	total->calls += r->what->calls * all;
	total->events += r->what->events * all;
	all = r->repeats * r->threads;
	total->timed_calls += r->what->calls * all;
	return (struct took){ .core_ns = (double)(ended - begun) * cores / (double)all,
			      .processor_ns = (double)processor / (double)all };
}

/* The repetitions in a round: fewer with a slow tracker than with the bare driver. */
static long find_repeats(const struct bench_case *what, const struct bench_plan *plan,
			 void (*from)(struct descent *d), struct bench_total *total)
{
	struct round r = { .what = what, .repeats = 64, .threads = 1 };
	double ns;

	while (ns = run_round(&r, plan, from, total).core_ns, ns * (double)r.repeats < ROUND_NS / 4)
		r.repeats *= 2;
	return (long)(ROUND_NS / ns);
}

/* Returns how many numbers of threads there are. */
static size_t read_thread_counts(int counts[BENCH_THREADS_MAX])
{
	const char *text = getenv("BENCH_THREADS");
	size_t count = 0;
	int used;

	for (text = text ? text : thread_counts;
	     count < BENCH_THREADS_MAX && sscanf(text, "%d%n", &counts[count], &used) == 1;
	     text += used) {
		if (counts[count] < 1 || counts[count] > BENCH_THREADS_MAX) {
			fprintf(stderr, "calls: BENCH_THREADS must be from 1 to %d\n",
				BENCH_THREADS_MAX);
			exit(2);
		}
		count++;
	}
	return count;
}

static bool is_wanted(const struct bench_case *what, const char *only)
{
	return !only || !strcmp(what->name, only);
}

struct bench_total bench_calls(const struct bench_plan *plan)
{
	int threads[BENCH_THREADS_MAX];
	size_t thread_count = read_thread_counts(threads);
	void (*from)(struct descent * d) = find_level();
	struct bench_total total = { 0 };
	const char *only = getenv("BENCH_CASE");
	long repeats[BENCH_CASES_MAX];

	for (size_t i = 0; i < plan->case_count; i++)
		repeats[i] = is_wanted(&plan->cases[i], only) ?
				     find_repeats(&plan->cases[i], plan, from, &total) :
				     0;
	for (int n = 0; n < plan->rounds; n++)
		for (size_t i = 0; i < plan->case_count; i++)
			for (size_t t = 0; t < thread_count && repeats[i]; t++) {
				struct round r = { .what = &plan->cases[i],
						   .repeats = repeats[i],
						   .threads = threads[t] };
				struct took took = run_round(&r, plan, from, &total);

				printf("sample\t%s\t%u\t%d\t%.2f\t%.2f\n", r.what->name,
				       r.what->calls, r.threads, took.core_ns, took.processor_ns);
			}
	printf("timed calls\t%ld\n", total.timed_calls);
	return total;
}

void bench_once(void (*run)(void *self, long repeats), void *self)
{
	static void (*from)(struct descent * d);
	struct worker w = { .descent = { .run = run, .self = self } };
	cpu_set_t one;
	int cores;

	if (!from)
		from = find_level();
	one_cpu(&one, &cores);
	w.from = from;
	w.cpus = &one;
	run_workers(&w, 1);
}

int bench_rounds(int argc, char **argv, int usual)
{
	int rounds = argc > 1 ? atoi(argv[1]) : usual;

	if (argc > 2 || rounds < 1) {
		fprintf(stderr, "usage: %s [ROUNDS]\n", argv[0]);
		exit(2);
	}
	return rounds;
}
