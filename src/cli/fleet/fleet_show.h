/* SPDX-License-Identifier: MIT */
/* fleet_show.h - the answers of `gputrack fleet` as text and as JSON. */
#pragma once

#include "base/print.h"
#include "cli/fleet/fleet_query.h"

enum gt_fleet_change {
	GT_FLEET_NEW,   /* grows, and did not before */
	GT_FLEET_GROWS, /* as before */
	GT_FLEET_GONE,  /* grew before */
	GT_FLEET_MORE,  /* a process holds more than before, but does not grow */
	GT_FLEET_LESS,
	GT_FLEET_CHANGES
};

/* A place before and after; NULL: no process has it then. */
struct gt_fleet_difference {
	enum gt_fleet_change change;
	const struct gt_fleet_place *before, *after;
};

struct gt_fleet_comparison {
	const struct gt_fleet_answer *before, *after;
	struct gt_fleet_difference *list; /* by change, the biggest first */
	size_t count, counts[GT_FLEET_CHANGES];
};

/* The caller frees `list`. Both answers are of gt_fleet_at. */
void gt_fleet_compare(struct gt_fleet_comparison *d, const struct gt_fleet_answer *before,
		      const struct gt_fleet_answer *after);

void gt_fleet_top_text(struct gt_printer *p, const struct gt_fleet_answer *a);
void gt_fleet_top_json(FILE *out, const struct gt_fleet_answer *a);
/* At most `top` places of each group. */
void gt_fleet_diff_text(struct gt_printer *p, const struct gt_fleet_comparison *d, uint64_t top);
void gt_fleet_diff_json(FILE *out, const struct gt_fleet_comparison *d);
/* `name`: of the place, as asked for. */
void gt_fleet_place_text(struct gt_printer *p, const struct gt_fleet_answer *a, const char *name);
void gt_fleet_place_json(FILE *out, const struct gt_fleet_answer *a, const char *name);
