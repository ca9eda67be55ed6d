/* SPDX-License-Identifier: MIT */
/* group_text.h - groups of living resources as text, JSON and TSV. */
#pragma once

#include "base/json.h"
#include "ledger/groups.h"
#include "replay/ending.h"

/* Room for a number and a kind's words. */
enum { GT_KIND_TEXT = 96 };

/* "1 buffer", "12 buffers", "1 block of host memory", into `out` of GT_KIND_TEXT bytes. */
char *gt_kind_count(char *out, enum gt_kind kind, uint64_t count);
/* "2 sub-buffers or images": the kinds that may keep `held` alive, into the same room. */
char *gt_holder_count(char *out, const struct gt_entry *held, uint64_t count);
/* "12 buffers". */
void gt_group_count(struct gt_printer *p, enum gt_paint paint, const struct gt_group *g);
/* "1.00 MiB of device memory, 64.0 KiB of host memory", what there is of it. */
void gt_put_memory(struct gt_printer *p, enum gt_paint paint, uint64_t device, uint64_t host);
/* Device and host bytes of the groups. */
void gt_groups_memory(const struct gt_groups *groups, uint64_t *device, uint64_t *host);
/* The same of what the groups hold. */
void gt_put_group_memory(struct gt_printer *p, enum gt_paint paint, const struct gt_groups *groups);
/* "20 events, 1 buffer (1.00 MiB)": what is alive, most bytes first, then most objects. */
void gt_put_kinds(struct gt_printer *p, const struct gt_groups *groups);

/* "released, but kept alive by 1 sub-buffer or image", a line from a column on, where that is so of
 * any. */
void gt_put_kept(struct gt_printer *p, const struct gt_ledger *l, const struct gt_group *g,
		 unsigned column);

/* One group in full: what, where, when, who holds it, its stack, its first handles. */
void gt_group_text(struct gt_printer *p, const struct gt_view *v, const struct gt_ledger *l,
		   const struct gt_group *g, size_t number);
/* The groups, at most v->top (0: all), numbered, and how many more there are. */
void gt_groups_text(struct gt_printer *p, const struct gt_view *v, const struct gt_ledger *l,
		    const struct gt_groups *groups);
/* "and 3 more call sites", a line from a column on; nothing for 0. */
void gt_put_more(struct gt_printer *p, const struct gt_view *v, unsigned column, size_t places);
/* "api", "kind", "type". */
void gt_kind_json(struct gt_json *j, int api, int kind);
/* The groups, at most `top` (0: all), as an array. */
void gt_groups_json(struct gt_json *j, const char *key, const struct gt_view *v,
		    const struct gt_ledger *l, const struct gt_groups *groups);
/* The same of what is alive at the end, with the fate of each group. */
void gt_fate_groups_json(struct gt_json *j, const char *key, const struct gt_view *v,
			 const struct gt_groups by_fate[GT_FATE_COUNT]);
/* A heading and a row for each resource: Nsight's columns, then ours. */
void gt_groups_tsv(FILE *out, const struct gt_view *v, const struct gt_ledger *l,
		   const struct gt_groups *groups);
/* The same of what is alive at the end, with a last column for the fate. */
void gt_fate_groups_tsv(FILE *out, const struct gt_view *v,
			const struct gt_groups by_fate[GT_FATE_COUNT]);

static inline uint64_t gt_distance(uint64_t a, uint64_t b)
{
	return a > b ? a - b : b - a;
}
/* "+1.00 MiB" or "-3", ending at a column; nothing for no change. */
void gt_put_change(struct gt_printer *p, uint64_t before, uint64_t now, bool bytes,
		   unsigned column);
