/* SPDX-License-Identifier: MIT */
/* worker.c - threads that allocate and free at the times of the plan. */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/mem.h"
#include "base/tool.h"
#include "base/process.h"
#include "cli/stress/stress.h"

enum {
	BURST = 64,               /* events between two readings of the clock */
	NAP_MIN_NS = 50000,       /* above 20,000 events/s they are made in bursts */
	NAP_MAX_NS = 100000000,   /* short enough to notice a stop soon */
	GRACE_NS = 100000000,     /* for events that are due at the end */
	DEBT_MAX_NS = 1000000000, /* a longer delay is not caught up with: we were suspended */
};

struct worker {
	const struct gt_stress_plan *plan;
	struct gt_stress_device *device;
	const volatile sig_atomic_t *stopped;
	struct run *run;
	pthread_t thread;
	uint32_t number;
	uint64_t start_ns, done;
	uint64_t zero_ns; /* the origin of the times: the start, unless we were suspended */
	void **blocks;    /* live blocks, the newest last */
	size_t room;
	_Atomic size_t held; /* number of them; other workers read it */
	bool refused;
	uint64_t planned_frees; /* required by the ratio */
	struct gt_stress_totals totals;
} __attribute__((aligned(64)));

struct run {
	struct worker *workers;
	uint32_t count;
	_Atomic int refusal; /* the API's result, once no memory can be allocated at all */
	_Atomic bool refused;
};

uint64_t gt_stress_due(const struct gt_stress_plan *plan, uint32_t worker, uint64_t elapsed_ns)
{
	uint64_t last = (uint64_t)((unsigned __int128)elapsed_ns * plan->rate / 1000000000u);

	return last < worker ? 0 : (last - worker) / plan->threads + 1;
}

uint64_t gt_stress_moment_ns(const struct gt_stress_plan *plan, uint32_t worker, uint64_t n)
{
	unsigned __int128 event = (unsigned __int128)n * plan->threads + worker;

	/* rounded up, so that it is due at that time */
	return (uint64_t)((event * 1000000000u + plan->rate - 1) / plan->rate);
}

uint64_t gt_stress_budget(const struct gt_stress_plan *plan, uint32_t worker)
{
	uint64_t all = plan->events ? plan->events : UINT64_MAX, timed;

	if (plan->rate && plan->duration_ns) {
		timed = (uint64_t)((unsigned __int128)plan->duration_ns * plan->rate / 1000000000u);
		all = timed < all ? timed : all;
	}
	if (all == UINT64_MAX)
		return all;
	return all <= worker ? 0 : (all - worker - 1) / plan->threads + 1;
}

bool gt_stress_frees_next(const struct gt_stress_plan *plan, uint64_t allocations, uint64_t frees)
{
	/* 0.1 is a little less than a tenth in binary: ten of them must still make one */
	return (double)frees + 1 <= (double)allocations * plan->free_ratio + 1e-6;
}

static size_t held_by_all(const struct run *run)
{
	size_t held = 0;

	for (uint32_t i = 0; i < run->count; i++)
		held += atomic_load_explicit(&run->workers[i].held, memory_order_relaxed);
	return held;
}

static void release(struct worker *w)
{
	size_t held = atomic_load_explicit(&w->held, memory_order_relaxed) - 1;

	if (w->device->api->release(w->device, w->blocks[held]))
		w->totals.failed++;
	else
		w->totals.frees++;
	atomic_store_explicit(&w->held, held, memory_order_relaxed);
}

/* No memory at all: the run ends. */
static void refuse(struct worker *w, int result)
{
	w->refused = true;
	atomic_store(&w->run->refusal, result);
	atomic_store(&w->run->refused, true);
}

/* Memory has run out: frees everything and continues. */
static void clear(struct worker *w, int result)
{
	const struct timespec nap = { .tv_nsec = 1000000 };

	w->totals.failed++;
	if (w->held) {
		w->totals.cleared++;
		while (w->held)
			release(w);
	} else if (held_by_all(w->run)) {
		nanosleep(&nap, NULL); /* the others will run out soon as well */
	} else {
		refuse(w, result);
	}
}

static void allocate(struct worker *w)
{
	size_t held = atomic_load_explicit(&w->held, memory_order_relaxed);
	void *block = NULL;
	int result;

	GT_GROW(w->blocks, held, w->room);
	result = w->device->api->allocate(w->device, w->plan->size_bytes, &block);
	if (result) {
		clear(w, result);
		return;
	}
	w->totals.allocations++;
	w->blocks[held] = block;
	atomic_store_explicit(&w->held, held + 1, memory_order_relaxed);
}

static void make_event(struct worker *w)
{
	if (gt_stress_frees_next(w->plan, w->totals.allocations, w->planned_frees)) {
		w->planned_frees++;
		release(w);
	} else {
		allocate(w);
	}
	w->done++;
}

static bool is_over(const struct worker *w, uint64_t now_ns)
{
	const struct gt_stress_plan *plan = w->plan;

	if (*w->stopped || atomic_load_explicit(&w->run->refused, memory_order_relaxed))
		return true;
	return plan->duration_ns &&
	       now_ns - w->start_ns >= plan->duration_ns + (plan->rate ? GRACE_NS : 0);
}

static uint64_t due_now(struct worker *w, uint64_t now_ns, uint64_t budget)
{
	uint64_t due = w->done + BURST, moment;

	if (w->plan->rate) {
		moment = gt_stress_moment_ns(w->plan, w->number, w->done);
		if (now_ns > w->zero_ns + moment + DEBT_MAX_NS)
			w->zero_ns = now_ns - moment;
		due = gt_stress_due(w->plan, w->number, now_ns - w->zero_ns);
	}
	return due < budget ? due : budget;
}

static void nap_until_next(const struct worker *w, uint64_t now_ns)
{
	uint64_t at = w->zero_ns + gt_stress_moment_ns(w->plan, w->number, w->done);
	struct timespec until;

	if (at < now_ns + NAP_MIN_NS)
		at = now_ns + NAP_MIN_NS;
	if (at > now_ns + NAP_MAX_NS)
		at = now_ns + NAP_MAX_NS;
	until = (struct timespec){ (time_t)(at / 1000000000u), (long)(at % 1000000000u) };
	clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
}

/* The last event is due a little before the end. */
static void wait_for_end(const struct worker *w)
{
	uint64_t end = w->start_ns + w->plan->duration_ns, now;

	if (!w->plan->rate || w->plan->events)
		return;
	while ((now = gt_now_ns()) < end && !is_over(w, now)) {
		uint64_t left = end - now < NAP_MAX_NS ? end - now : NAP_MAX_NS;

		nanosleep(&(struct timespec){ .tv_nsec = (long)left }, NULL);
	}
}

static void *work(void *context)
{
	struct worker *w = context;
	uint64_t budget = gt_stress_budget(w->plan, w->number), now, due;
	int result = w->device->api->enter ? w->device->api->enter(w->device) : 0;

	if (result)
		refuse(w, result);
	while (w->done < budget && !is_over(w, now = gt_now_ns())) {
		due = due_now(w, now, budget);
		for (int i = 0; i < BURST && w->done < due && !w->refused; i++)
			make_event(w);
		if (w->done >= due && w->done < budget && w->plan->rate)
			nap_until_next(w, gt_now_ns());
	}
	wait_for_end(w);
	return NULL;
}

static void add_totals(struct gt_stress_totals *sum, struct worker *w)
{
	sum->allocations += w->totals.allocations;
	sum->frees += w->totals.frees;
	sum->failed += w->totals.failed;
	sum->cleared += w->totals.cleared;
	sum->live += w->held;
	free(w->blocks);
}

int gt_stress_run(const struct gt_stress_plan *plan, struct gt_stress_device *device,
		  const volatile sig_atomic_t *stopped, struct gt_stress_totals *totals,
		  struct gt_error *error)
{
	struct run run = { .count = plan->threads };
	uint64_t start_ns = gt_now_ns();
	uint32_t started = 0;
	int e = 0;

	*totals = (struct gt_stress_totals){ 0 };
	run.workers = aligned_alloc(64, plan->threads * sizeof *run.workers);
	if (!run.workers)
		return gt_error_set(error, -ENOMEM,
				    "out of memory for %u threads; choose fewer with --threads",
				    plan->threads);
	memset(run.workers, 0, plan->threads * sizeof *run.workers);
	for (uint32_t i = 0; i < plan->threads; i++)
		run.workers[i] = (struct worker){ .plan = plan,
						  .device = device,
						  .number = i,
						  .stopped = stopped,
						  .run = &run,
						  .start_ns = start_ns,
						  .zero_ns = start_ns };
	while (started < plan->threads && !e) {
		struct worker *w = &run.workers[started];

		e = gt_thread_start(&w->thread, work, w);
		started += !e;
	}
	if (e)
		atomic_store(&run.refused, true);
	for (uint32_t i = 0; i < started; i++)
		pthread_join(run.workers[i].thread, NULL);
	totals->elapsed_ns = gt_now_ns() - start_ns;
	for (uint32_t i = 0; i < plan->threads; i++)
		add_totals(totals, &run.workers[i]);
	free(run.workers);
	if (e)
		return gt_error_set(error, -e,
				    "cannot start thread %u: %s; choose fewer with --threads",
				    started + 1, strerror(e));
	if (run.refused)
		return gt_error_set(error, -ENOMEM,
				    "cannot allocate a single block of %llu bytes on %s: %s "
				    "returned %d; choose another --allocate-size",
				    (unsigned long long)plan->size_bytes, device->name,
				    device->api->allocate_name, run.refusal);
	return 0;
}
