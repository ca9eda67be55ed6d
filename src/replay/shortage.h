/* SPDX-License-Identifier: MIT */
/*
 * shortage.h - a call that failed because memory ran out: what was asked for, who held the rest.
 *
 * The same headline for live recordings and for imports. A process that allocated nothing more and
 * did not exit with status 0 stopped there: what it left alive has not leaked (ending.h).
 */
#pragma once

#include "base/json.h"
#include "replay/place.h"
#include "replay/view.h"

/* The shortage to report: the latest that stopped its process, or else the latest; NULL: none. */
const struct gt_shortage *gt_shortage_of(const struct gt_view *v);
/* The one that stopped the process; NULL: none did. */
const struct gt_shortage *gt_shortage_stopped(const struct gt_view *v, uint32_t process);

/* Bytes that a device has; 0: unknown. The ledger must have samples. */
uint64_t gt_device_capacity(const struct gt_view *v, uint16_t place);

/* The same of all devices that memory was allocated on, and how many these are. */
uint64_t gt_used_capacity(const struct gt_view *v, unsigned *devices);

/* The places that held memory of the sort that ran out, the largest first. */
struct gt_shortage_holders {
	struct gt_ledger then; /* its sites are as they were */
	struct gt_place_sites places;
};
void gt_shortage_holders_init(struct gt_shortage_holders *h, const struct gt_view *v,
			      const struct gt_shortage *s);
void gt_shortage_holders_fini(struct gt_shortage_holders *h);

/*
 * "at 0.313 s: 12.9 GiB requested by cudaMalloc, 35.8 of 39.5 GiB of device memory in use". The
 * caller frees it.
 */
char *gt_shortage_text(const struct gt_view *v, const struct gt_shortage *s);
/* "the program stopped there", "the program went on". */
const char *gt_shortage_outcome(const struct gt_view *v, const struct gt_shortage *s);
/* A paragraph with the largest holders; nothing without a shortage. */
void gt_shortage_put(struct gt_printer *p, const struct gt_view *v, size_t most);
/* An object, or null. */
void gt_shortage_json(struct gt_json *j, const char *key, const struct gt_view *v);
