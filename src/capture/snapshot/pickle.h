/* SPDX-License-Identifier: MIT */
/*
 * pickle.h - reads a pickle of plain data from front to back, without building it in memory.
 *
 * Protocols 2 to 5, of dictionaries, lists, tuples, numbers, texts, bytes, None and booleans; plain
 * or gzipped. Nothing is executed: an opcode that would build an object is refused, and so are
 * structures that contain themselves. Each dictionary and list is handed to the caller's rules when
 * it is complete, and only what these return in its place is kept. Memory grows with distinct texts
 * and with objects that may be referred to again, never with stated lengths.
 */
#pragma once

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/mem.h"

enum gt_value_type {
	GT_VALUE_NONE,
	GT_VALUE_NUMBER, /* an integer of 64 bits, or a boolean */
	GT_VALUE_TEXT,   /* number: that of the text; those in gt_pickle.known come first */
	GT_VALUE_OTHER,  /* not needed: a tuple, bytes, a real number */
	GT_VALUE_LIST,   /* under construction */
	GT_VALUE_DICT,   /* under construction */
	GT_VALUE_MADE,   /* by the rules, in place of a list or dictionary */
};

struct gt_value {
	uint64_t number;
	uint32_t extra; /* for the rules */
	uint8_t type;
	uint8_t kind; /* of MADE, for the rules; those below GT_MADE_SHARED may be referred to again
		       */
};

enum { GT_MADE_SHARED = 4, GT_PICKLE_KEYS = 32, GT_LIST_ITEMS = 256 };

/* A dictionary: of its keys only the first GT_PICKLE_KEYS known texts. */
struct gt_dict {
	uint32_t present; /* a bit for each key */
	struct gt_value values[GT_PICKLE_KEYS];
};

/* A list: only what the rules note of its elements. */
struct gt_list {
	uint32_t kind, count; /* kind: 0 at first */
	uint64_t number, extra;
	uint64_t *items; /* GT_LIST_ITEMS, as many as `item_count` in use */
	uint32_t item_count;
};

struct gt_pickle;

/* Each returns 0, or -errno and the error: gt_pickle_refuse. */
struct gt_pickle_rules {
	/* A dictionary is complete: what stands for it? `list`: it is its next element; or NULL. */
	int (*dict)(struct gt_pickle *p, const struct gt_dict *d, struct gt_list *list,
		    struct gt_value *made);
	int (*append)(struct gt_pickle *p, struct gt_list *list, const struct gt_value *element);
	int (*list)(struct gt_pickle *p, const struct gt_list *list, struct gt_value *made);
};

struct gt_pickle_options {
	const char *path;
	const char *const *known; /* texts with the numbers from 0; ends in NULL */
	const struct gt_pickle_rules *rules;
	void *context;
	const volatile sig_atomic_t *stop; /* ends with -EINTR once it is not 0; may be NULL */
};

/* Reads all of it; `whole` stands for the outermost object. */
int gt_pickle_read(const struct gt_pickle_options *options, struct gt_value *whole,
		   struct gt_error *error);

/* For the rules. */
void *gt_pickle_context(const struct gt_pickle *p);
const char *gt_pickle_text(const struct gt_pickle *p, uint64_t number);
/* "FILE: byte N: …"; returns -EINVAL. */
int gt_pickle_refuse(struct gt_pickle *p, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
