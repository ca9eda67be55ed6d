/* SPDX-License-Identifier: MIT */
/*
 * ending.h - how a process ended, and what may therefore be said of what it left alive.
 *
 * A resource has leaked only if its process ended by itself and no event is missing that could have
 * been its end. Every view and every exit status asks here.
 */
#pragma once

#include "base/json.h"
#include "ledger/groups.h"
#include "replay/view.h"

enum gt_fate {
	GT_FATE_LEAKED,
	GT_FATE_PERHAPS, /* its end may be among the events that are missing */
	GT_FATE_KILLED,  /* its process was ended, before it could release it */
	GT_FATE_ALIVE,   /* its process continued after the last event */
	GT_FATE_COUNT,
};

/* As a heading, "ALIVE WHEN KILLED"; in a line, "alive when killed"; for JSON and TSV, "killed". */
extern const char *const gt_fate_words[GT_FATE_COUNT];
extern const char *const gt_fate_phrases[GT_FATE_COUNT];
extern const char *const gt_fate_keys[GT_FATE_COUNT];

/* Of a living entry of v->ledger. */
enum gt_fate gt_fate_of(const struct gt_view *v, const struct gt_entry *entry);

/* Living resources by fate, except those meant to last (GT_LASTING) or held by libraries. */
struct gt_fate_sum {
	uint64_t count, device_bytes, host_bytes;
};
void gt_fate_sums(const struct gt_view *v, struct gt_fate_sum sums[GT_FATE_COUNT]);

/* Each of these resources, in no order. */
void gt_fate_each(const struct gt_view *v,
		  void (*each)(void *context, const struct gt_entry *entry, enum gt_fate fate),
		  void *context);

/* The same sums of one call site. */
struct gt_site_fates {
	uint64_t count[GT_FATE_COUNT], bytes[GT_FATE_COUNT];
};
/* Those of every site of the ledger, in its order; the caller frees them. */
struct gt_site_fates *gt_site_fates(const struct gt_view *v);

/* The groups of each fate. Takes over `groups`; the caller finishes all of `by_fate`. */
void gt_fate_split(const struct gt_view *v, struct gt_groups *groups,
		   struct gt_groups by_fate[GT_FATE_COUNT]);

/* The word, painted: only what leaked is red. */
void gt_fate_word(struct gt_printer *p, enum gt_fate fate);
/* Why these are not called leaked, as a line; nothing for what leaked. */
void gt_fate_line(struct gt_printer *p, const struct gt_view *v, enum gt_fate fate,
		  const struct gt_groups *groups);
/* "fates": the sums, as an object with a member for each fate. */
void gt_fates_json(struct gt_json *j, const struct gt_groups by_fate[GT_FATE_COUNT]);

/*
 * Why more cannot be said about a process: "pid 12 (demo) was killed by signal 15 (SIGTERM)". NULL:
 * it ended by itself and its record is complete. The caller frees it.
 */
char *gt_ending_text(const struct gt_process *process);
/* The same of the first such process among the holders of the groups; NULL: any process. */
char *gt_ending_of(const struct gt_view *v, const struct gt_groups *groups);
/* What to do for a certain answer about resources of this fate. */
const char *gt_fate_remedy(const struct gt_view *v, enum gt_fate fate,
			   const struct gt_groups *groups);

/* "killed by signal 15 (SIGTERM)", "exit status 3", "running": how a process ended, for a table. */
char *gt_end_words(const struct gt_process *process);
/* Why a recording stopped, by the error in its header. */
const char *gt_stop_reason(int error);
/* "signal", "exit", …: its key in JSON. */
const char *gt_end_key(const struct gt_process *process);

/* True if processes that nobody saw end may have done more than was recorded. */
bool gt_recording_goes_on(const struct gt_recording *recording);
