/* SPDX-License-Identifier: MIT */
/*
 * pool_moments.c - what a recording says of its pools at moments: NAME.gt [FUNCTION]
 *
 * A moment is a call of cuEventCreate, or of FUNCTION. Prints what torch_pool.c does: allocated,
 * reserved, fragmented, largest free piece. Ends with 1 if call sites, totals and pools differ at
 * one of them.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "replay/pool.h"
#include "replay/replay.h"

static const char *marker = "cuEventCreate";
static int wrong;

static void check_sums(const struct gt_ledger *l, const struct gt_pools *p)
{
	uint64_t on_device = 0;

	for (size_t i = 0; i < l->site_count; i++)
		if (gt_kind_on_device((enum gt_kind)l->sites[i].kind))
			on_device += l->sites[i].bytes_live;
	if (on_device != l->device_bytes || p->live + p->cached != p->reserved || p->loose)
		wrong = 1;
}

static void at_event(void *context, const struct gt_ledger *l, const struct gt_event *event,
		     uint32_t process)
{
	struct gt_pools p;

	if (strcmp(gt_function_names[event->function], marker))
		return;
	gt_pools_init(&p, l);
	check_sums(l, &p);
	printf("%" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", p.live, p.reserved,
	       p.fragmented, p.largest_free);
	gt_pools_fini(&p);
}

int main(int argc, char **argv)
{
	struct gt_replay how = { .each = at_event };
	struct gt_recording *r;
	struct gt_error error;

	if (argc < 2 || gt_recording_open(&r, argv[1], NULL, &error)) {
		fprintf(stderr, "%s\n", argc > 1 ? error.text : "NAME.gt [FUNCTION]");
		return 2;
	}
	marker = argc > 2 ? argv[2] : marker;
	gt_ledger_free(gt_replay_run(r, &how));
	gt_recording_close(r);
	return wrong;
}
