/* SPDX-License-Identifier: MIT */
/*
 * plain_call.h - the short way through the recorder, for the calls that programs make most.
 *
 * A row is plain if its call has one effect on one handle. While nobody keeps a table of living
 * resources, such a call is an entry and an event; guest.c does all others.
 */
#pragma once

#include "guest/guest.h"

/* By enum gt_function_id. */
extern bool gt_plain_rows[GT_FN_COUNT];

/* Once, before the first call. */
void gt_plain_rows_find(void);

/* In place of a call's begin and end. False, with nothing done, if it must go the long way. */
bool gt_plain_begin(struct gt_guest_call *g, const uint64_t *argv, const void *caller);
bool gt_plain_end(struct gt_guest_call *g, uint64_t ret, const struct gt_call_door *door);
