/* SPDX-License-Identifier: MIT */
/*
 * held.h - what libraries hold by design until the process ends.
 *
 * A runtime's pools, handles and events are no leaks of the program that uses it. The list is
 * data/held-by-libraries.supp, which is compiled into the tool: suppressions, each below a comment
 * "LIBRARY VERSION: what is held and why". A replay that is asked to (struct gt_replay) marks the
 * call sites that match; no view then counts what is alive there as leaked.
 */
#pragma once

#include "base/json.h"
#include "base/print.h"
#include "ledger/ledger.h"
#include "replay/suppressions.h"
#include "replay/view.h"

struct gt_held_entry {
	const struct gt_suppression *rule;
	char *library, *version, *reason;
	char *module; /* a pattern for the library's file */
};

/* The list; site->held is an index into it + 1. */
size_t gt_held_list(const struct gt_held_entry **list);

/* Which of the recording's modules the list has entries for; the caller frees it. */
bool *gt_held_modules(const struct gt_recording *r);
/* What site->held is to be, if something is alive there. */
uint32_t gt_held_entry_of(const struct gt_recording *r, const bool *modules,
			  struct gt_frames *frames, const struct gt_site *site);
/* Marks the sites of a finished ledger (gt_ledger_hold). */
void gt_held_find(struct gt_ledger *l, const struct gt_recording *recording,
		  struct gt_frames *frames);

/*
 * "held by libraries until exit: 53 resources, 194 MiB (PyTorch, cuBLAS)"; NULL: nothing is. The
 * caller frees it.
 */
char *gt_held_line(const struct gt_ledger *l);
/* One line with the sum; with v->show_held, a heading and the reasons. Nothing if nothing is held.
 */
void gt_held_text(struct gt_printer *p, const struct gt_view *v);
/* With v->show_held, every call site in full. */
void gt_held_groups_text(struct gt_printer *p, const struct gt_view *v);
/* "held": the sums, by entry of the list; with v->show_held, the groups. */
void gt_held_json(struct gt_json *j, const struct gt_view *v);
