/* SPDX-License-Identifier: MIT */
/*
 * reader.h - reads one trace: definitions at once, events as a stream in order of time.
 *
 * Accepts any bytes: a lane that is cut or damaged ends at its last complete record. Memory grows
 * with lanes and distinct stacks, not with events.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/containers.h"
#include "base/mem.h"
#include "event/event.h"
#include "trace/layout.h"
#include "trace/paging.h"
#include "trace/stack_tree.h"

struct gt_reader;

struct gt_trace_module {
	uint64_t start, size, bias;
	const char *path;
	uint8_t build_id[64];
	size_t build_id_size;
	uint64_t file_size;
	int64_t mtime_ns;
	bool unloaded;
};

/*
 * A frame of a stack: an ELF virtual address in a module, a bare address if the module is unknown,
 * or the number of a text frame.
 */
struct gt_trace_frame {
	uint32_t module; /* GT_NO_MODULE for none, GT_TEXT_MODULE for a text frame */
	uint64_t address;
};

#define GT_NO_MODULE   UINT32_MAX
#define GT_TEXT_MODULE (UINT32_MAX - 1)

/* The number of a frame among those interned. */
uint32_t gt_trace_frame_intern(struct gt_intern *frames, const struct gt_trace_frame *frame);

struct gt_trace_place {
	uint16_t number;
	enum gt_api api;
	const char *name;
};

/* A range within another phase; texts are "" where there is none. */
struct gt_trace_phase {
	uint32_t parent; /* number; 0: none */
	const char *name, *domain, *category;
};

/* The program's name for the resource created under `handle` at `time_ns`. */
struct gt_trace_name {
	uint64_t time_ns, handle;
	const char *name;
};

struct gt_trace_text {
	const char *key, *value;
	size_t size; /* of the value, which may contain NUL bytes */
};

/* The latest stack: its addresses, innermost first, and the nodes of its frames, outermost first.
 */
struct gt_latest_stack {
	uint64_t frames[GT_STACK_FRAMES_MAX];
	uint32_t nodes[GT_STACK_FRAMES_MAX];
	size_t count;
};

/* All definitions of a trace. */
struct gt_definitions {
	struct gt_arena strings;
	struct gt_trace_module *modules;
	size_t module_count, module_room;
	struct gt_ranges mapped;   /* module numbers by address */
	struct gt_stack_tree tree; /* of numbers of distinct frames */
	struct gt_intern *frames;  /* these, struct gt_trace_frame each; NULL: none yet */
	uint32_t *stacks;          /* stack number n is the tree's node stacks[n - 1] */
	size_t stack_count, stack_room;
	struct gt_latest_stack latest;
	struct gt_trace_place *places;
	size_t place_count, place_room;
	struct gt_trace_name *names;
	size_t name_count, name_room;
	struct gt_trace_text *texts;
	size_t text_count, text_room;
	struct gt_text_frame *text_frames; /* number n is text_frames[n - 1] */
	size_t text_frame_count, text_frame_room;
	struct gt_series *series; /* likewise */
	size_t series_count, series_room;
	struct gt_trace_phase *phases; /* likewise */
	size_t phase_count, phase_room;
	struct gt_work *works; /* likewise */
	size_t work_count, work_room;
	uint16_t *functions; /* number in the trace -> row; GT_FN_NONE if we do not know the
				function */
	uint8_t *effects;    /* … -> effect, which decides what fields its events have */
	size_t function_count, function_room;
};

/* Adds the records of one block of lane 0; false when damaged: those before the damage stay. */
bool gt_definitions_add(struct gt_definitions *d, const uint8_t *records, size_t size);
/* The frames of a stack, innermost first. */
size_t gt_definitions_stack(const struct gt_definitions *d, uint32_t stack,
			    struct gt_trace_frame frames[GT_STACK_FRAMES_MAX]);
/* Frees the stacks: only their number remains, by which events are checked. */
void gt_definitions_forget_stacks(struct gt_definitions *d);
void gt_definitions_free(struct gt_definitions *d);

/* Reads only the header. -ENODATA: the writer has created the file, but written nothing yet. */
int gt_trace_header_read(struct gt_trace_header *out, const char *path, struct gt_error *error);

int gt_reader_open(struct gt_reader **out, const char *path, struct gt_error *error);
void gt_reader_close(struct gt_reader *r);

struct gt_definitions *gt_reader_definitions(struct gt_reader *r);
/* NULL for an absent key. We have appended a NUL byte to the value. */
const struct gt_trace_text *gt_reader_text(struct gt_reader *r, const char *key);

/*
 * 1 and an event, or 0 at the end. A sample is an event without a function: time_ns, the series as
 * `handle` and the value as `size`. Paging has another handle (paging.h). A touch (touch.h) is
 * marked: see gt_event_is_touch.
 */
int gt_reader_next(struct gt_reader *r, struct gt_event *event);
/*
 * The same for as many as there are room for, and with keys up to `last_key`, but without calls
 * that have not returned; returns how many. Ends after an event behind which events are missing,
 * and says so.
 */
size_t gt_reader_read(struct gt_reader *r, struct gt_event *events, size_t most, uint64_t last_key,
		      bool *has_new_gap);
/*
 * The next event's key: its time, but never less than that of one before; false when none is left
 * but calls that have not returned.
 */
bool gt_reader_key(const struct gt_reader *r, uint64_t *key);
/* After these: 1 and the next call that had not returned when the process ended, or 0. */
int gt_reader_unfinished(struct gt_reader *r, struct gt_event *event);

/*
 * A touch: the work's number is its `owner`, the address its `handle`, and the access lies in
 * `result`, below the mark. Ranges after the work's first are `failed`. With GT_WORK_LOST as owner,
 * `size` is how much work could not be written.
 */
#define GT_WORK_LOST  UINT64_MAX
#define GT_TOUCH_MARK (1 << 30)
#define GT_ACCESSES   (GT_READS | GT_WRITES)

static inline bool gt_event_is_touch(const struct gt_event *e)
{
	return e->function == GT_FN_NONE && e->result & GT_TOUCH_MARK;
}

/* What is left of a record of touches. */
struct gt_touches {
	struct gt_touch_memory memory;
	struct gt_bytes left;
	bool has_sizes;
};

/*
 * Decodes a record of touches into `e`, whose time is that before it, with its first range;
 * while bytes are left, gt_touches_next puts the next one there. False when damaged.
 */
bool gt_touches_begin(struct gt_touches *t, const struct gt_definitions *d, struct gt_bytes *record,
		      struct gt_event *e);
bool gt_touches_next(struct gt_touches *t, struct gt_event *e);

/* Number of arguments of the unfinished call that was returned last, and their words. */
size_t gt_reader_arguments(const struct gt_reader *r, const uint64_t **words);

/* After the end: what is damaged in the trace, as a phrase; NULL: nothing. */
const char *gt_reader_damage(const struct gt_reader *r);
/* Number of events skipped because this version does not know their function. */
uint64_t gt_reader_unknown(const struct gt_reader *r);
/*
 * True if events are missing by damage, or are of functions that this version does not know: from
 * the first moment to the last; UINT64_MAX: to the end.
 */
bool gt_reader_gap(const struct gt_reader *r, uint64_t *first_ns, uint64_t *last_ns);
/* Number of threads that made calls and had not ended; whether the main thread is among them. */
uint32_t gt_reader_threads(const struct gt_reader *r, bool *has_main);
