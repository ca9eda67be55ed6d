/* SPDX-License-Identifier: MIT */
/*
 * shortage.h - a call that failed because memory ran out: what was asked for, who held the rest.
 *
 * The same headline for live recordings and for imports. A process that allocated nothing more and
 * did not exit with status 0 stopped there: what it left alive has not leaked (ending.h).
 */
#pragma once

#include "base/json.h"
#include "replay/view.h"

/* The shortage to report: the latest that stopped its process, or else the latest; NULL: none. */
const struct gt_shortage *gt_shortage_of(const struct gt_view *v);
/* The one that stopped the process; NULL: none did. */
const struct gt_shortage *gt_shortage_stopped(const struct gt_view *v, uint32_t process);

/* Bytes that a device has; 0: unknown. The ledger must have samples. */
uint64_t gt_device_capacity(const struct gt_view *v, uint16_t place);

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
