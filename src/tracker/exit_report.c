/* SPDX-License-Identifier: MIT */
/* exit_report.c - what the tracker logs at exit: driver residue and living handles. */
#include "tracker/tracker.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/small_printf.h"
#include "guest/loaded_modules.h"
#include "guest/recorder.h"
#include "guest/settings.h"
#include "tracker/creation_sites.h"
#include "tracker/log.h"
#include "tracker/residue_sums.h"

enum { SHOWN_MAX = 100, FRAMES_SHOWN = 16 };

/*
 * Resources that the API means to live as long as the process are not reported, nor are blocks of
 * pools: the log is about the driver.
 */
static bool is_reported(void *context, const struct gt_entry *entry)
{
	(void)context;
	return !(gt_kinds[gt_entry_kind(entry)].habits & (GT_LASTING | GT_POOLED));
}

static void log_frame(const struct gt_symbol *s)
{
	gt_log_add("\n      %s (", s->function ? s->function : "??");
	if (s->file)
		gt_log_add("%s:%u)", s->file, s->line);
	else
		gt_log_add("%s+0x%" PRIx64 ")", s->module ? s->module : "?", s->offset);
}

static void log_entry(const struct gt_entry *e, const struct gt_symbol *symbols,
		      size_t symbol_count)
{
	gt_log_open(GT_LOG_ERROR);
	gt_log_add("STILL ALIVE AT EXIT: %s handle=0x%" PRIx64,
		   gt_labels[gt_kinds[gt_entry_kind(e)].label], e->handle);
	if (e->size)
		gt_log_add(", %" PRIu64 " bytes", e->size);
	if (e->owner)
		gt_log_add(", owner=0x%" PRIx64, e->owner);
	gt_log_add(", %s by %s, thread %u",
		   gt_functions[e->function].effect == GT_RETAIN ? "retained" : "created",
		   gt_function_names[e->function], e->tid);
	for (size_t i = 0; i < symbol_count && i < FRAMES_SHOWN; i++)
		log_frame(&symbols[i]);
	if (gt_creation_stack_is_outdated(e->stack))
		gt_log_add("\n      (a library was unloaded since: frames in it may have wrong "
			   "names)");
	gt_log_close();
}

static void log_living_handles(void)
{
	size_t count, shown;
	struct gt_entry *entries;
	struct gt_creation_sites *origins;

	if (!gt_log_wants(GT_LOG_ERROR))
		return;
	entries = gt_live_table_snapshot(&count, is_reported, NULL);
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
	gt_live_table_free(entries);
}

static int64_t total_of(int64_t (*kb_of)(enum gt_label label))
{
	int64_t total = 0;

	for (int i = 0; i < GT_LABEL_COUNT; i++)
		total += kb_of((enum gt_label)i);
	return total;
}

/* "6464 KB, CommandList 6400, EventPool 64" */
static const char *sums_text(int64_t (*kb_of)(enum gt_label label))
{
	static char text[2048];
	size_t used = (size_t)gt_snprintf(text, sizeof text, "%" PRId64 " KB", total_of(kb_of));

	for (int i = 0; i < GT_LABEL_COUNT && used < sizeof text; i++)
		if (kb_of((enum gt_label)i))
			used += (size_t)gt_snprintf(text + used, sizeof text - used,
						    ", %s %" PRId64, gt_labels[i],
						    kb_of((enum gt_label)i));
	return text;
}

static void log_summary(enum gt_log_level level, int64_t total)
{
	gt_log_open(level);
	gt_log_add("\n=== MEMORY LEAK SUMMARY ===\n");
	for (int i = 0; i < GT_LABEL_COUNT; i++)
		if (gt_residue_kb((enum gt_label)i))
			gt_log_add("  %s leaks: %" PRId64 " KB\n", gt_labels[i],
				   gt_residue_kb((enum gt_label)i));
	gt_log_add("  TOTAL LEAKS: %" PRId64 " KB\n===========================", total);
	gt_log_close();
}

/* Always logs the sums; the threshold only decides whether they are called a leak. */
static void log_residue(void)
{
	int64_t threshold_kb = gt_settings_get()->verdict_kb, total = total_of(gt_residue_kb);
	bool is_leak = total > threshold_kb;
	enum gt_log_level level = is_leak                 ? GT_LOG_ERROR :
				  gt_tracker_has_warned() ? GT_LOG_WARNING :
							    GT_LOG_INFO;

	if (!total)
		gt_log(level, "no memory leaks: 0 KB left behind by the driver in all%s",
		       level == GT_LOG_WARNING ? ", what was warned of has not gone on" : "");
	else if (gt_log_wants(level))
		log_summary(level, total);
	if (total && !is_leak)
		gt_log(level,
		       "TOTAL LEAKS of %" PRId64 " KB are not above %" PRId64
		       " KB (GPUTRACK_VERDICT_KB): they may be the driver's caches",
		       total, threshold_kb);
	if (total_of(gt_residue_once_kb))
		gt_log(GT_LOG_INFO, "kept by the driver once, on first use: %s",
		       sums_text(gt_residue_once_kb));
}

void gt_tracker_end(void)
{
	if (!gt_tracker_is_on())
		return;
	gt_recorder_info("residue", sums_text(gt_residue_kb));
	gt_recorder_info("residue_once", sums_text(gt_residue_once_kb));
	if (!gt_log_wants(GT_LOG_CRITICAL))
		return;
	log_residue();
	log_living_handles();
}
