/* SPDX-License-Identifier: MIT */
/*
 * model_program.h - random programs, and what their drivers know of every object.
 *
 * This is plain and slow, and shares nothing with src/ledger: objects are rows of an array, and a
 * call changes those that it names. Calls of several threads overlap in time, but a thread uses an
 * object only when the call that gave it to the program has returned.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "event/event.h"

enum {
	MODEL_PROCESSES = 4,
	MODEL_LANES = 4,
	MODEL_CALLS = 1500, /* of a process */
	MODEL_OBJECTS = 600,
};

/* What a child does for its owner. */
enum model_tie {
	TIE_NONE,
	TIE_KEEPS, /* the driver keeps the owner's handle valid */
	TIE_HOLDS, /* and the owner's memory is in use: it is not given back before */
	TIE_TAKEN, /* it ends with its owner */
};

/* A sort of object: the functions of its life. */
struct model_sort {
	uint16_t create, retain, end; /* retain: GT_FN_NONE if it cannot be */
	int owner;                    /* sort; -1: none */
	enum model_tie tie;
	bool has_size, ranged;
	bool inside;   /* an address inside it ends it, too */
	bool borrowed; /* ending it twice is no mistake that anybody can see */
};

enum {
	CL_CONTEXT,
	CL_QUEUE,
	CL_BUFFER,
	CL_SUBBUFFER,
	CL_IMAGE, /* made of a buffer */
	CL_PROGRAM,
	CL_KERNEL,
	CL_EVENT,
	CL_SVM,
	ZE_CONTEXT,
	ZE_MEMORY,
	ZE_POOL,
	ZE_EVENT,
	ZE_MAPPING,
	ZE_IPC,
	CU_CONTEXT,
	CU_MEMORY,
	CU_STREAM,
	CU_PHYSICAL,
	CU_MAPPING,
	CU_GRAPH,
	MODEL_SORTS,
};

extern const struct model_sort model_sorts[MODEL_SORTS];

struct model_object {
	int sort, owner; /* owner: object; -1: none */
	uint64_t handle, size, time_ns, frame;
	uint32_t own;  /* references of the program */
	uint32_t kept; /* children that keep its handle valid */
	uint32_t held; /* of them, those that hold its memory */
	bool exists;   /* the driver has it */
	bool was_ended_by_call;
	uint64_t used_until; /* when the last call on it returned that was no end */
	uint64_t ended_at;
};

struct model_call {
	struct gt_event event; /* its stack is number 0 until it is written */
	uint64_t frame; /* of its stack: no other call of the process has it, creations may */
	uint64_t returned_ns;
	int lane;
	uint32_t block; /* the lane's, in which it was written */
	bool is_mistake;
	bool is_inside; /* it names an address inside the object */
	bool is_lost;   /* the reader cannot see it */
};

enum model_end {
	END_EXIT,
	END_QUICK,
	END_EXEC,
	END_SIGNAL,
	END_UNKNOWN,
	END_RUNNING,
	END_DETACHED,
	END_STOPPED,
	MODEL_ENDS,
};

struct model_process {
	uint32_t pid, ppid;
	uint64_t start_ns, end_ns;
	struct model_object objects[MODEL_OBJECTS];
	int object_count;
	struct model_call calls[MODEL_CALLS];
	int call_count;
	int lane_count;
	bool has_left[MODEL_LANES]; /* the thread had ended before its process did */
	/* the last call of some lanes, in which the process ended; its effect never came */
	bool is_open[MODEL_LANES];
	struct gt_event open[MODEL_LANES];
	uint64_t open_frame[MODEL_LANES];
	enum model_end end;
	/* what a reader may know of what is missing */
	const char *damage;  /* NULL: nothing is */
	uint64_t loss_first; /* the first moment that the damage may concern */
	uint64_t loss_last;  /* the last one; UINT64_MAX: to the end */
	bool is_late;        /* what it did before was not recorded */

	/* while it is made */
	uint64_t now, lane_until[MODEL_LANES];
	uint64_t free_handles[3][MODEL_OBJECTS];
	int free_count[3], fresh[3];
	uint8_t ranges[2]; /* bits: pages in use */
};

struct model_program {
	struct model_process processes[MODEL_PROCESSES];
	int process_count;
	uint64_t random;     /* state of the random numbers, for all who need some */
	uint64_t most_steps; /* of a process, before it cleans up; 0: any number */
};

/* The same for the same seed; with fewer steps, the beginning of it. */
void model_program_make(struct model_program *program, uint64_t seed, uint64_t most_steps);

/* The program has not given it back, as far as the driver knows. */
bool model_is_alive(const struct model_process *p, const struct model_object *o);

/* A number below `most`. */
uint64_t model_random(struct model_program *program, uint64_t most);
