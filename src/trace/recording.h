/* SPDX-License-Identifier: MIT */
/*
 * recording.h - a folder NAME.gt: the traces of all its processes as one stream of events.
 *
 * Modules, stacks and places get numbers of the recording, so that the same code has the same stack
 * in several processes.
 */
#pragma once

#include "base/mem.h"
#include "trace/reader.h"

struct gt_recording;

enum { GT_PROCESSES_MAX = 1 << 16 };

struct gt_recording_options {
	uint32_t pid; /* only this process; 0: all */
	size_t most;  /* processes to read; 0: GT_PROCESSES_MAX. Further ones are unread */
};

/* How a process ended, as far as anybody recorded it. */
enum gt_end {
	GT_END_UNKNOWN,  /* nobody saw how, or even whether it ended */
	GT_END_RUNNING,  /* it is running now */
	GT_END_EXIT,     /* its exit handlers ran: it returned from main or called exit */
	GT_END_QUICK,    /* it had an exit status, but no exit handlers ran: _exit, quick_exit */
	GT_END_EXEC,     /* it executed another program, which keeps the pid */
	GT_END_SIGNAL,   /* it was killed by a signal */
	GT_END_DETACHED, /* `gputrack attach` detached from it while it ran */
	GT_END_STOPPED,  /* its recording stopped while it ran */
};

struct gt_process {
	uint32_t pid, ppid;
	uint64_t start_ns, start_real_ns;
	uint64_t end_ns;  /* 0 while it runs, or if nobody has seen it end */
	uint64_t last_ns; /* of its last event; grows while reading */
	enum gt_trace_state state;
	int error; /* why recording stopped */
	uint64_t lost, lost_stacks, unknown;
	char *file;         /* within the folder */
	char *program;      /* path of the executable, "" when unknown */
	char *command;      /* arguments separated by blanks, "" when unknown */
	char *directory;    /* it was in when its trace began, "" when unknown */
	char *host;         /* host name, "" when unknown */
	char *boot;         /* the host's boot, "" when unknown: pids mean nothing after another */
	char *uid, *user;   /* of its user, and the name; "" when unknown */
	char *container;    /* id or name of its container, "" for none or unknown */
	char *pod;          /* name or id of its pod, likewise */
	char *rank;         /* within an MPI or similar job, "" for none */
	char *csv;          /* path of its resource tracker's CSV, "" for none */
	char *residue;      /* driver residue found by the tracker: judge/residue.h; "" for none */
	char *residue_once; /* likewise, what was kept once */
	char *unfollowed;   /* functions it got by address that are not tracked, blanks between */
	char *damage;       /* NULL: none; complete when its events have been read */
	bool has_full_ranges; /* more different ranges than were told apart */
	uint64_t stack_depth; /* most frames recorded of a stack; 0: unknown */
	bool went_on;         /* `gputrack attach` detached from it; complete like `damage` */
	bool is_snapshot;     /* it went on after an imported snapshot; likewise */
	enum gt_end end;      /* likewise */
	int exit_status;      /* -1: unknown */
	int signal;           /* that killed it; 0: none, or unknown */
	bool is_oom_kill;     /* the kernel killed it, because memory of the host ran out */
	/*
	 * Events may be missing from the first moment to the last: lost, damaged, or after
	 * recording had stopped. 0: none is missing. UINT64_MAX: to the end. Complete like
	 * `damage`, and at any time for what has been read.
	 */
	uint64_t gap_first_ns, gap_last_ns;
	size_t calls_in_flight;  /* that it ended in the middle of; complete like `damage` */
	uint32_t threads_at_end; /* that made calls and had not ended; complete like `damage` */
	bool main_at_end;        /* the main thread is one of them */
	bool is_attached;        /* recorded from outside: _exit looks like exit */
	bool follows_touches;    /* GPU work and the memory it names was recorded */
	bool is_late; /* it ran before recording began: what it had created then is unknown */
	bool unread;  /* its trace cannot be read; `damage` says why */
};

/*
 * True if the process is running now: the trace has no end, this is the host that recorded it,
 * which has not been booted since, and the process with this pid is older than the trace.
 */
bool gt_process_runs(const struct gt_process *process);

struct gt_recorded_module {
	const char *path;
	uint8_t build_id[64];
	size_t build_id_size;
	uint64_t file_size;
	int64_t mtime_ns;
};

/* True for the file name of a trace. */
bool gt_recording_is_trace(const char *name);

int gt_recording_open(struct gt_recording **out, const char *path,
		      const struct gt_recording_options *options, struct gt_error *error);
void gt_recording_close(struct gt_recording *r);

/* A value of the folder's `info`; "" for an absent key. */
const char *gt_recording_info(const struct gt_recording *r, const char *key);
/* True if nothing is known of any process, not even that its events were lost. */
bool gt_recording_is_empty(const struct gt_recording *r);
/* Processes that made calls but had no access to the recording. */
uint64_t gt_recording_unrecorded(const struct gt_recording *r);
const char *gt_recording_path(const struct gt_recording *r);

/* The only process that is read; 0: all. */
uint32_t gt_recording_pid(const struct gt_recording *r);
size_t gt_recording_process_count(const struct gt_recording *r);
const struct gt_process *gt_recording_process(const struct gt_recording *r, size_t index);
/* Number of lost events: of these processes, and those that belong to no known process. */
uint64_t gt_recording_lost(const struct gt_recording *r);

/*
 * 1 and the next event of all processes in order of time, with its process; 0 at the end. Stack and
 * place are the recording's numbers. An unfinished call is returned only if its process died in it.
 */
int gt_recording_next(struct gt_recording *r, struct gt_event *event, uint32_t *process);
/*
 * The same for as many as are at hand, until something comes between them that callbacks are called
 * for: how many, and their processes. Good until the next call.
 */
size_t gt_recording_read(struct gt_recording *r, const struct gt_event **events,
			 const uint32_t **processes);
/* Number of arguments of an unfinished call that has been read, and their words; 0: unknown. */
size_t gt_recording_arguments(const struct gt_recording *r, uint32_t process,
			      const struct gt_event *call, const uint64_t **words);
typedef void gt_process_end_fn(void *context, uint32_t process, uint64_t time_ns);

/*
 * Calls `on_end` when a process has ended and another continues, before the first event after that
 * end is returned. Not called for ends after the last event, whatever samples follow.
 */
void gt_recording_on_end(struct gt_recording *r, gt_process_end_fn *on_end, void *context);
/* A measurement made while the program ran: memory of a GPU, of the process. */
struct gt_sample {
	uint64_t time_ns;
	int64_t value;
	uint16_t series; /* the recording's number */
};

#define GT_NO_PROCESS UINT32_MAX

/* `process` is GT_NO_PROCESS for measurements of the whole system. */
typedef void gt_sample_fn(void *context, uint32_t process, const struct gt_sample *sample);

/* Calls `on_sample` for each sample, in order of time among the events. */
void gt_recording_on_sample(struct gt_recording *r, gt_sample_fn *on_sample, void *context);
typedef void gt_paging_fn(void *context, uint32_t process, const struct gt_paging *paging);

/* The same for what became of pages of unified memory. */
void gt_recording_on_paging(struct gt_recording *r, gt_paging_fn *on_paging, void *context);
/* GPU work, and a range of memory that it names; work that names several is reported for each. */
struct gt_touch {
	uint64_t time_ns; /* of the call's return */
	uint32_t tid;
	const struct gt_work *work; /* until the callback returns; NULL: … */
	uint64_t lost;              /* … so much work could not be recorded before this moment */
	struct gt_touched range;    /* access 0: the work names none */
	bool is_first;              /* of the work's ranges */
};

typedef void gt_touch_fn(void *context, uint32_t process, const struct gt_touch *touch);

/* Calls `on_touch` for all recorded GPU work (`gputrack run --touches`), in order of time. */
void gt_recording_on_touch(struct gt_recording *r, gt_touch_fn *on_touch, void *context);
/* Back to the first event. */
void gt_recording_rewind(struct gt_recording *r);
/*
 * Until gt_recording_stop, another thread may read events before they are asked for, where there
 * are many, and a core for it. They are the same. Nobody may open or close other recordings
 * meanwhile.
 */
void gt_recording_read_ahead(struct gt_recording *r);
/* Ends reading: gt_recording_rewind comes next. */
void gt_recording_stop(struct gt_recording *r);

/*
 * What stacks are parted by: a call site is then what one process, thread, device or phase has of
 * it.
 */
enum gt_part_by { GT_PART_NONE, GT_PART_PROCESS, GT_PART_THREAD, GT_PART_DEVICE, GT_PART_PHASE };
/* Fields that the stacks are not parted by are 0. */
struct gt_stack_part {
	uint32_t process, tid, place, phase;
};

/*
 * Before the first event is read: stacks that create or retain something get a number for each
 * part, with the same frames. Stacks of all other calls stay whole.
 */
void gt_recording_part_stacks(struct gt_recording *r, enum gt_part_by by);
/* False for a stack that is whole. */
bool gt_recording_stack_part(const struct gt_recording *r, uint32_t stack,
			     struct gt_stack_part *part);
/* The number of the whole stack that this is a part of; its own if it is whole. */
uint32_t gt_recording_stack_whole(const struct gt_recording *r, uint32_t stack);

/*
 * Frames of a stack, innermost first; modules are numbered by the recording. They are good until
 * the next stack is asked for.
 */
size_t gt_recording_stack(const struct gt_recording *r, uint32_t stack,
			  const struct gt_trace_frame **frames);
/* The same frames by number, which is small; and the frame of a number. */
size_t gt_recording_stack_numbers(const struct gt_recording *r, uint32_t stack,
				  uint32_t numbers[GT_STACK_FRAMES_MAX]);
const struct gt_trace_frame *gt_recording_frame(const struct gt_recording *r, uint32_t number);
/* How many recorded frames it has, counted up to `most`. */
size_t gt_recording_stack_depth(const struct gt_recording *r, uint32_t stack, size_t most);
/* The depth at which the recorder may have cut the stack; 0: it is complete. */
size_t gt_recording_stack_cut(const struct gt_recording *r, uint32_t stack);
size_t gt_recording_stack_count(const struct gt_recording *r);
const struct gt_recorded_module *gt_recording_module(const struct gt_recording *r, uint32_t module);
size_t gt_recording_module_count(const struct gt_recording *r);
/* A frame with module GT_TEXT_MODULE, by its address; unknown texts are "". */
const struct gt_text_frame *gt_recording_text_frame(const struct gt_recording *r, uint64_t number);
/* Series are numbered from 0 in the order in which they are read. */
const struct gt_series *gt_recording_series(const struct gt_recording *r, uint16_t series);
size_t gt_recording_series_count(const struct gt_recording *r);
/*
 * Phases are numbered from 1 in the order in which they are read; 0 is none. An event in a phase
 * whose stack is missing, or is no more than the API's function, has the phase's ranges as the
 * frames of its stack (module GT_PHASE_FRAME), the innermost first.
 */
/* All phases of the events read so far are below it. */
size_t gt_recording_phase_count(const struct gt_recording *r);
/* The innermost range: "forward", "NCCL:ncclAllReduce" of a domain, "step [category]". */
const char *gt_recording_phase_name(const struct gt_recording *r, uint32_t phase);
/* The phase around it; 0: none. */
uint32_t gt_recording_phase_parent(const struct gt_recording *r, uint32_t phase);
/* "train > forward"; "(no phase)" for 0. The caller frees it. */
char *gt_recording_phase_text(const struct gt_recording *r, uint32_t phase);
typedef bool gt_phase_fn(const struct gt_recording *r, void *context, uint32_t phase);
/*
 * Before the first event is read: only resources created in a phase that `wants` returns true for,
 * and failed calls made there. It is asked once for each phase.
 */
void gt_recording_only_phases(struct gt_recording *r, gt_phase_fn *wants, void *context);

/* "" for place 0. */
const char *gt_recording_place(const struct gt_recording *r, uint16_t place);
/* All places of the events read so far are below it. */
size_t gt_recording_place_count(const struct gt_recording *r);

/* How much is known about where an event of this function with this stack came from. */
enum gt_origin gt_recording_origin(const struct gt_recording *r, uint16_t function, uint32_t stack);
/* The program's name for the resource created under `handle` at `time_ns`; "" for none. */
const char *gt_recording_name(const struct gt_recording *r, uint32_t process, uint64_t handle,
			      uint64_t time_ns);

/* Start of the earliest process, to which shown times are relative; monotonic and real. */
uint64_t gt_recording_start_ns(const struct gt_recording *r);
uint64_t gt_recording_start_real_ns(const struct gt_recording *r);
/* How long was recorded. False: nobody was there to write that down. */
bool gt_recording_duration_ns(const struct gt_recording *r, uint64_t *ns);
