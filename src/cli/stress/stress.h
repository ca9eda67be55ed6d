/* SPDX-License-Identifier: MIT */
/*
 * stress.h - GPU memory made and given back at a given pace: the plan, the APIs, the workers.
 *
 * An event is one call that allocates or frees. With `threads` workers, event number g of the whole
 * run is made by worker g % threads, g / rate seconds after the start: the moments are absolute, so
 * what came late is caught up with and the rate is met exactly.
 */
#pragma once

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/mem.h"

struct gt_stress_plan {
	uint64_t rate;        /* events per second; 0: as fast as it goes */
	uint64_t size_bytes;  /* of an allocation */
	double free_ratio;    /* share of the allocations that is freed, 0 to 1 */
	uint64_t duration_ns; /* 0: until it is stopped */
	uint64_t events;      /* stop after so many; 0: no such limit */
	uint32_t threads;     /* at least 1 */
};

struct gt_stress_totals {
	uint64_t allocations, frees, failed; /* calls that succeeded, and that did not */
	uint64_t cleared;                    /* times that memory ran out and all was given back */
	uint64_t live;                       /* blocks left */
	uint64_t elapsed_ns;
};

/* A device that memory can be had from. Calls give the API's own result: 0 is success. */
struct gt_stress_device {
	char name[256];
	const char *make_name, *give_back_name; /* functions, for messages */
	int (*make)(struct gt_stress_device *d, uint64_t size_bytes, void **block);
	int (*give_back)(struct gt_stress_device *d, void *block);
	/* In each thread before its first call; NULL: nothing is to be done. */
	int (*enter)(struct gt_stress_device *d);
	/* Lets go of the context. */
	void (*close)(struct gt_stress_device *d);
	struct {
		void *context, *device, *call[4];
	} own; /* the API's */
};

struct gt_stress_api {
	const char *name, *title, *library; /* "cuda", "CUDA", "libcuda.so.1" */
	/* 0, or -errno and the sentence; -ENXIO: works, but has no device; -ENOENT: not here. */
	int (*open)(struct gt_stress_device *d, const char *library, struct gt_error *error);
};

extern const struct gt_stress_api gt_stress_cuda, gt_stress_levelzero, gt_stress_opencl;

/* How many of the worker's events are due `elapsed_ns` after the start. */
uint64_t gt_stress_due(const struct gt_stress_plan *plan, uint32_t worker, uint64_t elapsed_ns);
/* When the worker's event number `n`, counted from 0, is due. */
uint64_t gt_stress_moment_ns(const struct gt_stress_plan *plan, uint32_t worker, uint64_t n);
/* How many events the worker makes in all; UINT64_MAX: no end. */
uint64_t gt_stress_budget(const struct gt_stress_plan *plan, uint32_t worker);
/* True when a worker's next event is a free, after so many allocations and frees. */
bool gt_stress_frees_next(const struct gt_stress_plan *plan, uint64_t allocations, uint64_t frees);

/*
 * Runs the plan until it is done or *stopped. 0, or -errno and the sentence when memory cannot be
 * had at all; the totals are true in both cases.
 */
int gt_stress_run(const struct gt_stress_plan *plan, struct gt_stress_device *device,
		  const volatile sig_atomic_t *stopped, struct gt_stress_totals *totals,
		  struct gt_error *error);

/* For the back ends: the library, and its functions by name. */
void *gt_stress_load(const char *library, struct gt_error *error);
/* Fills `calls` by `names`, both ended by NULL; false when one is missing. */
bool gt_stress_find(void *library, const char *const *names, void **calls);
