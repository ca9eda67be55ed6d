/* SPDX-License-Identifier: MIT */
/*
 * frames.h - the recording's stacks as functions and lines, without the plumbing around them.
 *
 * Plumbing is what every stack has in common and no reader wants: the loader's and our own frames
 * on the inside, the C library's start of a program or thread on the outside. If a program or
 * library has changed since it was recorded, the names saved in the recording are used.
 */
#pragma once

#include <stdbool.h>

#include "replay/by.h"
#include "replay/frame_facts.h"
#include "replay/known_names.h"
#include "replay/own.h"
#include "symbol/symbol.h"
#include "trace/legend.h"
#include "trace/recording.h"

struct gt_frames;

struct gt_frames_options {
	bool no_symbols;                 /* module and offset only; opens no file */
	bool all_frames;                 /* with the plumbing */
	bool jit_maps;                   /* the processes have just ended: see replay/jit_names.h */
	struct gt_symbol_options symbol; /* copied; `search` must stay */
	struct gt_known_names_options known;
	struct gt_own_rules own;
	enum gt_by by;
	bool compares; /* with another recording: processes are known by their programs */
};

int gt_frames_new(struct gt_frames **out, const struct gt_recording *r,
		  const struct gt_frames_options *options);
void gt_frames_free(struct gt_frames *f);

/*
 * Stacks of no recording, as of processes that run: gt_frames_add adds them. Programs and folders
 * are added to gt_frames_own. Of the options, `own`, `by` and `all_frames` count.
 */
struct gt_frames *gt_frames_new_empty(const struct gt_frames_options *options);
/* The number of a stack of these frames, innermost first; their texts must outlive `f`. */
uint32_t gt_frames_add(struct gt_frames *f, const struct gt_frame *frames, size_t count);

/*
 * The frames of a stack, innermost first, none for stack 0. They are good until the frames of
 * GT_FRAMES_KEPT others have been asked for; their texts live as long as `f`.
 */
enum { GT_FRAMES_KEPT = 1024 };
size_t gt_frames_get(struct gt_frames *f, uint32_t stack, const struct gt_frame **frames);

/*
 * What a stack is a part of: "demo, pid 12", "thread 13 of demo, pid 12", "GPU 0". NULL: it is
 * whole. The caller frees it.
 */
char *gt_frames_part(const struct gt_frames *f, uint32_t stack);
/* Equal for the same part, 0 for a stack that is whole. */
uint64_t gt_frames_part_key(const struct gt_frames *f, uint32_t stack);
/* The words of a stack that gt_frames_add gave a number; copied. */
void gt_frames_name_part(struct gt_frames *f, uint32_t stack, const char *words);
/* The stack that it is a part of, to be said by its line; itself if it is whole. */
uint32_t gt_frames_whole(const struct gt_frames *f, uint32_t stack);

/*
 * The facts of the same frames, which need no names: good until those of another stack are asked
 * for. To be asked when the recording has been read.
 */
size_t gt_frames_facts(struct gt_frames *f, uint32_t stack, const struct gt_frame_facts **facts);

/* After how many recorded frames the stack was cut: its outermost are missing. 0: it was not. */
size_t gt_frames_cut(struct gt_frames *f, uint32_t stack);

/* Adds the current names of the stack's addresses, to be saved in the recording. */
void gt_frames_remember(struct gt_frames *f, uint32_t stack, struct gt_legend *names);

/* True when plumbing is shown, too. */
bool gt_frames_are_all(const struct gt_frames *f);
/* Whose code frames are; to be asked when the recording has been read. */
struct gt_own *gt_frames_own(struct gt_frames *f);
/*
 * For those who ask while they read: a process of the recording is known now. True if whose code
 * frames are has changed, and places with it.
 */
bool gt_frames_meet(struct gt_frames *f, uint32_t process);
enum gt_by gt_frames_by(const struct gt_frames *f);

/* What place.c keeps of a stack of the recording; zero at first. Good until the next stack. */
struct gt_place_memo {
	uint64_t key;
	uint32_t told; /* callers */
};
struct gt_place_memo *gt_frames_memo(struct gt_frames *f, uint32_t stack);

/* Marks a frame as shown: its module then counts below. */
void gt_frames_shown(struct gt_frames *f, const struct gt_frame *frame);

/* A module of the user's own, of the frames shown so far, whose symbols are incomplete. */
struct gt_frames_trouble {
	const char *path;
	enum gt_symbol_state state;
};

/* How many there are; *list is freed by the caller. */
size_t gt_frames_troubles(struct gt_frames *f, struct gt_frames_trouble **list);
