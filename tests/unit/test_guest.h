/* SPDX-License-Identifier: MIT */
/* test_guest.h - for tests of the recorder library: calls without a driver, and what a trace holds.
 */
#pragma once

#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/table_memory.h"
#include "guest/guest.h"
#include "guest/recorder.h"
#include "ledger/ledger.h"
#include "trace/recording.h"

static char folder[] = "/tmp/gputrack-guest-XXXXXX", recording[64], csv[64];

/* One call through begin and end, as a door's wrapper makes it; errno must come through. */
static inline void call_with(enum gt_function_id function, const uint64_t argv[GT_ARGS_MAX],
			     uint64_t result)
{
	struct gt_guest_call g;

	errno = 4711;
	gt_guest_begin(&g, function, argv, __builtin_return_address(0));
	assert_int_equal(errno, 4711);
	gt_guest_end(&g, result, NULL);
	assert_int_equal(errno, 4711);
}

static inline void call(enum gt_function_id function, uint64_t handle, uint64_t result)
{
	call_with(function, (uint64_t[GT_ARGS_MAX]){ handle }, result);
}

static inline void create(uint64_t handle)
{
	call(GT_FN_clCreateUserEvent, 1, handle);
}

struct totals {
	uint64_t events, failed, live, lost, lost_stacks, unknown;
};

static inline struct totals replay(uint32_t pid)
{
	struct gt_recording_options options = { .pid = pid };
	struct gt_ledger *ledger = gt_ledger_new();
	struct gt_recording *r;
	struct gt_error error;
	struct gt_event event;
	struct totals t = { 0 };
	uint32_t process;

	if (gt_recording_open(&r, recording, &options, &error))
		fail_msg("%s", error.text);
	while (gt_recording_next(r, &event, &process) > 0) {
		gt_ledger_apply(ledger, &event, process);
		t.events++;
		t.failed += event.failed;
	}
	t.live = ledger->live.count;
	t.unknown = ledger->unknown_ends;
	t.lost = gt_recording_process(r, 0)->lost;
	t.lost_stacks = gt_recording_process(r, 0)->lost_stacks;
	gt_ledger_free(ledger);
	gt_recording_close(r);
	return t;
}

static inline int start_recording(void **state)
{
	(void)state;
	if (!mkdtemp(folder))
		return -1;
	snprintf(recording, sizeof recording, "%s/a.gt", folder);
	snprintf(csv, sizeof csv, "%s/a.csv", folder);
	setenv("GPUTRACK_RECORDING", recording, 1);
	/* without the tracker, calls take the short way (guest/plain_call.h) */
	if (!getenv("TEST_WITHOUT_TRACKER"))
		setenv("GPUTRACK_CSV", csv, 1);
#ifdef __SANITIZE_THREAD__
	/* a new stack is allocated, also in a signal handler; drivers do the same there */
	setenv("GPUTRACK_STACKS", "0", 1);
#endif
	gt_guest_start();
	return 0;
}
