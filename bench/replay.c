/* SPDX-License-Identifier: MIT */
/*
 * replay.c - reads a recording, with or without the ledger, and prints totals: the minimum cost of
 * a report, and a check of what a benchmark has recorded.
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ledger/ledger.h"
#include "trace/recording.h"

int main(int argc, char **argv)
{
	struct gt_recording *recording;
	struct gt_ledger *ledger;
	struct gt_error error;
	struct gt_event event;
	struct gt_tally total;
	uint64_t events = 0, frames = 0, stacks = 0, lost = 0, *uses = NULL; /* by stack */
	size_t use_count = 0;
	bool read_only = argc == 3 && !strcmp(argv[1], "--read-only");
	uint32_t process;

	if (argc != 2 && !read_only) {
		fprintf(stderr, "usage: %s [--read-only] NAME.gt\n", argv[0]);
		return 2;
	}
	if (gt_recording_open(&recording, argv[argc - 1], NULL, &error)) {
		fprintf(stderr, "replay: %s\n", error.text);
		return 1;
	}
	ledger = gt_ledger_new();
	while (gt_recording_next(recording, &event, &process)) {
		GT_REACH(uses, use_count, event.stack);
		uses[event.stack]++;
		events++;
		if (!read_only)
			gt_ledger_apply(ledger, &event, process);
	}
	gt_ledger_finish(ledger);
	total = gt_ledger_total(ledger);
	for (size_t i = 0; i < gt_recording_process_count(recording); i++)
		lost += gt_recording_process(recording, i)->lost;
	for (uint32_t i = 1; i < use_count && i < gt_recording_stack_count(recording); i++) {
		frames += uses[i] * gt_recording_stack_depth(recording, i, GT_STACK_FRAMES_MAX);
		stacks += uses[i];
	}
	printf("events\t%" PRIu64 "\nlost\t%" PRIu64 "\nalive\t%" PRIu64 "\n", events, lost,
	       total.live);
	printf("stacks\t%zu\nframes\t%.1f\n", gt_recording_stack_count(recording) - 1,
	       stacks ? (double)frames / (double)stacks : 0.0);
	free(uses);
	gt_ledger_free(ledger);
	gt_recording_close(recording);
	return 0;
}
