/* SPDX-License-Identifier: MIT */
/* taken_events.h - collects the events of a call, for the tests of the interpreter. */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "event/call.h"

enum { BEGUN = 1000, ENDED = 2000, MOST = 16 };

struct taken {
	struct gt_event events[MOST];
	size_t count;
};

static inline void take(void *context, const struct gt_event *event)
{
	struct taken *t = context;

	assert_true(t->count < MOST);
	t->events[t->count++] = *event;
}

static inline uint64_t word(const void *pointer)
{
	return (uint64_t)(uintptr_t)pointer;
}
