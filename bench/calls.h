/* SPDX-License-Identifier: MIT */
/*
 * calls.h - times calls of an API as a program makes them: from a deep stack, in one thread and in
 * several, in small rounds that take turns. Shared by the programs that drive one door each.
 * BENCH_THREADS in the environment sets the numbers of threads ("1 4"), BENCH_CASE the only case.
 *
 * Prints lines of tab-separated fields:
 *	frames	16                                   depth of the stack at each call
 *	sample	NAME	CALLS	THREADS	NS           one round; nanoseconds per repetition
 *	timed calls	100000                       of all rounds, by threads named "caller"
 *
 * NS with several threads is the time that a repetition takes a core: elapsed time, times the cores
 * that the threads had, by the repetitions of all of them.
 */
#pragma once

#include <stddef.h>

enum { BENCH_THREADS_MAX = 16, BENCH_CASES_MAX = 8, BENCH_FRAMES = 16 };

struct bench_case {
	const char *name;
	unsigned int calls;  /* API calls of one repetition */
	unsigned int events; /* … of which a recording has an event */
	void (*run)(void *self, long repeats);
};

struct bench_plan {
	const struct bench_case *cases;
	size_t case_count;               /* at most BENCH_CASES_MAX */
	void *selves[BENCH_THREADS_MAX]; /* what each thread works on: nothing is shared by them */
	int rounds;
};

/* The number of calls made, in rounds and outside them. */
struct bench_total {
	long calls, events;
	long timed_calls; /* without those that warm up */
};

/* Runs and prints all cases. */
struct bench_total bench_calls(const struct bench_plan *plan);

/* Runs once with `repeats` 0, in a thread on one CPU, with a stack of BENCH_FRAMES frames. */
void bench_once(void (*run)(void *self, long repeats), void *self);

/* The value of argv[1] as a number of rounds, or `usual` when there is none. */
int bench_rounds(int argc, char **argv, int usual);
