/* SPDX-License-Identifier: MIT */
/* fuzz_records.c - interprets any bytes as a kernel record of a call and its events. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "capture/ebpf/probe_rows.h"
#include "fuzz.h"

static uint64_t size_of(const struct gt_call *call, enum gt_function_id row, uint64_t handle)
{
	(void)handle;
	return gt_inferred_size(row, ((const struct gt_replica *)call)->words);
}

static const struct gt_call_door door = { .size = size_of };

static void count(void *context, const struct gt_event *event)
{
	FUZZ_CHECK(event->function < GT_FN_COUNT);
	++*(size_t *)context;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct gt_probe_call *c = malloc(size ? size : 1);
	struct gt_replica replica;
	struct gt_plan plan;
	size_t events = 0;

	FUZZ_CHECK(c);
	memcpy(c, data, size);
	if (gt_probe_call_is_whole(c, size) && c->row < GT_FN_COUNT &&
	    gt_plan_make(&plan, (enum gt_function_id)c->row)) {
		gt_replica_make(&replica, &plan, c, gt_probe_call_array(c));
		gt_call_events(&replica.call, &door, count, &events);
		FUZZ_CHECK(events <= (size_t)GT_PROBE_EFFECTS * (GT_PROBE_ARRAY + 1));
	}
	free(c);
	return 0;
}
