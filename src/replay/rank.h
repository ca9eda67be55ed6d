/* SPDX-License-Identifier: MIT */
/* rank.h - the rank of a job that holds more than the others. */
#pragma once

#include "base/json.h"
#include "ledger/groups.h"
#include "replay/view.h"

struct gt_rank {
	const char *rank; /* it holds an eighth more than any other; NULL: none does */
	uint64_t bytes, others_most;
	size_t others; /* other ranks */
};

/* `bytes`: what each process of the recording holds. Processes with the same rank are one. */
struct gt_rank gt_rank_find(const struct gt_recording *r, const uint64_t *bytes);

/* "  rank 1 holds …": a line, if the resources are mainly those of one rank. */
void gt_rank_put(struct gt_printer *p, const struct gt_view *v, const struct gt_groups *groups);
/* "rank": an object; nothing where no rank differs. */
void gt_rank_json(struct gt_json *j, const struct gt_view *v, const struct gt_groups *groups);
