/* SPDX-License-Identifier: MIT */
/*
 * probes.h - the BPF programs in the kernel: loaded once, attached to any number of libraries.
 *
 * Probes belong to files, so every process that maps the file hits them; gt_probes_target selects
 * the processes that are recorded. Traced processes are neither stopped nor changed.
 */
#pragma once

#include "base/mem.h"
#include "capture/ebpf/python_records.h"
#include "capture/ebpf/probe_rows.h"
#include "capture/ebpf/rings.h"

enum gt_probe_way {
	GT_PROBES_BEST,    /* the first of these that the kernel has */
	GT_PROBES_SESSION, /* one link for entry and return of all functions; Linux 6.13 */
	GT_PROBES_MULTI,   /* one link for all entries, one for all returns; Linux 6.6 */
	GT_PROBES_PERF,    /* two perf events for each function */
};

extern const char *const gt_probe_way_names[]; /* in their order, ends in NULL */

/* How stacks are unwound. */
enum gt_unwinding {
	GT_UNWIND_AUTO,  /* by tables in the kernel if it can, otherwise by frame pointers */
	GT_UNWIND_FP,    /* by frame pointers */
	GT_UNWIND_DWARF, /* from a copy of the stack */
};

extern const char *const gt_unwinding_names[]; /* likewise */

/* Defaults. */
enum {
	GT_PROBES_DEPTH = 64,
	GT_PROBES_STACK = 8192,
};

struct gt_probes_options {
	bool everyone;    /* all processes; otherwise those of gt_probes_target */
	bool selects;     /* except those of gt_probes_ignore */
	bool no_children; /* children of gt_probes_target do not count as such */
	uint32_t frames;  /* of each stack; 0: no stacks */
	enum gt_unwinding unwinding;
	uint32_t stack_bytes; /* of a copy of the stack */
	size_t ring_bytes;    /* of all rings together; a power of two, whole pages */
	enum gt_probe_way way;
	bool python; /* Python's frames too */
};

struct gt_probes;
struct gt_unwind_maps;

int gt_probes_new(struct gt_probes **out, const struct gt_probes_options *options,
		  struct gt_error *error);
/* Stops recording at once, whatever is attached. */
void gt_probes_stop(struct gt_probes *p);
/* Detaches; where the kernel is slow at that, a child process waits for it instead of us. */
void gt_probes_free(struct gt_probes *p);

const struct gt_plan *gt_probes_plan(const struct gt_probes *p, unsigned row);

int gt_probes_target(struct gt_probes *p, uint32_t pid);
bool gt_probes_has_target(const struct gt_probes *p, uint32_t pid);
/* Forgets a target that has turned out to have ended. */
void gt_probes_untarget(struct gt_probes *p, uint32_t pid);
/* True if none of the targets and of their children is left. */
bool gt_probes_is_idle(const struct gt_probes *p);
/* A process that has made a call: its further ones, until an exec, are not wanted. */
void gt_probes_ignore(struct gt_probes *p, uint32_t pid);
/* The calls of these APIs, a bit each, end in gt_tap_call: their returns are not probed. */
void gt_probes_tapped(struct gt_probes *p, uint32_t pid, uint32_t doors);
/* Says where the interpreter of a process is. */
void gt_probes_python(struct gt_probes *p, uint32_t pid, const struct gt_probe_python *row);
/* Describes a function of Python for whoever runs it, once it is probed as GT_PROBE_PYTHON +
 * number. */
void gt_probes_python_entry(struct gt_probes *p, uint32_t number,
			    const struct gt_probe_python_entry *entry);
/* Calls of a process that have been lost so far; 0: of processes that are not followed. */
struct gt_probe_losses gt_probes_lost(const struct gt_probes *p, uint32_t pid);
/* The number of all processes; also sets the number of lost news. */
uint64_t gt_probes_lost_total(const struct gt_probes *p, uint64_t *news);

/* A function in a library: its row, and its offset in the file. */
struct gt_probe_point {
	uint64_t offset;
	uint16_t row;
};

/* Attaches to an open file; `name` is for messages. */
int gt_probes_attach(struct gt_probes *p, int fd, const char *name,
		     const struct gt_probe_point *points, size_t count, struct gt_error *error);

/* The rings of calls (readable when one fills up) and that of news about processes. */
struct gt_rings *gt_probes_calls(struct gt_probes *p);
struct gt_ring *gt_probes_news(struct gt_probes *p);
/* Where the programs read how many bytes of calls wait outside the rings. */
uint64_t *gt_probes_backlog(struct gt_probes *p);

/* How stacks are unwound here: never GT_UNWIND_AUTO if the kernel cannot. */
enum gt_unwinding gt_probes_unwinding(const struct gt_probes *p);
/* False also if the kernel refused the walk of Python's frames. */
bool gt_probes_has_python(const struct gt_probes *p);
/* For GT_UNWIND_AUTO: the maps of its tables. */
struct gt_unwind_maps gt_probes_unwind_maps(const struct gt_probes *p);
