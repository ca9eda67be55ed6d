/* SPDX-License-Identifier: MIT */
/* walk.c - a recording from its first event to its last, told to whoever listens. */
#include "trace/walk.h"

enum { TICK_EVENTS = 1 << 12 };

void gt_walk(struct gt_recording *r, const struct gt_walk *how)
{
	struct gt_event event;
	uint64_t count = 0;
	uint32_t process;
	bool go_on = true;

	gt_recording_rewind(r);
	gt_recording_on_end(r, how->ended, how->context);
	gt_recording_on_sample(r, how->sampled, how->context);
	while (go_on && gt_recording_next(r, &event, &process) > 0) {
		if (how->event)
			go_on = how->event(how->context, &event, process);
		if (how->tick && ++count % TICK_EVENTS == 0)
			how->tick(count);
	}
	gt_recording_on_end(r, NULL, NULL);
	gt_recording_on_sample(r, NULL, NULL);
}
