/* SPDX-License-Identifier: MIT */
/*
 * stream.h - a recording on the inside: recording.c finds its traces and answers questions about
 * them, stream.c merges their events, catalog.c gathers what they define.
 */
#pragma once

#include "base/containers.h"
#include "trace/info.h"
#include "trace/recording.h"

/*
 * What all traces define. Each trace has numbers of its own; here equal modules, stacks, places,
 * text frames and series of several processes get one number.
 */
struct gt_catalog;

struct gt_catalog *gt_catalog_new(void);
void gt_catalog_free(struct gt_catalog *c);

/* A trace's numbers -> the catalog's. */
struct gt_catalog_map {
	uint32_t *stacks; /* by stack number */
	uint16_t *places; /* by the place's number */
	size_t place_count;
	uint16_t *series; /* by series number */
	uint32_t *phases; /* by phase number */
};

/* Adds what a process's trace defines, and takes its stacks; doing so again does no harm. */
void gt_catalog_take(struct gt_catalog *c, struct gt_catalog_map *map, uint32_t process,
		     struct gt_definitions *d);
/* Gives back the memory that serves to add stacks, until more are added. */
void gt_catalog_pack(struct gt_catalog *c);
void gt_catalog_map_fini(struct gt_catalog_map *map);
/* The number of a part of a stack. */
uint32_t gt_catalog_part(struct gt_catalog *c, uint32_t stack, const struct gt_stack_part *part);
/* The number of a stack whose frames are followed by the ranges of a phase. */
uint32_t gt_catalog_phase_stack(struct gt_catalog *c, uint32_t stack, uint32_t phase);

/* The arguments of a call during which a process ended; a thread is in one call at a time. */
struct gt_open_call {
	uint32_t tid;
	size_t count;
	uint64_t words[GT_ARGUMENTS_MAX];
};

/* One process's trace: opened when the stream reaches its start, closed when it has ended. */
struct gt_source_trace {
	struct gt_process process;
	bool is_system;   /* no process: measurements of the whole system */
	bool is_empty;    /* its process is just starting, or was killed at its start */
	bool is_left_out; /* beyond the number of processes that we read */
	bool was_running; /* when its trace was opened */
	const struct gt_recording *recording;
	struct gt_ended ended; /* as others saw it */
	uint64_t lost_first_ns, lost_last_ns;
	char *path;
	struct gt_reader *reader;
	struct gt_catalog_map map;
	uint64_t key;      /* of the latest event read; the process's start until there is one */
	uint64_t shown_ns; /* the same of the latest event returned */
	struct gt_event *unfinished; /* process.calls_in_flight of them, after all other events */
	size_t unfinished_next;
	struct gt_open_call *calls; /* by number, as `unfinished` */
	size_t call_room;
};

enum { GT_BATCH = 256 };

/* Events in order, as the traces have them but with the recording's numbers. */
struct gt_batch {
	size_t count, next; /* next: the first that has not been returned */
	uint32_t sources[GT_BATCH];
	struct gt_event events[GT_BATCH];
};

struct gt_recording {
	char *path;
	struct gt_info *info;
	struct gt_ends *ends;
	struct gt_source_trace *sources;
	size_t source_count, source_room;
	uint32_t pid;                       /* of the only process that is read; 0: all */
	size_t process_count;               /* the first sources; the others have only samples */
	uint64_t lost_elsewhere;            /* by processes that were not asked for */
	uint64_t gap_first_ns, gap_last_ns; /* of losses that belong to no process; 0: none */
	struct gt_heap heap;                /* sources by the key of their next event */
	struct gt_batch *batch;             /* that is being returned */
	struct gt_batch *own_batch;         /* filled by the caller's thread */
	struct gt_read_ahead *ahead;        /* the thread that fills others now; NULL: none */
	bool may_read_ahead;
	size_t batches; /* filled since the last step */
	bool is_stuck;  /* before another batch, the first source has a step */
	bool has_held;  /* … and this event comes after the step: */
	struct gt_event held;
	uint32_t held_source;
	size_t unopened;      /* sources that have not been reached */
	struct gt_heap ended; /* sources without further events, by the end time of their process */
	gt_process_end_fn *on_end;
	void *on_end_context;
	gt_sample_fn *on_sample;
	void *on_sample_context;
	gt_paging_fn *on_paging;
	void *on_paging_context;
	gt_touch_fn *on_touch;
	void *on_touch_context;
	struct gt_catalog *catalog;
	enum gt_part_by part_by;
	struct gt_phase_filter *phase_filter; /* NULL: none */
};

/* Fills a batch; false, and only as far as it can be, if a step has to be taken then. */
bool gt_batch_fill(struct gt_batch *b, struct gt_recording *r);

/* read_ahead.c: a thread that fills batches until a step has to be taken. */
struct gt_read_ahead;

/* True if the machine has another core for it. */
bool gt_read_ahead_is_possible(void);
/* NULL if there can be no thread. */
struct gt_read_ahead *gt_read_ahead_start(struct gt_recording *r);
/* The next batch, instead of the one before; NULL: the last one ended at a step. */
struct gt_batch *gt_read_ahead_take(struct gt_read_ahead *a);
/* Batches that were not taken are lost. */
void gt_read_ahead_stop(struct gt_read_ahead *a);

/* phase_filter.c: the events of resources that were created in other phases are left out. */
struct gt_phase_filter *gt_phase_filter_new(const struct gt_recording *r, gt_phase_fn *wants,
					    void *context);
void gt_phase_filter_free(struct gt_phase_filter *f);
void gt_phase_filter_rewind(struct gt_phase_filter *f);
/* False for an event to be left out. Call it for every event, in order. */
bool gt_phase_filter_takes(struct gt_phase_filter *f, const struct gt_event *e, uint32_t process);

/* True if a stack is missing, or is no more than the name of the API's function. */
bool gt_recording_is_bare(const struct gt_recording *r, uint32_t stack);

/* source.c; the end when the trace has been read. */
void gt_source_read_texts(struct gt_source_trace *s);
void gt_source_find_end(struct gt_source_trace *s);
/* All gaps that are known; `is_read`: the whole trace has been. */
void gt_source_find_gaps(struct gt_source_trace *s, bool is_read);
/* After an event: a gap is known before the first event that comes after its begin. */
void gt_source_follow_gaps(struct gt_source_trace *s);

/* Closes the trace; what it said about its process stays. */
void gt_source_trace_close(struct gt_source_trace *s);
