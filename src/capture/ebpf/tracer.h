/* SPDX-License-Identifier: MIT */
/*
 * tracer.h - turns the records of the BPF programs into traces, one for each traced process.
 *
 * A process is identified by its pid, its start time and the number of its exec calls: a reused pid
 * is another process.
 */
#pragma once

#include "base/identity.h"
#include "capture/ebpf/inferred.h"
#include "capture/ebpf/libraries.h"
#include "capture/ebpf/modules.h"
#include "capture/ebpf/places.h"
#include "capture/ebpf/traced_python.h"
#include "capture/ebpf/traced_stacks.h"
#include "capture/ebpf/unwind_tables.h"
#include "capture/ebpf/wanted.h"

struct gt_tracer;

/* A traced process. */
enum { GT_TRACED_POOLS = 16 }; /* devices; those beyond share one's place */

/* The pool of a process on a device, as its last report said. */
struct gt_traced_pool {
	char name[40]; /* "": not seen yet */
	uint16_t reserved_series, allocated_series;
	uint64_t reserved, allocated, time_ns;
	uint64_t written_ns; /* time of the last sample */
};

struct gt_traced {
	uint32_t pid, parent, exec;
	uint64_t start;    /* ns since boot; 0: the kernel has not said yet, nor `exec` */
	uint64_t first_ns; /* of its first call */
	char name[64];     /* of the program, without its folder */
	struct gt_identity who;
	struct gt_modules modules;
	struct gt_contexts contexts;
	struct gt_platforms platforms;
	struct gt_ze_devices *ze_devices; /* NULL: it has not asked for any */
	struct gt_places *places;         /* of all processes */
	uint64_t places_written;          /* to its trace: a bit for each */
	struct gt_writer *writer; /* NULL: it has made no call yet, or nothing is recorded */
	uint64_t lost;            /* calls or handles that are missing */
	bool is_known;            /* its name and its modules have been read */
	bool is_seen;             /* it has made a call */
	bool is_over;             /* it has ended, or become another program */
	bool has_exited;          /* it has ended, with `exit_code` as from waitpid */
	bool has_execed;          /* it has become another program */
	bool is_late;             /* it may have made calls before it was traced */
	bool is_wanted;           /* its parent is, or gt_tracer_options.wants says so */
	bool is_unwanted;         /* gt_tracer_options.wants says so: its calls are dropped */
	int exit_code;
	uint16_t number;      /* for the listener's use */
	uint32_t other_stack; /* stands for those beyond the limit of memory; 0: there are none */

	struct gt_traced_lane *lanes; /* private, like the rest */
	size_t lane_count, lane_room;
	struct gt_traced_stacks stacks;
	struct gt_traced_python *python;    /* NULL: no frame of Python has been seen */
	uint32_t python_looks;              /* of its modules, when Python was searched for */
	struct gt_probe_losses lost_at_end; /* calls that the BPF programs counted as lost */
	const uint64_t *defining;           /* frames of the stack that is being numbered */
	size_t defining_count;
	struct gt_images *images;
	struct gt_traced_pool pools[GT_TRACED_POOLS]; /* by device */
	uint64_t looked_ns;                           /* when modules were last read */
	bool has_moved;                               /* one was no longer where it was */
	struct gt_space *space; /* its code, as the BPF programs know it; NULL: they do not */
	uint32_t space_looks;   /* how often its modules had been read then */
	uint64_t space_ns;      /* when it was told */
	struct gt_traced *next;
};

/* Callbacks while processes are traced. Any member may be NULL. */
struct gt_listener {
	void (*began)(void *context, struct gt_traced *process);
	void (*event)(void *context, struct gt_traced *process, const struct gt_event *event);
	void (*ended)(void *context, struct gt_traced *process);
	void *context;
};

struct gt_tracer_options {
	struct gt_probes_options probes;
	gt_wants_fn *wants; /* NULL: all are; only with probes.everyone and probes.selects */
	const void *wants_context;
	struct gt_listener listener;
	uint64_t max_bytes;                         /* of all traces together; 0: no limit */
	size_t max_stack_bytes;                     /* memory for stacks; 0: no limit */
	void (*look_at_gpus)(struct gt_gpus *gpus); /* NULL: nobody can */
};

int gt_tracer_new(struct gt_tracer **out, const struct gt_tracer_options *options,
		  struct gt_error *error);
/* Ends all traces and detaches. */
void gt_tracer_free(struct gt_tracer *t);

struct gt_libraries *gt_tracer_libraries(struct gt_tracer *t);

/* Starts recording into this folder, which is borrowed; before that nothing is recorded. */
void gt_tracer_record(struct gt_tracer *t, const char *folder);
/* -errno of the first process that could not be recorded; 0: none. */
int gt_tracer_error(const struct gt_tracer *t);

/* True when a traced process has loaded a library that is probed, or has made a call. */
bool gt_tracer_has_library(const struct gt_tracer *t);

/*
 * Looks for recorders of `gputrack run`, before anything is probed: its own, which is the file
 * `installed`, and if every process is traced those that run.
 */
void gt_tracer_find_recorders(struct gt_tracer *t, const char *installed);
/* Traces a process, and its children. */
int gt_tracer_follow(struct gt_tracer *t, uint32_t pid, struct gt_error *error);
/*
 * Probes the libraries that a traced process has loaded; returns their number, those that cannot be
 * probed included, or -errno.
 */
int gt_tracer_scan(struct gt_tracer *t, uint32_t pid, struct gt_error *error);
/* The same for every process of the machine. */
void gt_tracer_scan_all(struct gt_tracer *t);
/* Finds the installed Pythons, and that of a program that is going to run; NULL: none. */
void gt_tracer_find_pythons(struct gt_tracer *t, const char *program);
/* Passes everything that the kernel has collected to traces and the listener. */
void gt_tracer_drain(struct gt_tracer *t);
/* Waits until there is enough to drain, or until the timeout. */
void gt_tracer_wait(struct gt_tracer *t, unsigned milliseconds);
/* The descriptor that it waits at, for those who wait at others too; then gt_tracer_wait for 0. */
int gt_tracer_fd(const struct gt_tracer *t);
/* Stops recording, and drains what was recorded. */
void gt_tracer_stop(struct gt_tracer *t);
/* False also if the kernel refused the walk of Python's frames. */
bool gt_tracer_has_python(const struct gt_tracer *t);

/* True if no process given to gt_tracer_follow is left, and no child of one. */
bool gt_tracer_is_idle(const struct gt_tracer *t);
/* The number of traced processes that have not ended. */
size_t gt_tracer_running(const struct gt_tracer *t);
uint64_t gt_tracer_lost(const struct gt_tracer *t);
/* When calls were lost that may be of any process: first 0: never; last UINT64_MAX: without end. */
void gt_tracer_lost_times(const struct gt_tracer *t, uint64_t *first_ns, uint64_t *last_ns);
/* Where resources live: what the places of events mean. */
const struct gt_places *gt_tracer_places(const struct gt_tracer *t);
/* The programs and libraries that traced processes have mapped. */
const struct gt_images *gt_tracer_images(const struct gt_tracer *t);
/* True when so many files are mapped as code that frames in further ones have no names. */
bool gt_tracer_has_all_images(const struct gt_tracer *t);
/* Calls whose stack did not fit into the memory for stacks. */
uint64_t gt_tracer_other_stacks(const struct gt_tracer *t);
/* Calls whose stack was cut short: no frame pointer or unwind table led on. */
uint64_t gt_tracer_cut_stacks(const struct gt_tracer *t);
/* The tables in the kernel by which stacks are unwound; false: there are none. */
bool gt_tracer_tables(const struct gt_tracer *t, struct gt_unwind_size *size);

/* The frames of a stack of a process that has not ended, innermost first, at most `most`. */
size_t gt_traced_stack(const struct gt_traced *p, uint32_t stack, struct gt_traced_frame *frames,
		       size_t most);
