/* SPDX-License-Identifier: MIT */
/* exit_report.c - what the tracker logs at exit: driver residue and living handles. */
#include "tracker/tracker.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/table_memory.h"
#include "guest/loaded_modules.h"
#include "guest/recorder.h"
#include "guest/settings.h"
#include "tracker/creation_sites.h"
#include "tracker/log.h"
#include "tracker/residue.h"

enum { SHOWN_MAX = 100, FRAMES_SHOWN = 16 };

/* Resources that the API means to live as long as the process are not reported. */
static bool is_reported(void *context, const struct gt_entry *entry)
{
	(void)context;
	return !(gt_kinds[gt_entry_kind(entry)].habits & GT_LASTING);
}

static void format_frames(char *text, size_t size, const struct gt_symbol *symbols, size_t count)
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
	format_frames(stack, sizeof stack, symbols, symbol_count);
	gt_log(GT_LOG_ERROR,
	       "STILL ALIVE AT EXIT: %s handle=0x%" PRIx64 "%s%s, %s by %s, thread %u%s%s",
	       gt_labels[gt_kinds[gt_entry_kind(e)].label], e->handle, size, owner,
	       gt_functions[e->function].effect == GT_RETAIN ? "retained" : "created",
	       gt_function_names[e->function], e->tid, stack,
	       !gt_creation_stack_is_outdated(e->stack) ?
		       "" :
		       "\n      (a library was unloaded since: frames in it may have wrong names)");
}

static void log_living_handles(void)
{
	size_t count, shown;
	struct gt_entry *entries = gt_live_table_snapshot(&count, is_reported, NULL);
	struct gt_creation_sites *origins;

	if (gt_modules_unloaded())
		gt_creation_stacks_outdate();
	shown = count < SHOWN_MAX ? count : SHOWN_MAX;
	origins = shown ? gt_creation_sites_new(entries, shown) : NULL;
	for (size_t i = 0; i < shown; i++) {
		const struct gt_symbol *symbols = NULL;
		size_t n = origins ? gt_creation_sites_get(origins, i, &symbols) : 0;

		log_entry(&entries[i], symbols, n);
	}
	if (count > shown)
		gt_log(GT_LOG_ERROR, "STILL ALIVE AT EXIT: %zu more", count - shown);
	gt_creation_sites_free(origins);
	gt_table_free(entries);
}

/* Formats the residue of each label that has some; returns the sum. */
static int64_t format_residue(char *text, size_t size, const char *format)
{
	size_t used = 0;
	int64_t total = 0;

	*text = '\0';
	for (int i = 0; i < GT_LABEL_COUNT; i++) {
		int64_t kb = gt_residue_kb((enum gt_label)i);

		total += kb;
		if (kb && used < size)
			used += (size_t)snprintf(text + used, size - used, format, gt_labels[i],
						 kb);
	}
	return total;
}

/* Always logs the sums; the threshold only decides whether they are called a leak. */
static void log_residue(void)
{
	int64_t threshold_kb = gt_settings_get()->verdict_kb;
	char text[2048];
	int64_t total = format_residue(text, sizeof text, "  %s leaks: %" PRId64 " KB\n");
	bool is_leak = total > threshold_kb;
	enum gt_log_level level = is_leak                 ? GT_LOG_ERROR :
				  gt_tracker_has_warned() ? GT_LOG_WARNING :
							    GT_LOG_INFO;

	if (!total) {
		gt_log(level, "no memory leaks: 0 KB left behind by the driver in all%s",
		       level == GT_LOG_WARNING ? ", what was warned of has been given back" : "");
		return;
	}
	gt_log(level,
	       "\n=== MEMORY LEAK SUMMARY ===\n%s  TOTAL LEAKS: %" PRId64
	       " KB\n===========================",
	       text, total);
	if (!is_leak)
		gt_log(level,
		       "TOTAL LEAKS of %" PRId64 " KB are not above %" PRId64
		       " KB (GPUTRACK_VERDICT_KB): they may be the driver's caches",
		       total, threshold_kb);
}

/* "6464 KB, CommandList 6400, EventPool 64" */
static void record_residue(void)
{
	char text[2048], whole[sizeof text + 32];
	int64_t total = format_residue(text, sizeof text, ", %s %" PRId64);

	snprintf(whole, sizeof whole, "%" PRId64 " KB%s", total, text);
	gt_recorder_info("residue", whole);
}

void gt_tracker_end(void)
{
	if (!gt_tracker_is_on())
		return;
	record_residue();
	if (!gt_log_wants(GT_LOG_CRITICAL))
		return;
	log_residue();
	log_living_handles();
}
