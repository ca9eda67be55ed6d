/* SPDX-License-Identifier: MIT */
/* process_text.h - what a process is called, and whether it still runs: its resources may be in
 * use. */
#pragma once

#include "base/print.h"
#include "ledger/groups.h"
#include "replay/view.h"
#include "trace/recording.h"

/* For those whose name is not known. */
#define GT_PROGRAM_UNKNOWN "(unknown program)"

/*
 * "demo"; "python3 train.py" where the program is an interpreter; "python3 (multiprocessing)" for
 * a worker that multiprocessing has spawned. "" where it is not known. The caller frees it.
 */
char *gt_process_name(const struct gt_process *process);

/* Which of a recording's processes are running; each is looked up in /proc only once. */
struct gt_running {
	const struct gt_recording *recording;
	uint8_t *known;
};

void gt_running_init(struct gt_running *r, const struct gt_recording *recording);
void gt_running_fini(struct gt_running *r);
/* True if its process is running, or was when recording stopped. */
bool gt_running_has(struct gt_running *r, const struct gt_entry *entry);

/* How many of these resources are held by such processes. */
uint64_t gt_running_count(const struct gt_recording *recording, const struct gt_groups *groups);
/* True if such processes hold all of them: they may be in use and are not leaks yet. */
bool gt_running_holds(const struct gt_view *v, const struct gt_groups *groups);
/* "LEAKED", or "ALIVE" if running processes hold all of them. */
void gt_running_word(struct gt_printer *p, const struct gt_view *v, const struct gt_groups *groups);
/* How many running processes hold, as a line; nothing for none. */
void gt_running_line(struct gt_printer *p, const struct gt_view *v, const struct gt_groups *groups);
