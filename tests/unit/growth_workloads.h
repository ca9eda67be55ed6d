/* SPDX-License-Identifier: MIT */
/*
 * growth_workloads.h - synthetic programs for the test of growth: clean ones, and ones that leak.
 *
 * Each is a loop of a few hundred to a few thousand iterations over a few seconds to hours of
 * virtual time. A seed determines everything, so that a test and a benchmark see the same programs.
 */
#pragma once

#include <math.h>
#include <stdlib.h>

#include "base/bytes.h"
#include "base/mem.h"
#include "ledger/growing_sites.h"

enum { SITE_STEADY = 1, SITE_SUBJECT, SITE_LEAK };

/* A program being run: its resources, its clock, and how far it is. */
struct workload {
	struct gt_ledger *ledger;
	struct gt_growth *growth;
	uint64_t random, next_handle;
	double seconds; /* of the whole run */
	double now;     /* 0: start, 1: end */
	unsigned iterations;
	double cycles;  /* of its own in the run, at least */
	double warm_up; /* part of the run, at most */
	bool is_object; /* the subject creates kernels, not buffers */
	uint64_t *held; /* what the subject holds, oldest first */
	size_t held_count, held_room;
};

static inline double uniform(struct workload *w)
{
	w->random += 0x9e3779b97f4a7c15u;
	return (double)(gt_mix64(w->random) >> 11) / 9007199254740992.0;
}

static inline double between(struct workload *w, double low, double high)
{
	return low + (high - low) * uniform(w);
}

/* Evenly on a logarithmic scale. */
static inline double scaled(struct workload *w, double low, double high)
{
	return low * pow(high / low, uniform(w));
}

static inline void apply(struct workload *w, struct gt_event *e)
{
	e->time_ns = 1000000000 + (uint64_t)(w->now * w->seconds * 1e9);
	gt_ledger_apply(w->ledger, e, 0);
	gt_growth_record(w->growth, w->ledger, e->time_ns);
}

static inline uint64_t create(struct workload *w, uint32_t site, uint64_t size)
{
	bool is_object = w->is_object && site == SITE_SUBJECT;
	struct gt_event e = { .function = is_object ? GT_FN_clCreateKernel : GT_FN_clCreateBuffer,
			      .stack = site,
			      .size = is_object ? 0 : size,
			      .handle = w->next_handle++ };

	apply(w, &e);
	return e.handle;
}

static inline void release(struct workload *w, uint32_t site, uint64_t handle)
{
	bool is_object = w->is_object && site == SITE_SUBJECT;

	apply(w, &(struct gt_event){ .function = is_object ? GT_FN_clReleaseKernel :
							     GT_FN_clReleaseMemObject,
				     .handle = handle });
}

/* The subject holds one more. */
static inline void take(struct workload *w, uint64_t size)
{
	GT_GROW(w->held, w->held_count, w->held_room);
	w->held[w->held_count++] = create(w, SITE_SUBJECT, size);
}

/* The subject gives back one of them: any, or the oldest. */
static inline void give(struct workload *w, bool any)
{
	size_t i = any ? (size_t)(uniform(w) * (double)w->held_count) : 0;

	if (!w->held_count)
		return;
	release(w, SITE_SUBJECT, w->held[i]);
	memmove(&w->held[i], &w->held[i + 1], (--w->held_count - i) * sizeof *w->held);
}

/* As many as `count`, taken and given back. */
static inline void hold(struct workload *w, size_t count, uint64_t size)
{
	while (w->held_count < count)
		take(w, size);
	while (w->held_count > count)
		give(w, true);
}

/* What a shape was given at the start of the run: numbers whose meaning is its own. */
struct shape {
	double a, b, c, level;
	uint64_t size;
};

/* An iteration of each clean program; `begins` in its first one, which chooses the numbers. */
typedef void gt_workload(struct workload *w, struct shape *s, bool begins);

static inline void steady_loop(struct workload *w, struct shape *s, bool begins)
{
	if (begins)
		s->a = between(w, 0, 50);
	hold(w, (size_t)s->a, s->size);
	release(w, SITE_SUBJECT, create(w, SITE_SUBJECT, s->size));
}

/* A pool grows evenly to its size, and stays. */
static inline void pool(struct workload *w, struct shape *s, bool begins)
{
	if (begins) {
		s->a = between(w, 0.02, w->warm_up);
		s->b = scaled(w, 5, 1000);
	}
	hold(w, (size_t)(s->b * fmin(w->now / s->a, 1)), s->size);
}

/* Ever fewer are missing, as in a cache of what was used before. */
static inline void filling_cache(struct workload *w, struct shape *s, bool begins)
{
	if (begins) {
		s->a = scaled(w, 0.02, 0.2);
		s->b = scaled(w, 5, 2000);
	}
	hold(w, (size_t)(s->b * (1 - exp(-w->now / s->a))), s->size);
}

/* A cache with room for some of the keys, which drops the oldest. */
static inline void lru_cache(struct workload *w, struct shape *s, bool begins)
{
	if (begins) {
		s->a = scaled(w, 4, 0.9 * w->warm_up * w->iterations); /* entries */
		s->b = between(w, 0.9, 1); /* of a key that is not there */
	}
	if (uniform(w) > s->b)
		return;
	take(w, (uint64_t)((double)s->size * between(w, 0.5, 1.5)));
	while ((double)w->held_count > s->a)
		give(w, false);
}

static inline void sawtooth(struct workload *w, struct shape *s, bool begins)
{
	if (begins) {
		s->a = scaled(w, 3, w->iterations / w->cycles); /* entries when it empties */
		s->b = between(w, 0, 0.5);                      /* what then stays */
	}
	take(w, s->size);
	if ((double)w->held_count >= s->a)
		hold(w, (size_t)(s->a * s->b), s->size);
}

/* Batches of random size, each freed before the next. */
static inline void batches(struct workload *w, struct shape *s, bool begins)
{
	if (begins)
		s->a = scaled(w, 2 * w->cycles / w->iterations, 0.5);
	if (uniform(w) < s->a) {
		hold(w, 0, 0);
		hold(w, (size_t)scaled(w, 1, 100), s->size);
	}
}

/* Every phase has a level of its own. */
static inline void phases(struct workload *w, struct shape *s, bool begins)
{
	if (begins) {
		s->a = between(w, 2, 9);
		s->c = -1;
	}
	if (floor(w->now * s->a) > s->c) {
		s->c = floor(w->now * s->a);
		s->level = between(w, 1, 200);
	}
	hold(w, (size_t)(s->level + between(w, 0, 4)), s->size);
}

static inline void bursts(struct workload *w, struct shape *s, bool begins)
{
	if (begins)
		s->a = scaled(w, w->cycles / w->iterations, 0.15);
	if (uniform(w) < s->a)
		hold(w, w->held_count + (size_t)between(w, 5, 100), s->size);
	hold(w, (size_t)((double)w->held_count * 0.9), s->size);
}

/* Arrivals and departures at random, in balance: a queue of jobs. */
static inline void arrivals(struct workload *w, struct shape *s, bool begins)
{
	if (begins) {
		s->a = scaled(w, 5, w->iterations / 20.0); /* mean life, in iterations */
		hold(w, (size_t)s->a, s->size);
	}
	take(w, (uint64_t)((double)s->size * between(w, 0.5, 1.5)));
	for (size_t n = w->held_count, i = 0; i < n; i++)
		if (uniform(w) * s->a < 1)
			give(w, true);
}

static inline void a_few_steps(struct workload *w, struct shape *s, bool begins)
{
	if (begins)
		s->a = between(w, 1, 7);
	hold(w, 1 + (size_t)(w->now * s->a), s->size);
}

/* Kernels are built when they are first needed. */
static inline void lazy_kernels(struct workload *w, struct shape *s, bool begins)
{
	if (begins) {
		w->is_object = true;
		s->a = between(w, 2, 40);
		s->b = scaled(w, 4, 30);
	}
	hold(w, (size_t)(1 + s->a * log1p(w->now * s->b * s->b) / log1p(s->b * s->b)), 0);
}

/* A walk between two walls. */
static inline void bounded_walk(struct workload *w, struct shape *s, bool begins)
{
	if (begins) {
		s->a = between(w, 4, 20);
		s->level = s->a / 2;
	}
	s->level += uniform(w) < 0.5 ? 1 : -1;
	s->level = fmin(fmax(s->level, 0), s->a);
	hold(w, (size_t)s->level, s->size);
}

/* An array that doubles when it is full: the new block before the old one goes. */
static inline void doubling_array(struct workload *w, struct shape *s, bool begins)
{
	if (begins)
		s->level = 1;
	if (w->now * w->iterations < s->level)
		return;
	s->level *= 2;
	take(w, s->size * (uint64_t)s->level);
	while (w->held_count > 1)
		give(w, false);
}

/* As the load of a day: up and down. */
static inline void tides(struct workload *w, struct shape *s, bool begins)
{
	if (begins) {
		s->a = between(w, 1.5, 8);
		s->b = scaled(w, 10, 200);
		s->c = between(w, 0, 6.28);
	}
	hold(w, (size_t)(s->b * (1.2 + sin(s->c + 6.28 * s->a * w->now) + between(w, 0, 0.2))),
	     s->size);
}

static const struct {
	const char *name;
	gt_workload *iterate;
	bool has_levels; /* it changes by more than a leak adds: that is found at sites of its own
			  */
} clean_workloads[] = {
	{ "steady loop", steady_loop, false },
	{ "pool that fills", pool, false },
	{ "cache that fills ever slower", filling_cache, false },
	{ "LRU cache", lru_cache, false },
	{ "sawtooth", sawtooth, false },
	{ "batches", batches, false },
	{ "bursts", bursts, false },
	{ "random arrivals", arrivals, false },
	{ "a few steps", a_few_steps, false },
	{ "kernels built when needed", lazy_kernels, false },
	{ "bounded random walk", bounded_walk, false },
	{ "phases", phases, true },
	{ "array that doubles", doubling_array, true },
	{ "tides", tides, true },
};

enum { CLEAN_WORKLOADS = sizeof clean_workloads / sizeof *clean_workloads };
enum { LEAKS_MIN = 60, LEAKS_MAX = 1000 }; /* in a run */

/* How a program leaks; per_run 0: not at all. */
struct leak {
	double per_run;  /* how many in all */
	double begins;   /* part of the run */
	bool is_random;  /* at random moments, otherwise at even ones */
	bool in_subject; /* by the call site of the program's other memory */
	bool at_end;     /* given back when the program ends */
};

static inline void leak_now(struct workload *w, const struct leak *leak, uint64_t size,
			    uint64_t *leaked)
{
	double due = leak->per_run * (w->now - leak->begins) / (1 - leak->begins);
	double each = leak->per_run / w->iterations / (1 - leak->begins);

	if (!(leak->per_run > 0) || w->now < leak->begins)
		return;
	while (leak->is_random ? uniform(w) < each : (double)*leaked + 1 <= due) {
		create(w, leak->in_subject ? SITE_SUBJECT : SITE_LEAK, size);
		++*leaked;
		each -= 1;
	}
}

/* Runs a workload with a leak; true if something is said to grow. */
static inline bool run_workload(gt_workload *iterate, uint64_t seed, const struct leak *leak)
{
	struct workload w = { .ledger = gt_ledger_new(),
			      .growth = gt_growth_new(),
			      .random = gt_mix64(seed + 1),
			      .cycles = leak->per_run > 0 ? 30 : 4,
			      .warm_up = leak->per_run > 0 ? 0.5 : 0.85,
			      .next_handle = 1 };
	struct shape s = { 0 };
	struct gt_rise *rises;
	uint64_t leaked = 0;
	size_t count;

	w.seconds = scaled(&w, 3, 100000);
	w.iterations = (unsigned)scaled(&w, 300, 3000);
	s.size = (uint64_t)scaled(&w, 100, 1e7);
	for (unsigned i = 0; i < w.iterations; i++) {
		w.now = (i + between(&w, 0, 0.5)) / w.iterations;
		release(&w, SITE_STEADY, create(&w, SITE_STEADY, 1000));
		iterate(&w, &s, !i);
		leak_now(&w, leak, s.size, &leaked);
	}
	w.now = 1;
	hold(&w, 0, 0);
	for (uint64_t h = 1; leak->at_end && h < w.next_handle; h++)
		release(&w, SITE_LEAK, h);
	gt_ledger_finish(w.ledger);
	rises = gt_growth_find(w.growth, w.ledger, &count);
	free(rises);
	free(w.held);
	gt_growth_free(w.growth);
	gt_ledger_free(w.ledger);
	return count;
}

/* The clean program of this shape and seed: true is a false alarm. */
static inline bool clean_grows(size_t shape, uint64_t seed)
{
	return run_workload(clean_workloads[shape].iterate, seed, &(struct leak){ 0 });
}

/*
 * The same with a leak: true is as it should be. Its own cycles are shorter than a thirtieth of the
 * run, and its caches fill in the first half.
 */
static inline bool leaky_grows(size_t shape, uint64_t seed)
{
	struct workload w = { .random = gt_mix64(~seed) };
	struct leak leak = { .per_run = scaled(&w, LEAKS_MIN, LEAKS_MAX),
			     .begins = between(&w, 0, 0.25),
			     .is_random = uniform(&w) < 0.5,
			     .in_subject = uniform(&w) < 0.5 && !clean_workloads[shape].has_levels,
			     .at_end = uniform(&w) < 0.5 };

	return run_workload(clean_workloads[shape].iterate, seed, &leak);
}
