/* SPDX-License-Identifier: MIT */
/* breakdown_text.h - memory by what is known of its origin, by process and by device. */
#pragma once

#include "base/json.h"
#include "ledger/groups.h"
#include "replay/view.h"

/* Resources and bytes: of what leaked, what was alive at the peak, or what is alive at the end. */
struct gt_amount {
	uint64_t count, device_bytes, host_bytes;
};

struct gt_split {
	struct gt_amount origins[GT_ORIGIN_COUNT]; /* device memory alone */
	struct gt_amount *processes, *places;      /* by number */
	size_t process_count, place_count;
	uint64_t shared_bytes; /* of the device bytes, those that may lie on the host */
	bool is_part;          /* text: leave out those who hold none of it */
};

/* Splits the groups' resources. */
void gt_split_groups(struct gt_split *s, const struct gt_view *v, const struct gt_ledger *l,
		     const struct gt_groups *groups);
/* Splits what a ledger holds now; bytes only. */
void gt_split_now(struct gt_split *s, const struct gt_view *v, const struct gt_ledger *l);
void gt_split_fini(struct gt_split *s);

/* How the bytes divide by origin; nothing if all have stacks, the usual case. */
void gt_origins_text(struct gt_printer *p, const struct gt_view *v,
		     const uint64_t bytes[GT_ORIGIN_COUNT], const char *when);
/* Only what is worth a line; `when` says what the bytes are: "at the peak". */
void gt_split_text(struct gt_printer *p, const struct gt_view *v, const struct gt_split *s,
		   const char *when);
/* "classes", "by_process", "by_device", "shared_bytes". */
void gt_split_json(struct gt_json *j, const struct gt_view *v, const struct gt_split *s);
