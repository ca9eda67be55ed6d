/* SPDX-License-Identifier: MIT */
/* call.c - the one interpreter: turns a call (row, argument words, result) into events. */
#include "event/call.h"

static uint64_t load_word(uint64_t address)
{
	return address ? *(const uint64_t *)(uintptr_t)address : 0;
}

/* True when an argument says that the call does not have this effect. */
static bool is_void(const struct gt_function *fn, const uint64_t *argv)
{
	return fn->handle.unless < fn->argc && !argv[fn->handle.unless] == fn->handle.only_if;
}

bool gt_call_is_idle(enum gt_function_id function, const uint64_t *argv)
{
	const struct gt_function *fn = &gt_functions[function];

	do {
		if (fn->handle.from == GT_RET || fn->handle.from == GT_NONE ||
		    (argv[fn->handle.arg] && !is_void(fn, argv)))
			return false;
		fn++;
	} while (fn < gt_functions + GT_FN_COUNT && fn->also);
	return true;
}

bool gt_call_succeeded(const struct gt_call *call)
{
	switch ((enum gt_result)gt_functions[call->function].result) {
	case GT_RESULT_STATUS: return (int32_t)call->ret == 0;
	case GT_RESULT_HANDLE: return call->ret != 0;
	case GT_RESULT_NOTHING: return true;
	}
	return false;
}

int32_t gt_call_code(const struct gt_call *call)
{
	const struct gt_function *fn = &gt_functions[call->function];
	uint64_t at = fn->code < fn->argc ? call->argv[fn->code] : 0;

	if (fn->result == GT_RESULT_STATUS)
		return (int32_t)call->ret;
	return at ? *(const int32_t *)(uintptr_t)at : 0;
}

static uint32_t handle_count(const struct gt_call *call, const struct gt_function *fn,
			     const struct gt_call_door *door)
{
	uint64_t count = call->argv[fn->handle.count];

	if (fn->handle.from == GT_OUTS) {
		if (count)
			count = *(const uint32_t *)(uintptr_t)count;
		else if (door && door->count)
			count = door->count(call, (enum gt_function_id)(fn - gt_functions));
	}
	count = (uint32_t)count;
	return count > GT_CALL_HANDLES_MAX ? 0 : (uint32_t)count;
}

/*
 * An IPC handle is identified by its first eight bytes. Where all of them are zero, by what it was
 * made of, marked: the owner's own entry has the plain address.
 */
static uint64_t nameless_handle(const struct gt_function *fn, const struct gt_event *event)
{
	const uint64_t mark = UINT64_C(1) << 63;

	return fn->kind == GT_IPC_HANDLE && fn->effect == GT_CREATE && event->owner ?
		       event->owner | mark :
		       0;
}

static void ask_owner(const struct gt_call *call, enum gt_function_id row,
		      const struct gt_call_door *door, struct gt_event *event)
{
	uint64_t owner = door->owner(call, row, event->handle);

	/* without an answer, it is the row's argument */
	if (owner || !gt_functions[row].owner.asks)
		event->owner = owner;
}

/* Completes an event by its handle and what the door knows; false: there is no handle. */
static inline __attribute__((always_inline)) bool complete(const struct gt_call *call,
							   const struct gt_function *fn,
							   const struct gt_call_door *door,
							   struct gt_event *event, uint64_t handle)
{
	enum gt_function_id row = (enum gt_function_id)event->function;

	event->handle = handle ? handle : nameless_handle(fn, event);
	if (!event->handle)
		return false;
	if (fn->effect == GT_CREATE && door) {
		if (fn->size.from == GT_ASK && door->size)
			event->size = door->size(call, row, event->handle);
		if ((fn->owner.from == GT_ASK || fn->owner.asks) && door->owner)
			ask_owner(call, row, door, event);
		if (door->place)
			event->place = door->place(call, row, event->handle);
	}
	return true;
}

static inline void one_handle(const struct gt_call *call, const struct gt_function *fn,
			      const struct gt_call_door *door, struct gt_event *event,
			      uint64_t handle, gt_event_fn *emit, void *context)
{
	if (complete(call, fn, door, event, handle))
		emit(context, event);
}

/* Runs `emit` on `event` once for each handle of the row, with the handle filled in. */
static void each_handle(const struct gt_call *call, const struct gt_function *fn,
			const struct gt_call_door *door, struct gt_event *event, gt_event_fn *emit,
			void *context)
{
	uint64_t at;

	if (is_void(fn, call->argv))
		return;
	switch ((enum gt_from)fn->handle.from) {
	case GT_IN:
		one_handle(call, fn, door, event, call->argv[fn->handle.arg], emit, context);
		return;
	case GT_OUT:
		one_handle(call, fn, door, event, load_word(call->argv[fn->handle.arg]), emit,
			   context);
		return;
	case GT_RET: one_handle(call, fn, door, event, call->ret, emit, context); return;
	case GT_INS:
	case GT_OUTS: break;
	case GT_ASK:
	case GT_AT:
	case GT_NONE: return;
	}
	at = call->argv[fn->handle.arg];
	if (at) {
		const uint64_t *array = (const uint64_t *)(uintptr_t)at;
		size_t stride = fn->handle.stride ? fn->handle.stride : 1;
		uint32_t count = handle_count(call, fn, door);

		for (uint32_t i = 0; i < count; i++)
			one_handle(call, fn, door, event, array[i * stride], emit, context);
	}
}

__attribute__((noinline)) uint64_t gt_call_owner(const struct gt_call *call,
						 enum gt_function_id row)
{
	const struct gt_ref *owner = &gt_functions[row].owner;

	switch ((enum gt_from)owner->from) {
	case GT_IN: return call->argv[owner->arg];
	case GT_INS: return call->argv[owner->count] ? load_word(call->argv[owner->arg]) : 0;
	case GT_ASK:
	case GT_AT:
	case GT_OUT:
	case GT_OUTS:
	case GT_RET:
	case GT_NONE: break;
	}
	return 0;
}

uint64_t gt_call_first_handle(const struct gt_call *call)
{
	const struct gt_function *fn = &gt_functions[call->function];

	if (fn->handle.from != GT_INS || !(uint32_t)call->argv[fn->handle.count])
		return 0;
	return load_word(call->argv[fn->handle.arg]);
}

static uint64_t call_size(const struct gt_call *call, const struct gt_function *fn)
{
	uint64_t word =
		fn->size.from == GT_IN || fn->size.from == GT_AT ? call->argv[fn->size.arg] : 0;

	return fn->size.from == GT_AT && word ? load_word(word + fn->size.offset) : word;
}

static inline __attribute__((always_inline)) struct gt_event draft(const struct gt_call *call,
								   const struct gt_function *fn)
{
	struct gt_event event = {
		.time_ns = gt_function_ends(fn) ? call->begun_ns : call->ended_ns,
		.stack = call->stack,
		.phase = call->phase,
		.tid = call->tid,
		.function = (uint16_t)(fn - gt_functions),
		.size = call_size(call, fn),
	};

	if (fn->effect == GT_CREATE && fn->owner.from != GT_NONE && fn->owner.from != GT_ASK)
		event.owner = gt_call_owner(call, (enum gt_function_id)(fn - gt_functions));
	return event;
}

/* Of two effects of which a call has only one, the one that its arguments ask for. */
static const struct gt_function *effect_meant(const struct gt_call *call)
{
	const struct gt_function *fn = &gt_functions[call->function];

	return is_void(fn, call->argv) && fn[1].also && fn[1].handle.only_if ? fn + 1 : fn;
}

/* Apart: its event needs no room on the stack of a call that succeeds. */
static __attribute__((noinline)) void emit_failure(const struct gt_call *call, gt_event_fn *emit,
						   void *context)
{
	const struct gt_function *fn = effect_meant(call);
	struct gt_event event = draft(call, fn);

	event.failed = 1;
	event.result = gt_call_code(call);
	/* a failed call may not have filled in its output */
	if (fn->effect != GT_CREATE && fn->handle.from != GT_OUT)
		each_handle(call, fn, NULL, &event, emit, context);
	else
		emit(context, &event);
}

uint64_t *gt_call_fills(enum gt_function_id function, const uint64_t *argv)
{
	const struct gt_function *fn = &gt_functions[function];

	do
		if (fn->on == GT_ON_ANY)
			return (uint64_t *)(uintptr_t)argv[fn->handle.arg];
	while (++fn < gt_functions + GT_FN_COUNT && fn->also);
	return NULL;
}

static bool has_effect(const struct gt_call *call, const struct gt_function *fn, bool succeeded)
{
	enum { ZE_MODULE_BUILD_FAILURE = 0x70000004, ZE_MODULE_LINK_FAILURE = 0x70000005 };

	if (fn->on == GT_ON_SUCCESS)
		return succeeded;
	if (call->filled != GT_FILLED_UNKNOWN)
		return call->filled == GT_FILLED_IN;
	return succeeded || (int32_t)call->ret == ZE_MODULE_BUILD_FAILURE ||
	       (int32_t)call->ret == ZE_MODULE_LINK_FAILURE;
}

/* CUDA's runtime releases its resources after the driver's exit handler has ended the driver. */
static bool is_after_the_driver(const struct gt_call *call, const struct gt_function *fn)
{
	enum { CUDA_DEINITIALIZED = 4 };

	return fn->api == GT_CUDA && gt_function_ends(fn) &&
	       (int32_t)call->ret == CUDA_DEINITIALIZED;
}

void gt_call_events(const struct gt_call *call, const struct gt_call_door *door, gt_event_fn *emit,
		    void *context)
{
	const struct gt_function *fn = &gt_functions[call->function];
	bool succeeded = gt_call_succeeded(call);

	if (is_after_the_driver(call, fn))
		return;
	/* one failed event, however many effects the call would have had */
	if (!succeeded)
		emit_failure(call, emit, context);
	do {
		struct gt_event event = draft(call, fn);

		if (has_effect(call, fn, succeeded))
			each_handle(call, fn, door, &event, emit, context);
		fn++;
	} while (fn < gt_functions + GT_FN_COUNT && fn->also);
}

bool gt_call_is_plain(enum gt_function_id function)
{
	const struct gt_function *fn = &gt_functions[function];
	bool is_one =
		fn->handle.from == GT_IN || fn->handle.from == GT_OUT || fn->handle.from == GT_RET;

	return fn->argc && is_one && fn->effect != GT_APPEND && fn->on == GT_ON_SUCCESS &&
	       fn->handle.unless >= fn->argc && !fn->also &&
	       !(fn + 1 < gt_functions + GT_FN_COUNT && fn[1].also);
}

bool gt_call_plain_event(const struct gt_call *call, const struct gt_call_door *door,
			 struct gt_event *event)
{
	const struct gt_function *fn = &gt_functions[call->function];
	uint64_t handle = fn->handle.from == GT_RET ? call->ret : call->argv[fn->handle.arg];

	*event = draft(call, fn);
	return complete(call, fn, door, event,
			fn->handle.from == GT_OUT ? load_word(handle) : handle);
}

void gt_call_endings(const struct gt_call *call, gt_event_fn *emit, void *context)
{
	const struct gt_function *fn = &gt_functions[call->function];

	if (gt_function_ends(fn)) {
		struct gt_event event = draft(call, fn);

		each_handle(call, fn, NULL, &event, emit, context);
	}
}
