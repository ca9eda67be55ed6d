/* SPDX-License-Identifier: MIT */
/*
 * select.h - sets of kinds by the words people use for them.
 *
 * A word is an API ("opencl"), a kind ("event", "device-memory": a blank is written as a dash), a
 * kind's plural, a type of the API's own ("cl_mem", which is several kinds), or
 *
 *   any      everything
 *   memory   kinds that have bytes of their own
 *   object   all others
 *
 * "API.WORD" is what both have in common. All of it comes from kinds.def and apis.def.
 */
#pragma once

#include "api/functions.h"

struct gt_select {
	bool has[GT_API_COUNT][GT_KIND_COUNT];
};

/* Adds what a word of `size` bytes names; false, and nothing changed, when it names nothing. */
bool gt_select_add(struct gt_select *s, const char *word, size_t size);

/* "opencl.device-memory", the word for exactly one kind, into `out`; cut at `size`. */
void gt_select_word(char *out, size_t size, enum gt_api api, enum gt_kind kind);
