/* SPDX-License-Identifier: MIT */
/*
 * recording.h - a folder NAME.gt: the traces of all its processes as one stream of events.
 *
 * Modules, stacks and places get numbers of the recording's own, so that what several processes
 * did through the same code is the same stack.
 */
#pragma once

#include "base/mem.h"
#include "trace/reader.h"

struct gt_recording;

enum { GT_PROCESSES_MAX = 1 << 16 };

struct gt_recording_options {
	uint32_t pid; /* only this process; 0: all */
	size_t most;  /* processes; 0: GT_PROCESSES_MAX. Further ones count as unread */
};

struct gt_process {
	uint32_t pid, ppid;
	uint64_t start_ns, start_real_ns;
	uint64_t end_ns;  /* 0 while it runs, or when nobody has seen its end */
	uint64_t last_ns; /* of its last event; grows while reading */
	enum gt_trace_state state;
	int error; /* why recording stopped */
	uint64_t lost, lost_stacks, unknown;
	char *file;           /* within the folder */
	char *program;        /* path of the executable, "" when unknown */
	char *command;        /* arguments, as one would type them, "" when unknown */
	char *host;           /* where it ran, "" when unknown */
	char *rank;           /* within an MPI or similar job, "" for none */
	char *csv;            /* where its resource tracker wrote, "" for nowhere */
	char *residue;        /* what its driver kept, by the tracker: judge/residue.h; "" */
	char *damage;         /* NULL: none; known when its events have been read */
	uint64_t stack_depth; /* frames that it kept of a stack; 0: unknown */
	bool went_on;         /* `gputrack attach` let go of it; known as `damage` is */
	bool unread;          /* nothing of its trace can be read; `damage` says why */
};

/*
 * True when the process has not ended and is there now, on the machine that recorded it, under its
 * number and since before the trace began.
 */
bool gt_process_runs(const struct gt_process *process);

/* True when it runs, or did when nothing more was recorded of it: what it holds may be in use. */
bool gt_process_goes_on(const struct gt_process *process);

struct gt_recorded_module {
	const char *path;
	uint8_t build_id[64];
	size_t build_id_size;
	uint64_t file_size;
	int64_t mtime_ns;
};

/* True of what a trace in a recording is called. */
bool gt_recording_is_trace(const char *name);

int gt_recording_open(struct gt_recording **out, const char *path,
		      const struct gt_recording_options *options, struct gt_error *error);
void gt_recording_close(struct gt_recording *r);

/* The folder's `info`: "" when the key is not there. */
const char *gt_recording_info(const struct gt_recording *r, const char *key);
const char *gt_recording_path(const struct gt_recording *r);

/* The only process that was asked for; 0: all. */
uint32_t gt_recording_pid(const struct gt_recording *r);
size_t gt_recording_process_count(const struct gt_recording *r);
const struct gt_process *gt_recording_process(const struct gt_recording *r, size_t index);
/* Events that are missing: of these processes, and of those whose processes nobody knows. */
uint64_t gt_recording_lost(const struct gt_recording *r);

/*
 * 1 and an event with the process it belongs to, 0 at the end. Stack and place are the recording's
 * numbers. In order of time over all processes. A call that a process is in is given out when the
 * process has died in it.
 */
int gt_recording_next(struct gt_recording *r, struct gt_event *event, uint32_t *process);
typedef void gt_process_end_fn(void *context, uint32_t process, uint64_t time_ns);

/*
 * Has `on_end` called when a process has ended and another goes on: before the first event after
 * that end is given out. Nobody hears of the ends at the very end, whatever is measured after it.
 */
void gt_recording_on_end(struct gt_recording *r, gt_process_end_fn *on_end, void *context);
/* Something that was measured while the program ran: memory of a GPU, of the process. */
struct gt_sample {
	uint64_t time_ns;
	int64_t value;
	uint16_t series; /* the recording's number */
};

#define GT_NO_PROCESS UINT32_MAX

/* `process` is GT_NO_PROCESS for what was measured beside all processes. */
typedef void gt_sample_fn(void *context, uint32_t process, const struct gt_sample *sample);

/* Has `on_sample` called for samples, in their turn among the events. */
void gt_recording_on_sample(struct gt_recording *r, gt_sample_fn *on_sample, void *context);
/* Back to the first event. */
void gt_recording_rewind(struct gt_recording *r);

/* Frames of a stack, innermost first; modules are numbered by the recording. */
size_t gt_recording_stack(const struct gt_recording *r, uint32_t stack,
			  const struct gt_trace_frame **frames);
/* The frames at which the recorder stopped, though there may have been more; 0: it has all. */
size_t gt_recording_stack_cut(const struct gt_recording *r, uint32_t stack);
size_t gt_recording_stack_count(const struct gt_recording *r);
const struct gt_recorded_module *gt_recording_module(const struct gt_recording *r, uint32_t module);
size_t gt_recording_module_count(const struct gt_recording *r);
/* The frame that a frame with module GT_TEXT_MODULE means; unknown texts are "". */
const struct gt_text_frame *gt_recording_text_frame(const struct gt_recording *r, uint64_t number);
/* Series are numbered from 0 as they are met. */
const struct gt_series *gt_recording_series(const struct gt_recording *r, uint16_t series);
size_t gt_recording_series_count(const struct gt_recording *r);
/* "" for place 0. */
const char *gt_recording_place(const struct gt_recording *r, uint16_t place);
/* Of the events read so far: every place is below it. */
size_t gt_recording_place_count(const struct gt_recording *r);

/* How much is known of where an event of this function with this stack came from. */
enum gt_origin gt_recording_origin(const struct gt_recording *r, uint16_t function, uint32_t stack);
/* What the program calls the resource created under `handle` at `time_ns`; "" for nothing. */
const char *gt_recording_name(const struct gt_recording *r, uint32_t process, uint64_t handle,
			      uint64_t time_ns);

/* Start of the earliest process, monotonic and real; what times are shown relative to. */
uint64_t gt_recording_start_ns(const struct gt_recording *r);
uint64_t gt_recording_start_real_ns(const struct gt_recording *r);
