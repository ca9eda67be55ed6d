/* SPDX-License-Identifier: MIT */
/* test_ledger.h - for tests of the ledger: events with increasing times. */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "ledger/ledger.h"

#include "test_random.h"

static uint64_t clock_ns = 1000;

static inline struct gt_event event_of(uint16_t function, uint64_t handle, uint32_t stack,
				       uint64_t size)
{
	return (struct gt_event){ .function = function,
				  .handle = handle,
				  .stack = stack,
				  .size = size,
				  .time_ns = clock_ns++ };
}

static inline void apply(struct gt_ledger *l, uint16_t function, uint64_t handle, uint32_t stack,
			 uint64_t size)
{
	struct gt_event e = event_of(function, handle, stack, size);

	gt_ledger_apply(l, &e, 0);
}

static inline const struct gt_site *site_of(const struct gt_ledger *l, uint32_t stack,
					    enum gt_kind kind)
{
	for (size_t i = 0; i < l->site_count; i++)
		if (l->sites[i].stack == stack && l->sites[i].kind == kind)
			return &l->sites[i];
	return NULL;
}
