/* SPDX-License-Identifier: MIT */
/* creation_sites.h - where living resources were created: stacks, files and lines. */
#pragma once

#include "guest/recorder.h"
#include "ledger/live.h"
#include "tracker/symbolizer.h"

/*
 * Keeps a stack in the traced process. Equal stacks have the same number; 0: out of memory, or
 * stacks take 32 MiB. The trace has those too.
 */
uint32_t gt_creation_stack_put(const uint64_t *frames, size_t count);
/* A library was unloaded: addresses in the stacks that are stored so far may mean other code now.
 */
void gt_creation_stacks_outdate(void);
bool gt_creation_stack_is_outdated(uint32_t number);
/* Allocates what the first stacks will need. */
void gt_creation_stacks_warm(void);
/* Call in a child after fork, where another thread may have held the lock. */
void gt_creation_stacks_restart(void);

struct gt_creation_sites;

/* Resolves the creation stacks of all entries at once; NULL: out of memory. Borrows the entries. */
GT_EXPORT struct gt_creation_sites *gt_creation_sites_new(const struct gt_entry *entries,
							  size_t count);
/* The frames of one entry's stack as symbols, innermost first; borrowed. */
GT_EXPORT size_t gt_creation_sites_get(const struct gt_creation_sites *sites, size_t index,
				       const struct gt_symbol **symbols);
GT_EXPORT void gt_creation_sites_free(struct gt_creation_sites *sites);
