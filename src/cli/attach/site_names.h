/* SPDX-License-Identifier: MIT */
/* site_names.h - what the stacks of attached processes mean, looked up once and kept. */
#pragma once

#include "cli/attach/live_view.h"
#include "symbol/symbol.h"

struct gt_attach_names;

struct gt_attach_names *gt_attach_names_new(struct gt_attach_live *live);
void gt_attach_names_free(struct gt_attach_names *n);

/*
 * The frames of a stack, innermost first, with inlined ones and without the C++ library's unless
 * nothing else is there; 0 for none. At least `most` of them, if there are so many: no further file
 * is read than that takes. They stay, also when the process has ended; of one that ended before
 * anybody asked nothing is known.
 */
size_t gt_attach_names_get(struct gt_attach_names *n, uint16_t process, uint32_t stack, size_t most,
			   const struct gt_frame **frames);
