/* SPDX-License-Identifier: MIT */
/* events.h - all events of a recording as rows or as JSON, one after the other. */
#pragma once

#include "base/json.h"
#include "trace/recording.h"
#include "replay/frames.h"

enum { GT_EVENTS_TEXTS = 1024 };

struct gt_events {
	const struct gt_recording *recording;
	struct gt_frames *frames;
	FILE *out;
	struct gt_json json;
	struct {
		uint32_t stack; /* + 1; 0: free */
		char *text;
	} texts[GT_EVENTS_TEXTS]; /* stacks as CSV fields: the same come again and again */
};

void gt_events_tsv_begin(struct gt_events *e);
void gt_events_tsv(struct gt_events *e, const struct gt_event *event, uint32_t process);

/* One object a line, so that tools that read lines can, within one valid document. */
void gt_events_json_begin(struct gt_events *e);
void gt_events_json(struct gt_events *e, const struct gt_event *event, uint32_t process);
void gt_events_json_end(struct gt_events *e);
