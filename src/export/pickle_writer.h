/* SPDX-License-Identifier: MIT */
/*
 * pickle_writer.h - writes plain data as a pickle of protocol 2, front to back.
 *
 * Only opcodes that PyTorch's own writer in C++ uses, so that every reader of its snapshots knows
 * them. A text is written once and then referred to, and so is whatever the caller numbers.
 */
#pragma once

#include <stdint.h>
#include <stdio.h>

#include "base/containers.h"
#include "base/sink.h"

enum { GT_PICKLE_DEPTH = 8, GT_PICKLE_BATCH = 1000, GT_PICKLE_KEPT = 64 };

struct gt_pickle_writer {
	struct gt_sink sink;
	struct gt_intern *texts;
	uint32_t *text_numbers; /* by number in `texts`: + 1; 0: not written */
	size_t text_room;
	uint32_t next; /* the next object's number */
	struct {
		const char *word;
		uint32_t number;
	} words[GT_PICKLE_KEPT]; /* constants by address: each entry has the same keys */
	unsigned depth;
	struct {
		char close;     /* the opcode that takes its elements */
		unsigned count; /* elements of the batch that is open */
	} open[GT_PICKLE_DEPTH];
};

void gt_pickle_begin(struct gt_pickle_writer *w, FILE *out);
/* The end: nothing may be open. */
void gt_pickle_end(struct gt_pickle_writer *w);

/* `key`: in a dictionary, a constant; NULL: an element of a list. */
void gt_pickle_put_dict(struct gt_pickle_writer *w, const char *key);
void gt_pickle_put_list(struct gt_pickle_writer *w, const char *key);
void gt_pickle_close(struct gt_pickle_writer *w);
void gt_pickle_put_int(struct gt_pickle_writer *w, const char *key, int64_t value);
void gt_pickle_put_text(struct gt_pickle_writer *w, const char *key, const char *text);
/* The same for a constant. */
void gt_pickle_put_word(struct gt_pickle_writer *w, const char *key, const char *word);
void gt_pickle_put_bool(struct gt_pickle_writer *w, const char *key, bool value);
void gt_pickle_put_real(struct gt_pickle_writer *w, const char *key, double value);
/* Two integers as a tuple. */
void gt_pickle_put_pair(struct gt_pickle_writer *w, const char *key, int64_t a, int64_t b);

/* Numbers the list or dictionary that was closed last, to refer to it again. */
uint32_t gt_pickle_number(struct gt_pickle_writer *w);
void gt_pickle_put_again(struct gt_pickle_writer *w, const char *key, uint32_t number);
