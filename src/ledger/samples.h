/* SPDX-License-Identifier: MIT */
/* samples.h - what was measured beside the events: first, highest and last value of each series. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct gt_sampled {
	int64_t first, peak, last;
	uint64_t peak_ns;
	bool any;
};

struct gt_samples {
	struct gt_sampled *series; /* by the recording's number */
	size_t count;
};

/* Zeroed is initialised. */
void gt_samples_add(struct gt_samples *s, size_t series, uint64_t time_ns, int64_t value);
void gt_samples_fini(struct gt_samples *s);
