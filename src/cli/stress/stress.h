/* SPDX-License-Identifier: MIT */
/*
 * stress.h - allocates and frees GPU memory at a given rate: the plan, the APIs, the workers.
 *
 * An event is one call that allocates or frees. With `threads` workers, event number g of the whole
 * run is made by worker g % threads, g / rate seconds after the start: the times are absolute, so
 * that delays are caught up with and the rate is met exactly.
 */
#pragma once

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/mem.h"

struct gt_stress_plan {
	uint64_t rate;        /* events per second; 0: as fast as possible */
	uint64_t size_bytes;  /* of an allocation */
	double free_ratio;    /* fraction of the allocations that is freed, 0 to 1 */
	uint64_t duration_ns; /* 0: until it is stopped */
	uint64_t events;      /* stop after this many; 0: no limit */
	uint32_t threads;     /* at least 1 */
};

struct gt_stress_totals {
	uint64_t allocations, frees, failed; /* successful calls, and failed ones */
	uint64_t cleared;                    /* how often memory ran out and everything was freed */
	uint64_t live;                       /* blocks left */
	uint64_t elapsed_ns;
};

enum { GT_STRESS_APIS = 3, GT_STRESS_CALLS = 9 };

struct gt_stress_api;

/* A device with memory. */
struct gt_stress_device {
	const struct gt_stress_api *api;
	char name[256];
	void *context, *device, *calls[GT_STRESS_CALLS]; /* calls: the functions of api->names */
};

/* Calls return the API's own result: 0 is success. */
struct gt_stress_api {
	const char *title, *library, *library_kind; /* "CUDA", "libcuda.so.1", "CUDA driver" */
	const char *names[GT_STRESS_CALLS];         /* functions that the library must have */
	const char *allocate_name;                  /* the one that allocates, for messages */
	/* With the library loaded: finds a device and makes a context. As gt_stress_open. */
	int (*open)(struct gt_stress_device *d, const char *library, struct gt_error *error);
	int (*allocate)(struct gt_stress_device *d, uint64_t size_bytes, void **block);
	int (*release)(struct gt_stress_device *d, void *block);
	/* Called in each thread before its first call; may be NULL. */
	int (*enter)(struct gt_stress_device *d);
	/* Releases the context. */
	void (*close)(struct gt_stress_device *d);
};

/* CUDA, Level Zero, OpenCL: in the order in which they are tried. */
extern const struct gt_stress_api gt_stress_apis[GT_STRESS_APIS];

/* 0, or -errno and the error; -ENXIO: no device; -ENOENT: no library. */
int gt_stress_open(struct gt_stress_device *d, const struct gt_stress_api *api, const char *library,
		   struct gt_error *error);

/* How many of the worker's events are due `elapsed_ns` after the start. */
uint64_t gt_stress_due(const struct gt_stress_plan *plan, uint32_t worker, uint64_t elapsed_ns);
/* When the worker's event number `n`, counted from 0, is due. */
uint64_t gt_stress_moment_ns(const struct gt_stress_plan *plan, uint32_t worker, uint64_t n);
/* How many events the worker makes in total; UINT64_MAX: no limit. */
uint64_t gt_stress_budget(const struct gt_stress_plan *plan, uint32_t worker);
/* True if a worker's next event is a free, after these numbers of allocations and frees. */
bool gt_stress_frees_next(const struct gt_stress_plan *plan, uint64_t allocations, uint64_t frees);

/*
 * Runs the plan until it is done or *stopped. 0, or -errno and the error if no memory can be
 * allocated at all; the totals are valid in both cases.
 */
int gt_stress_run(const struct gt_stress_plan *plan, struct gt_stress_device *device,
		  const volatile sig_atomic_t *stopped, struct gt_stress_totals *totals,
		  struct gt_error *error);
