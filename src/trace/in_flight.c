/* SPDX-License-Identifier: MIT */
/* in_flight.c - calls that have not returned, written where they outlive the process. */
#include <string.h>

#include "base/bytes.h"
#include "trace/writer_state.h"

static struct gt_trace_arguments *arguments_of(const struct gt_lane *lane)
{
	return (struct gt_trace_arguments *)lane->limit;
}

static inline void publish(struct gt_lane *lane, const struct gt_trace_inflight *call,
			   const uint64_t *words, uint32_t count)
{
	struct gt_trace_inflight *inflight = &lane->block->inflight;
	struct gt_trace_arguments *arguments = arguments_of(lane);

	__atomic_store_n(&inflight->function, 0, __ATOMIC_RELEASE);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	inflight->handle = call->handle;
	inflight->time_ns = call->time_ns;
	inflight->stack = call->stack;
	arguments->used = lane->block->used;
	arguments->count = count;
	for (uint32_t i = 0; i < count; i++) {
		arguments->words[i] = words[i];
		/* a few words are copied faster than memcpy is called */
		__atomic_signal_fence(__ATOMIC_SEQ_CST);
	}
	/* the function last: it makes the other fields valid */
	__atomic_store_n(&inflight->function, call->function, __ATOMIC_RELEASE);
}

void gt_lane_save_call(struct gt_lane *lane)
{
	struct gt_lane_call *top;

	if (!lane->call_count || !lane->block)
		return;
	top = &lane->calls[lane->call_count - 1];
	top->what = lane->block->inflight;
	top->arguments = *arguments_of(lane);
	/* somebody may have written over the file */
	if (top->arguments.count > GT_ARGUMENTS_MAX)
		top->arguments.count = 0;
}

void gt_lane_publish_call(struct gt_lane *lane)
{
	const struct gt_lane_call *top;

	if (!lane->call_count) {
		__atomic_store_n(&lane->block->inflight.function, 0, __ATOMIC_RELEASE);
		return;
	}
	top = &lane->calls[lane->call_count - 1];
	publish(lane, &top->what, top->arguments.words, top->arguments.count);
}

/* Drops a call and all within it: stacks grow down, so lower calls are over, maybe by longjmp. */
static inline void drop_calls(struct gt_lane *lane, const void *call)
{
	while (lane->call_count &&
	       (uintptr_t)lane->calls[lane->call_count - 1].call <= (uintptr_t)call)
		lane->call_count--;
}

/* Prepares for a call; it may lie within others, of which the outermost may have to go. */
static __attribute__((noinline)) void nest(struct gt_lane *lane, const void *call)
{
	uint32_t before = lane->call_count;

	drop_calls(lane, call);
	/* otherwise it was saved when the first of the dropped calls began */
	if (lane->call_count == before)
		gt_lane_save_call(lane);
	if (lane->call_count == GT_CALLS_MAX) {
		memmove(&lane->calls[0], &lane->calls[1],
			sizeof lane->calls - sizeof lane->calls[0]);
		lane->call_count--;
	}
}

static inline void enter(struct gt_lane *lane, const struct gt_trace_inflight *what,
			 const uint64_t *words, uint32_t count, const void *call)
{
	if (lane->call_count)
		nest(lane, call);
	lane->calls[lane->call_count++].call = call;
	publish(lane, what, words, count);
}

void gt_lane_enter(struct gt_lane *lane, const struct gt_event *e, const uint64_t *argv,
		   uint32_t count, const void *call)
{
	struct gt_trace_inflight what = { .function = gt_writer_function(lane->writer, e->function),
					  .stack = e->stack,
					  .handle = e->handle,
					  .time_ns = e->time_ns };

	/* now rather than when the event is written, deeper in the stack, which may be small */
	if (lane->limit - lane->at < GT_EVENT_MAX && lane->block &&
	    !atomic_load_explicit(&lane->writer->error, memory_order_relaxed))
		gt_block_open(lane);
	if (what.function && lane->block && !gt_writer_is_lost(lane->writer)) {
		gt_lane_phase(lane, e->phase);
		enter(lane, &what, argv, count, call);
	}
}

static struct gt_known_caller *known_caller(struct gt_lane *lane, uint64_t caller)
{
	return &lane->callers[(caller ^ caller >> 5) % GT_CALLERS_MAX];
}

static uint32_t generation_of(const struct gt_writer *w)
{
	return atomic_load_explicit(&w->generation, memory_order_relaxed);
}

bool gt_lane_announce(struct gt_lane *lane, uint16_t function, const uint64_t *argv,
		      const void *caller, const void *call)
{
	struct gt_writer *w = lane->writer;
	uint64_t address = (uint64_t)(uintptr_t)caller;
	const struct gt_known_caller *known = known_caller(lane, address);
	struct gt_trace_inflight what = {
		.function = atomic_load_explicit(&w->functions[function], memory_order_acquire),
		.stack = known->stack,
		.time_ns = lane->time_ns,
	};

	if (!what.function || !lane->block || gt_writer_is_lost(w) || known->address != address ||
	    known->generation != generation_of(w))
		return false;
	enter(lane, &what, argv, gt_functions[function].argc, call);
	return true;
}

void gt_lane_learn(struct gt_lane *lane, uint16_t function, const void *caller)
{
	uint64_t address = (uint64_t)(uintptr_t)caller;
	uint32_t generation = generation_of(lane->writer);

	gt_writer_function(lane->writer, function);
	*known_caller(lane, address) = (struct gt_known_caller){
		.address = address,
		.stack = address ? gt_writer_stack(lane->writer, &address, 1) : 0,
		.generation = generation,
	};
}

/* Apart: most calls lie in no other. */
static __attribute__((noinline)) void leave_inner(struct gt_lane *lane, const void *call)
{
	uint32_t before = lane->call_count;

	drop_calls(lane, call);
	/* an innermost call that stays lies in the block already, and nowhere else */
	if (lane->block && lane->call_count != before && !gt_writer_is_lost(lane->writer))
		gt_lane_publish_call(lane);
}

void gt_lane_leave(struct gt_lane *lane, const void *call)
{
	if (lane->call_count != 1 || lane->calls[0].call != call) {
		leave_inner(lane, call);
		return;
	}
	lane->call_count = 0;
	if (lane->block && !gt_writer_is_lost(lane->writer))
		__atomic_store_n(&lane->block->inflight.function, 0, __ATOMIC_RELEASE);
}
