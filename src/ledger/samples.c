/* SPDX-License-Identifier: MIT */
/* samples.c - what was measured beside the events: first, highest and last value of each series. */
#include "ledger/samples.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

void gt_samples_add(struct gt_samples *s, size_t series, uint64_t time_ns, int64_t value)
{
	struct gt_sampled *one;

	if (series >= s->count) {
		s->series = gt_realloc(s->series, (series + 1) * sizeof *s->series);
		memset(s->series + s->count, 0, (series + 1 - s->count) * sizeof *s->series);
		s->count = series + 1;
	}
	one = &s->series[series];
	if (!one->any || value > one->peak) {
		one->peak = value;
		one->peak_ns = time_ns;
	}
	if (!one->any)
		one->first = value;
	one->last = value;
	one->any = true;
}

void gt_samples_fini(struct gt_samples *s)
{
	free(s->series);
	*s = (struct gt_samples){ 0 };
}
