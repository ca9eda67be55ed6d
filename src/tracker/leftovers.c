/* SPDX-License-Identifier: MIT */
/* leftovers.c - tells the log, at the end of the process, which handles are still alive. */
#include "tracker/leftovers.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "tracker/log.h"
#include "tracker/origins.h"
#include "tracker/live_table.h"

enum { SHOWN_MAX = 100, FRAMES_SHOWN = 16 };

/* What the API means to live as long as the process is nothing to tell of. */
static bool is_left(void *context, const struct gt_entry *entry)
{
	(void)context;
	return !(gt_kinds[gt_entry_kind(entry)].habits & GT_LASTING);
}

static void put_frames(char *text, size_t size, const struct gt_symbol *symbols, size_t count)
{
	size_t used = 0;

	for (size_t i = 0; i < count && i < FRAMES_SHOWN && used < size; i++) {
		const struct gt_symbol *s = &symbols[i];
		const char *function = s->function ? s->function : "??";

		if (s->file)
			used += (size_t)snprintf(text + used, size - used, "\n      %s (%s:%u)",
						 function, s->file, s->line);
		else
			used += (size_t)snprintf(text + used, size - used,
						 "\n      %s (%s+0x%" PRIx64 ")", function,
						 s->module ? s->module : "?", s->offset);
	}
}

static void log_entry(const struct gt_entry *e, const struct gt_symbol *symbols,
		      size_t symbol_count)
{
	char stack[4096] = "", size[48] = "", owner[48] = "";

	if (e->size)
		snprintf(size, sizeof size, ", %" PRIu64 " bytes", e->size);
	if (e->owner)
		snprintf(owner, sizeof owner, ", owner=0x%" PRIx64, e->owner);
	put_frames(stack, sizeof stack, symbols, symbol_count);
	gt_log(GT_LOG_ERROR,
	       "STILL ALIVE AT EXIT: %s handle=0x%" PRIx64 "%s%s, created by %s, thread %u%s",
	       gt_labels[gt_kinds[gt_entry_kind(e)].label], e->handle, size, owner,
	       gt_function_names[e->function], e->tid, stack);
}

void gt_leftovers_log(void)
{
	size_t count, shown;
	struct gt_entry *entries = gt_live_table_snapshot(&count, is_left, NULL);
	struct gt_origins *origins;

	shown = count < SHOWN_MAX ? count : SHOWN_MAX;
	origins = shown ? gt_origins_new(entries, shown) : NULL;
	for (size_t i = 0; i < shown; i++) {
		const struct gt_symbol *symbols = NULL;
		size_t n = origins ? gt_origins_get(origins, i, &symbols) : 0;

		log_entry(&entries[i], symbols, n);
	}
	if (count > shown)
		gt_log(GT_LOG_ERROR, "STILL ALIVE AT EXIT: %zu more", count - shown);
	gt_origins_free(origins);
	free(entries);
}
