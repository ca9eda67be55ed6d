/* SPDX-License-Identifier: MIT */
/* wanted.c - which processes are traced when they are selected by what they are. */
#include "capture/ebpf/wanted.h"

#include "base/process.h"

enum { TICK_NS = 10 * 1000 * 1000 }; /* of /proc/PID/stat, on x86-64 and arm64 */

bool gt_wanted_early(struct gt_wanted *w, uint32_t pid, const char *program)
{
	struct gt_process_state state;

	if (!w->decide)
		return true;
	if (!w->decide(w->context, &(struct gt_probe_event){ .pid = pid }, program))
		return false;
	if (gt_process_state_read(&state, pid)) {
		size_t at = w->early_count++ % GT_WANTED_EARLY;

		w->early[at].pid = pid;
		w->early[at].start_ticks = state.start_ticks;
	}
	return true;
}

bool gt_wanted_now(const struct gt_wanted *w, const struct gt_probe_event *first, uint64_t start,
		   const char *program)
{
	if (!w->decide)
		return true;
	for (size_t i = 0; i < w->early_count && i < GT_WANTED_EARLY; i++)
		if (w->early[i].pid == first->pid && w->early[i].start_ticks == start / TICK_NS)
			return true;
	return w->decide(w->context, first, program);
}
