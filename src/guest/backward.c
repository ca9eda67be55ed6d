/* SPDX-License-Identifier: MIT */
/* backward.c - Python's lines for the threads that PyTorch's backward pass runs on. */
#include "guest/backward.h"

#include <pthread.h>
#include <string.h>

#include "base/process.h"
#include "base/python_layout.h"
#include "guest/python.h"
#include "guest/saved_state.h"

enum { CALLS_MAX = 16, FRAMES_MAX = 64 };

/* A call of backward from outside the engine. */
struct call {
	bool is_used;
	size_t count;
	uint64_t frames[FRAMES_MAX]; /* first the one that says what follows; none: no Python */
};

static struct call calls[CALLS_MAX];
static uint32_t untold; /* further calls, for which there was no room */
static uint32_t generation;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* Of the calling thread. */
static __thread struct {
	const void *worker, *caller;
	uint32_t depth;
	uint32_t generation;
	int32_t call; /* its index; -1: of those without room */
} here __attribute__((tls_model("initial-exec")));

static size_t read_frames(uint64_t frames[FRAMES_MAX])
{
	const struct gt_text_frame border = { .function = GT_BACKWARD_BORDER,
					      .module = GT_AUTOGRAD };
	size_t count =
		gt_python_read(frames + 1, FRAMES_MAX - 1, gt_recorder_text_frame, gt_now_ns());

	frames[0] = count ? gt_recorder_text_frame(&border) : 0;
	return frames[0] ? count + 1 : 0;
}

/* A call from an engine's thread, or inside another, is part of that one. */
static void add_call(const void *caller)
{
	pthread_mutex_lock(&lock);
	here.generation = generation;
	here.caller = caller;
	here.call = 0;
	while (here.call < CALLS_MAX && calls[here.call].is_used)
		here.call++;
	if (here.call < CALLS_MAX) {
		calls[here.call].is_used = true;
		calls[here.call].count = read_frames(calls[here.call].frames);
	} else {
		here.call = -1;
		untold++;
	}
	pthread_mutex_unlock(&lock);
}

static void remove_call(void)
{
	pthread_mutex_lock(&lock);
	/* otherwise it began in the parent */
	if (here.generation == generation && here.call >= 0)
		calls[here.call].is_used = false;
	else if (here.generation == generation)
		untold--;
	pthread_mutex_unlock(&lock);
	here.caller = NULL;
}

void gt_backward_begin(const void *caller)
{
	struct saved_state saved;

	if (here.worker || here.depth++)
		return;
	gt_guest_set_up_child();
	enter(&saved);
	/* not in a signal handler that interrupted the recorder */
	if (!saved.in_recorder && gt_recorder_is_on())
		add_call(caller);
	leave(&saved);
}

void gt_backward_end(void)
{
	struct saved_state saved;

	if (here.worker || !here.depth || --here.depth || !here.caller)
		return;
	gt_guest_set_up_child();
	enter(&saved);
	remove_call();
	leave(&saved);
}

void gt_backward_worker(const void *caller)
{
	here.worker = caller;
}

/* The frames that all calls have in common: NULL if they differ, and if there is no call. */
static const struct call *common_call(void)
{
	const struct call *found = NULL;

	for (int i = 0; i < CALLS_MAX && !untold; i++) {
		const struct call *c = &calls[i];

		if (!c->is_used)
			continue;
		if (found && (found->count != c->count ||
			      memcmp(found->frames, c->frames, c->count * sizeof *c->frames)))
			return NULL;
		found = c;
	}
	return untold || !found || !found->count ? NULL : found;
}

/* Which frame returns to `caller`, at least 1: the one before it is our own; 0: none does. */
static size_t find_caller(const uint64_t *frames, size_t count, const void *caller)
{
	size_t i = count ? count - 1 : 0;

	/* from outside: it is among the last */
	while (i && frames[i] != (uint64_t)(uintptr_t)caller)
		i--;
	return i;
}

size_t gt_backward_merge(uint64_t *frames, size_t count, size_t most)
{
	const struct call *call;
	size_t at;

	if (!here.worker && !here.caller)
		return count;
	at = find_caller(frames, count, here.worker ? here.worker : here.caller);
	if (at) {
		memmove(frames + at - 1, frames + at, (count - at) * sizeof *frames);
		count--;
	}
	if (!here.worker)
		return count;
	gt_cancellation_hold();
	pthread_mutex_lock(&lock);
	call = common_call();
	if (call)
		count = gt_python_splice(frames, at ? at - 1 : count, most, call->frames,
					 call->count, 0, 0);
	pthread_mutex_unlock(&lock);
	return count;
}

void gt_backward_restart(void)
{
	pthread_mutex_init(&lock, NULL);
	memset(calls, 0, sizeof calls);
	untold = 0;
	generation++;
}
