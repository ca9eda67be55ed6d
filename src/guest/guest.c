/* SPDX-License-Identifier: MIT */
/* guest.c - one begin and one end around each call of the driver. */
#include "guest/guest.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/process.h"
#include "base/table_memory.h"
#include "tracker/creation_sites.h"
#include "guest/backward.h"
#include "guest/fork_guard.h"
#include "guest/heap.h"
#include "guest/python.h"
#include "guest/recorder.h"
#include "guest/saved_state.h"
#include "guest/settings.h"
#include "guest/output_mark.h"
#include "guest/device_numbers.h"
#include "guest/own_stack.h"
#include "guest/call_entry.h"
#include "guest/plain_call.h"
#include "guest/tap.h"
#include "guest/unfollowed.h"
#include "trace/layout.h"

enum fork_state { NOT_SET_UP, SETTING_UP, SET_UP };

/*
 * Lies in a page that the kernel clears in every child, however it was forked: who reads NOT_SET_UP
 * is in a child without a recorder yet; who reads SET_UP, by acquire, sees what has been set up.
 */
static _Atomic uint32_t *fork_state;
static _Atomic pid_t set_up_in; /* the process in which it was set up last */
static pthread_once_t once = PTHREAD_ONCE_INIT;

__thread bool gt_in_recorder __attribute__((tls_model("initial-exec")));

/* In a child that has not been set up, the lane is that of the parent's thread, which goes on. */
static void thread_ends(void *lane)
{
	struct saved_state saved;

	enter(&saved);
	if (!saved.in_recorder && atomic_load(fork_state) == SET_UP)
		gt_recorder_thread_end(lane);
	leave(&saved);
}

/*
 * In a child of fork(): where the kernel does not clear the page (before Linux 4.14) or whoever
 * stands in for it says so without doing it (qemu before 8.0), this is all that tells the child.
 */
static void child_begins(void)
{
	if (atomic_load(&set_up_in) != getpid())
		atomic_store(fork_state, NOT_SET_UP);
}

static void start_once(void)
{
	static _Atomic uint32_t no_fork_check = SET_UP;
	void *page = mmap(NULL, (size_t)sysconf(_SC_PAGESIZE), PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	fork_state = &no_fork_check;
	if (page != MAP_FAILED && !madvise(page, (size_t)sysconf(_SC_PAGESIZE), MADV_WIPEONFORK)) {
		fork_state = page;
		atomic_store(fork_state, SET_UP);
	}
	atomic_store(&set_up_in, getpid());
	gt_fork_guard_start();
	pthread_atfork(NULL, NULL, child_begins);
	gt_unwind_start();
	gt_plain_rows_find();
	gt_recorder_start(thread_ends);
	gt_tracker_start();
}

/* False in a child that has not been set up. */
static inline bool is_set_up(void)
{
	return __builtin_expect(atomic_load_explicit(fork_state, memory_order_acquire) == SET_UP,
				1);
}

void gt_guest_start(void)
{
	struct saved_state saved;

	enter(&saved);
	pthread_once(&once, start_once);
	leave(&saved);
}

/* At the first call in a child; a second thread of the child waits until it is done. */
static void set_up_child(void)
{
	uint32_t state = NOT_SET_UP;
	bool can_free;

	gt_cancellation_hold();
	if (!atomic_compare_exchange_strong(fork_state, &state, SETTING_UP)) {
		while (atomic_load(fork_state) != SET_UP)
			usleep(100);
		return;
	}
	gt_heap_restart();
	can_free = gt_fork_guard_restart();
	gt_live_table_restart(can_free);
	gt_creation_stacks_restart();
	gt_python_restart();
	gt_backward_restart();
	gt_recorder_restart(can_free);
	gt_tracker_restart(can_free);
	gt_device_numbers_restart();
	gt_unfollowed_restart();
	atomic_store(&set_up_in, getpid());
	atomic_store(fork_state, SET_UP);
}

__attribute__((destructor)) static void process_ends(void)
{
	struct saved_state saved;

	enter(&saved);
	/*
	 * This runs after the destructors of the program, which linked or loaded us. A signal
	 * handler that ends the process inside the recorder would wait for its own thread.
	 */
	if (!saved.in_recorder && fork_state && atomic_load(fork_state) == SET_UP) {
		gt_tracker_end();
		/* calls that longjmp left are over; those that exit was called in are not */
		gt_recorder_leave(__builtin_frame_address(0));
		gt_recorder_end();
	}
	leave(&saved);
}

void gt_guest_name(const struct gt_guest_call *g, uint64_t handle, const char *name)
{
	struct saved_state saved;

	enter(&saved);
	if (g->active)
		gt_recorder_name(g->call.ended_ns, handle, name);
	leave(&saved);
}

/* Not in a signal handler that interrupted the recorder: the locks its thread holds must stay. */
static void set_up_if_forked(const struct saved_state *saved)
{
	if (!saved->in_recorder && fork_state &&
	    atomic_load_explicit(fork_state, memory_order_acquire) != SET_UP)
		set_up_child();
}

void gt_guest_set_up_child(void)
{
	struct saved_state saved;

	enter(&saved);
	set_up_if_forked(&saved);
	leave(&saved);
}

void gt_guest_touch(struct gt_guest_work *work, const struct gt_naming *named)
{
	struct saved_state saved;

	if (gt_in_recorder) {
		gt_recorder_lose_touch();
		return;
	}
	enter_quickly(&saved);
	set_up_if_forked(&saved);
	gt_recorder_touch(work, gt_now_ns(), named);
	leave(&saved);
}

void *gt_guest_alloc(size_t size)
{
	struct saved_state saved;
	void *memory = NULL;

	enter(&saved);
	set_up_if_forked(&saved);
	/* its lock may be held by the thread itself */
	if (!saved.in_recorder)
		memory = gt_heap_alloc(size);
	if (!memory)
		gt_recorder_lose();
	gt_meter_invalidate();
	leave(&saved);
	return memory;
}

void gt_guest_free(void *memory)
{
	struct saved_state saved;

	enter(&saved);
	/* in a child it may be a lock of a thread that is gone: what the parent had is lost */
	if (!saved.in_recorder && fork_state && atomic_load(fork_state) == SET_UP)
		gt_heap_free(memory);
	leave(&saved);
}

void gt_guest_lose(void)
{
	struct saved_state saved;

	enter(&saved);
	set_up_if_forked(&saved);
	gt_recorder_lose();
	leave(&saved);
}

void gt_guest_set_device_query(int64_t (*query)(void))
{
	gt_meter_set_device_query(query);
}

void gt_guest_unfollowed(const char *name)
{
	struct saved_state saved;

	enter(&saved);
	set_up_if_forked(&saved);
	if (!saved.in_recorder)
		gt_unfollowed_add(name);
	leave(&saved);
}

uint16_t gt_guest_place(enum gt_api api, const char *name)
{
	struct saved_state saved;
	uint16_t place;

	enter(&saved);
	set_up_if_forked(&saved);
	place = gt_device_number(api, name);
	leave(&saved);
	return place;
}

/*
 * Copies the arguments and the handles of an array: a callback may free the array before the call
 * returns. Without memory for it, the call has no events.
 */
static void copy_array(struct gt_guest_call *g, const struct gt_function *fn, const uint64_t *argv)
{
	static const uint64_t none[GT_ARGS_MAX];
	const uint64_t *from = (const uint64_t *)(uintptr_t)argv[fn->handle.arg];
	uint32_t count = (uint32_t)argv[fn->handle.count];
	uint64_t *copy;

	if (!from || count > GT_CALL_HANDLES_MAX)
		count = 0;
	copy = g->argv_copy = gt_table_alloc((fn->argc + (size_t)count) * sizeof *copy);
	gt_meter_invalidate();
	g->call.argv = copy ? copy : none;
	if (!copy) {
		gt_recorder_lose();
		return;
	}
	memcpy(copy, argv, fn->argc * sizeof *copy);
	if (count)
		memcpy(copy + fn->argc, from, count * sizeof *copy);
	copy[fn->handle.arg] = count ? (uint64_t)(uintptr_t)(copy + fn->argc) : 0;
}

static bool has_live_table(const struct gt_function *fn)
{
	return gt_live_table_is_on() && (!gt_api_is_pool(fn->api) || gt_live_table_has_pools());
}

/* Valid until the next call; NULL: out of memory. */
static const struct gt_ending *end_one(struct gt_guest_call *g, const struct gt_event *event)
{
	if (g->ending_count == g->ending_room) {
		uint32_t room = g->ending_room * 2;
		struct gt_ending *more = gt_table_alloc(room * sizeof *more);

		if (!more)
			return NULL;
		memcpy(more, g->endings, g->ending_count * sizeof *more);
		if (g->endings != &g->ending)
			gt_table_free(g->endings);
		g->endings = more;
		g->ending_room = room;
		gt_meter_invalidate();
	}
	gt_live_table_end(event, &g->endings[g->ending_count]);
	return &g->endings[g->ending_count++];
}

static void end_live(void *context, const struct gt_event *event)
{
	struct gt_guest_call *g = context;
	struct gt_event behind = *event;
	const struct gt_ending *ending = end_one(g, event);

	/* a range ends together with all that lies in it, one after another: ledger/lifetimes.h */
	while (ending && ending->change == GT_CHANGE_ENDED && ending->gone.size < behind.size &&
	       gt_kinds[gt_entry_kind(&ending->gone)].habits & GT_RANGED) {
		behind.handle += ending->gone.size;
		behind.size -= ending->gone.size;
		ending = ending->gone.size ? end_one(g, &behind) : NULL;
	}
}

static __attribute__((noinline)) void announce_first(struct gt_guest_call *g,
						     enum gt_function_id function,
						     const uint64_t *argv, const void *caller)
{
	struct saved_state saved;

	enter(&saved);
	set_up_if_forked(&saved);
	gt_recorder_learn(function, caller);
	g->announced = gt_recorder_announce(function, argv, caller, g->frame);
	leave(&saved);
}

/*
 * For a call without events, of which only the caller is recorded: unwinding would cost more than
 * all of this. The first of a thread, and of each function and caller, goes the long way.
 */
static void announce(struct gt_guest_call *g, enum gt_function_id function, const uint64_t *argv,
		     const void *caller)
{
	if (gt_in_recorder)
		return;
	if (is_set_up()) {
		gt_in_recorder = true;
		g->announced = gt_recorder_announce(function, argv, caller, g->frame);
		gt_in_recorder = false;
		if (__builtin_expect(g->announced, 1))
			return;
	}
	if (gt_recorder_is_on())
		announce_first(g, function, argv, caller);
}

static void withdraw(struct gt_guest_call *g)
{
	if (gt_in_recorder || !is_set_up())
		return;
	gt_in_recorder = true;
	gt_recorder_leave(g->frame);
	gt_in_recorder = false;
}

/* Appends create and end nothing: only the resource tracker uses them. */
static bool is_wanted(const struct gt_function *fn)
{
	if (fn->effect == GT_APPEND)
		return gt_tracker_is_on();
	return gt_recorder_is_on() || has_live_table(fn);
}

/* True when the function has a further effect: what ends may also create. */
static bool has_second(const struct gt_function *fn)
{
	return fn + 1 < gt_functions + GT_FN_COUNT && fn[1].also;
}

/* Apart from gt_guest_begin, whose other half then has few registers to save. */
static __attribute__((noinline)) void begin(struct gt_guest_call *g, enum gt_function_id function,
					    const uint64_t *argv, const void *caller)
{
	const struct gt_function *fn = &gt_functions[function];
	struct saved_state saved;
	uint64_t called_ns;

	enter_quickly(&saved);
	if (gt_live_table_is_on())
		gt_cancellation_hold();
	/* the tracker's figures are those of the driver */
	g->tracked = gt_tracker_is_on() && !gt_api_is_pool(fn->api);
	g->ends = gt_function_ends(fn);
	called_ns = g->ends || g->tracked ? gt_now_ns() : gt_now_roughly_ns();
	if (!is_set_up())
		set_up_child();
	if (g->tracked)
		gt_tracker_warm_thread();
	g->active = true;
	g->caller = caller;
	g->call.argv = argv;
	g->argv_copy = NULL;
	if (fn->handle.from == GT_INS)
		copy_array(g, fn, argv);
	g->call.begun_ns = called_ns;
	g->call.stack = 0;
	g->tracker_stack = 0;
	/* only recordings keep where something ended, and of a pool's many blocks not even these */
	if (fn->effect != GT_APPEND && (!g->ends || has_second(fn) || gt_recorder_is_on()) &&
	    !(g->ends && gt_api_is_pool(fn->api)))
		gt_call_stack(g, called_ns);
	g->call.phase = gt_recorder_phase();
	if (gt_recorder_is_on())
		gt_call_enter(g, argv);
	if (g->ends) {
		g->endings = &g->ending;
		g->ending_room = 1;
		g->ending_count = 0;
		g->ending_next = 0;
		if (has_live_table(fn))
			gt_call_endings(&g->call, end_live, g);
	}
	gt_output_mark(g);
	/* last, so that memory we allocate is not charged to the driver */
	if (g->tracked)
		gt_tracker_before(&g->tracker, called_ns);
	leave(&saved);
}

void gt_guest_begin(struct gt_guest_call *g, enum gt_function_id function, const uint64_t *argv,
		    const void *caller)
{
	g->call.function = function;
	g->active = false;
	g->is_plain = false;
	g->announced = false;
	g->frame = __builtin_frame_address(0);
	if (gt_tap_state.doors)
		gt_tap_begin((uint32_t)function);
	if (gt_plain_rows[function] && is_set_up() && gt_plain_begin(g, argv, caller))
		return;
	if (!is_wanted(&gt_functions[function]) || gt_call_is_idle(function, argv))
		announce(g, function, argv, caller);
	else if (gt_in_recorder)
		gt_recorder_lose();
	else
		begin(g, function, argv, caller);
}

/* A call while it ends. */
struct returned_call {
	struct gt_guest_call *g;
	struct gt_tracker_result result;
};

static __attribute__((noinline)) void track_creation(struct returned_call *r,
						     const struct gt_event *event,
						     struct gt_ending *replaced)
{
	struct gt_event tracked = *event;
	enum gt_change change;

	tracked.stack = r->g->tracker_stack;
	change = gt_live_table_apply(&tracked, replaced);
	if (r->g->tracked && replaced->change == GT_CHANGE_ENDED)
		gt_tracker_replaced(&r->result, replaced);
	if (r->g->tracked)
		gt_tracker_event(&r->result, event, change, NULL);
}

/* The usual calls need no room for `replaced` on the stack: theirs is that for an ending. */
static __attribute__((noinline)) void track_both(struct returned_call *r,
						 const struct gt_event *event)
{
	struct gt_ending replaced;

	track_creation(r, event, &replaced);
}

static void take_event(void *context, const struct gt_event *event)
{
	struct returned_call *r = context;
	struct gt_guest_call *g = r->g;
	bool ends = gt_function_ends(&gt_functions[event->function]);

	if (gt_functions[event->function].effect != GT_APPEND)
		gt_recorder_event(event);
	if (event->failed || !has_live_table(&gt_functions[event->function]))
		return;
	if (!ends && g->ends)
		track_both(r, event);
	else if (!ends)
		track_creation(r, event, &g->ending);
	else if (g->tracked && g->ending_next < g->ending_count)
		gt_tracker_event(&r->result, event, GT_CHANGE_NONE, &g->endings[g->ending_next++]);
}

/* Ends what dies with a resource that the call has ended; the tracker does so by itself. */
static void end_others(const struct gt_guest_call *g)
{
	for (uint32_t i = 0; i < g->ending_count; i++)
		if (g->endings[i].change == GT_CHANGE_ENDED)
			gt_live_table_end_with(&g->endings[i].gone);
}

/* Frees what a call has allocated. */
static void free_call(struct gt_guest_call *g)
{
	if (g->ends && g->endings != &g->ending)
		gt_table_free(g->endings);
	gt_table_free(g->argv_copy);
}

/* What ends is stamped at the call's begin: the clock is read a second time only for what comes. */
static bool needs_end(const struct gt_guest_call *g)
{
	const struct gt_function *fn = &gt_functions[g->call.function];

	return g->tracked || !g->ends || (fn + 1 < gt_functions + GT_FN_COUNT && fn[1].also);
}

static __attribute__((noinline)) void end(struct gt_guest_call *g, uint64_t ret,
					  const struct gt_call_door *door)
{
	struct returned_call r;
	struct saved_state saved;

	gt_output_read(g);
	/*
	 * Forked inside the driver's call: the call and its trace are the parent's. What it has
	 * allocated is lost, since a thread that is gone may hold the lock of our memory.
	 */
	if (!is_set_up())
		return;
	enter_quickly(&saved);
	if (gt_live_table_is_on())
		gt_cancellation_hold();
	if (g->tracked)
		gt_tracker_after(&g->tracker, &r.result);
	r.g = g;
	g->call.ret = ret;
	g->call.ended_ns = needs_end(g) ? gt_now_ns() : g->call.begun_ns;
	gt_recorder_check(g->call.ended_ns);
	g->call.tid = gt_thread_id();
	if (g->ends && !gt_call_succeeded(&g->call))
		for (uint32_t i = 0; i < g->ending_count; i++)
			gt_live_table_restore(&g->endings[i]);
	gt_call_events(&g->call, door, take_event, &r);
	if (g->tracked && g->ends && gt_call_succeeded(&g->call))
		while (g->ending_next < g->ending_count)
			gt_tracker_ended(&r.result, &g->endings[g->ending_next++]);
	if (g->tracked)
		gt_tracker_finish(&g->tracker, &r.result, &g->call, g->endings,
				  g->ends ? g->ending_count : 0);
	else if (g->ends && gt_call_succeeded(&g->call))
		end_others(g);
	gt_recorder_leave(g->frame);
	free_call(g);
	leave(&saved);
	if (g->tracked)
		gt_tracker_leave(&g->tracker, &r.result);
}

void gt_guest_end(struct gt_guest_call *g, uint64_t ret, const struct gt_call_door *door)
{
	/* first: what the call has filled in is still there */
	if (gt_tap_state.doors)
		gt_tap_call((uint32_t)g->call.function, ret);
	/* forked inside the call: as in end() */
	if (g->is_plain && (!is_set_up() || gt_plain_end(g, ret, door)))
		return;
	if (g->active)
		end(g, ret, door);
	else if (g->announced)
		withdraw(g);
}
