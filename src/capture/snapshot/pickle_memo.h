/* SPDX-License-Identifier: MIT */
/*
 * pickle_memo.h - the numbered objects of a pickle that later parts of it may refer to.
 *
 * Pickles number almost every object. Four bytes are kept for those that can be referred to again,
 * nothing for the others.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct gt_pickle_memo {
	uint32_t **pages; /* NULL: nothing in it */
	size_t page_count;
	uint64_t next; /* the number that MEMOIZE gives */
};

/* 0: undefined, or not kept. */
uint32_t gt_pickle_memo_get(const struct gt_pickle_memo *m, uint64_t number);
void gt_pickle_memo_set(struct gt_pickle_memo *m, uint64_t number, uint32_t value);
void gt_pickle_memo_fini(struct gt_pickle_memo *m);
