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
#include "tracker/creation_sites.h"
#include "guest/fork_guard.h"
#include "guest/python.h"
#include "guest/recorder.h"
#include "guest/settings.h"
#include "guest/own_stack.h"
#include "trace/layout.h"

enum { PLACES_MAX = 64 };

enum home { AWAY, MOVING_IN, AT_HOME };

/*
 * Lies in a page that the kernel empties in every child, however it was forked: a process that
 * finds AWAY here is a child that has not been set up yet.
 */
static _Atomic uint32_t *home;
static pthread_once_t once = PTHREAD_ONCE_INIT;

/*
 * True while this thread is in here, and not in the driver or the program. A signal handler that
 * makes a call then must not wait for locks that its own thread holds: its event is lost, and
 * counted.
 */
static __thread bool inside __attribute__((tls_model("initial-exec")));

/* What the program had and gets back. */
struct visit {
	int error, cancelling;
	bool inside;
};

/*
 * No function of a driver is a place where a thread can be cancelled; our system calls would be,
 * and the thread would keep our locks for ever.
 */
static void step_in(struct visit *v)
{
	v->inside = inside;
	inside = true;
	v->error = errno;
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &v->cancelling);
}

static void step_out(const struct visit *v)
{
	pthread_setcancelstate(v->cancelling, NULL);
	errno = v->error;
	inside = v->inside;
}

static struct {
	char name[64];
	enum gt_api api;
} places[PLACES_MAX];
static uint16_t place_count;
static pthread_mutex_t placing = PTHREAD_MUTEX_INITIALIZER;

static void start_once(void)
{
	static _Atomic uint32_t no_fork_check = AT_HOME;
	void *page = mmap(NULL, (size_t)sysconf(_SC_PAGESIZE), PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	home = &no_fork_check;
	if (page != MAP_FAILED && !madvise(page, (size_t)sysconf(_SC_PAGESIZE), MADV_WIPEONFORK)) {
		home = page;
		atomic_store(home, AT_HOME);
	}
	gt_fork_guard_start();
	gt_recorder_start();
	gt_tracker_start();
}

void gt_guest_start(void)
{
	struct visit visit;

	step_in(&visit);
	pthread_once(&once, start_once);
	step_out(&visit);
}

const struct gt_settings *gt_guest_settings(void)
{
	return gt_settings_get();
}

/* The first call in a child; a second thread of the child waits for it. */
static void move_in(void)
{
	uint32_t state = AWAY;
	bool can_free;

	if (!atomic_compare_exchange_strong(home, &state, MOVING_IN)) {
		while (atomic_load(home) != AT_HOME)
			usleep(100);
		return;
	}
	can_free = gt_fork_guard_restart();
	pthread_mutex_init(&placing, NULL);
	gt_live_table_restart(can_free);
	gt_creation_stacks_restart();
	gt_python_restart();
	gt_recorder_restart(can_free);
	gt_tracker_restart(can_free);
	for (uint16_t i = 0; i < place_count; i++)
		gt_recorder_place((uint16_t)(i + 1), places[i].api, places[i].name);
	atomic_store(home, AT_HOME);
}

__attribute__((destructor)) static void process_ends(void)
{
	struct visit visit;

	step_in(&visit);
	/*
	 * After the program's own destructors: it linked or loaded us, so ours run later. A handler
	 * that ends the process while its own thread is in here would wait for what that holds.
	 */
	if (!visit.inside && home && atomic_load(home) == AT_HOME) {
		gt_tracker_end();
		gt_recorder_end();
	}
	step_out(&visit);
}

void gt_guest_name(const struct gt_guest_call *g, uint64_t handle, const char *name)
{
	struct visit visit;

	step_in(&visit);
	if (g->active)
		gt_recorder_name(g->call.ended_ns, handle, name);
	step_out(&visit);
}

/* A handler that came while its own thread was in here: what that holds must stay. */
static void settle(const struct visit *v)
{
	if (!v->inside && home && atomic_load_explicit(home, memory_order_relaxed) != AT_HOME)
		move_in();
}

void gt_guest_set_up_child(void)
{
	struct visit visit;

	step_in(&visit);
	settle(&visit);
	step_out(&visit);
}

void gt_guest_set_device_query(int64_t (*teller)(void))
{
	gt_meter_set_device_query(teller);
}

uint16_t gt_guest_place(enum gt_api api, const char *name)
{
	uint16_t found = 0;
	struct visit visit;

	step_in(&visit);
	settle(&visit);
	pthread_mutex_lock(&placing);
	for (uint16_t i = 0; i < place_count && !found; i++)
		if (places[i].api == api &&
		    !strncmp(places[i].name, name, sizeof places[i].name - 1))
			found = (uint16_t)(i + 1);
	if (!found && place_count < PLACES_MAX - 1) {
		strncpy(places[place_count].name, name, sizeof places[0].name - 1);
		places[place_count].api = api;
		found = ++place_count;
		gt_recorder_place(found, api, places[found - 1].name);
	}
	pthread_mutex_unlock(&placing);
	step_out(&visit);
	return found;
}

/* The handles of an array are copied: a callback may free the program's own before we come back. */
static void copy_array(struct gt_guest_call *g, const struct gt_function *fn, const uint64_t *argv)
{
	const uint64_t *from = (const uint64_t *)(uintptr_t)argv[fn->handle.arg];
	uint32_t count = (uint32_t)argv[fn->handle.count];
	uint64_t *to = g->handles;

	memcpy(g->argv, argv, fn->argc * sizeof *argv);
	g->call.argv = g->argv;
	if (count > GT_CALL_HANDLES_MAX)
		from = NULL;
	if (from && count > GT_GUEST_HANDLES) {
		to = g->more_handles = malloc(count * sizeof *to);
		gt_meter_invalidate();
	}
	if (from && to)
		memcpy(to, from, count * sizeof *to);
	g->argv[fn->handle.arg] = from ? (uint64_t)(uintptr_t)to : 0;
}

/* An address of ours, which no driver hands out, is put where the driver may fill something in. */
static uint64_t mark_of(const struct gt_guest_call *g)
{
	return (uint64_t)(uintptr_t)&g->mark;
}

static void mark(struct gt_guest_call *g)
{
	g->call.filled = GT_FILLED_UNKNOWN;
	g->mark = gt_call_fills(g->call.function, g->call.argv);
	if (!g->mark)
		return;
	g->unmarked = *g->mark;
	*g->mark = mark_of(g);
}

/* What the driver has left alone looks to the program as it did before. */
static void unmark(struct gt_guest_call *g)
{
	if (!g->mark)
		return;
	g->call.filled = *g->mark == mark_of(g) ? GT_FILLED_NOT : GT_FILLED_IN;
	if (g->call.filled == GT_FILLED_NOT)
		*g->mark = g->unmarked;
}

/* Good until the next one; NULL when there is no memory. */
static const struct gt_ending *end_one(struct gt_guest_call *g, const struct gt_event *event)
{
	if (g->ending_count == g->ending_room) {
		size_t room = g->ending_room * 2;
		struct gt_ending *more = malloc(room * sizeof *more);

		if (!more)
			return NULL;
		memcpy(more, g->endings, g->ending_count * sizeof *more);
		if (g->endings != &g->ending)
			free(g->endings);
		g->endings = more;
		g->ending_room = room;
		gt_meter_invalidate();
	}
	gt_live_table_end(event, &g->endings[g->ending_count]);
	return &g->endings[g->ending_count++];
}

static void take_away(void *context, const struct gt_event *event)
{
	struct gt_guest_call *g = context;
	struct gt_event behind = *event;
	const struct gt_ending *ending = end_one(g, event);

	/* a range ends with all that lies in it, one behind the other: ledger/follow.h */
	while (ending && ending->change == GT_CHANGE_ENDED && ending->gone.size < behind.size &&
	       gt_kinds[gt_entry_kind(&ending->gone)].habits & GT_RANGED) {
		behind.handle += ending->gone.size;
		behind.size -= ending->gone.size;
		ending = ending->gone.size ? end_one(g, &behind) : NULL;
	}
}

static void note_entry(void *context, const struct gt_event *event)
{
	const struct gt_guest_call *g = context;

	gt_recorder_enter(event, g->frame);
}

/* One stack, with a number wherever it will be asked for. */
static void take_stack(struct gt_guest_call *g, uint64_t now_ns)
{
	uint64_t frames[GT_STACK_FRAMES_MAX];
	uint32_t depth = gt_settings_get()->stack_depth;
	size_t count;

	/* first: the caller may lie where other code lay a moment ago */
	gt_recorder_tick(now_ns);
	count = depth ? gt_unwind(frames, depth, g->caller, now_ns) : 0;
	g->call.stack = 0;
	g->tracker_stack = 0;
	if (!count)
		return;
	if (gt_live_table_is_on())
		g->tracker_stack = gt_creation_stack_put(frames, count);
	if (!gt_recorder_is_on())
		return;
	count = gt_python_merge(frames, count, depth, gt_recorder_text_frame, now_ns);
	g->call.stack = gt_recorder_stack(frames, count);
}

/* Appends change no life: only the resource tracker has a use for them. */
static bool is_wanted(const struct gt_function *fn)
{
	if (fn->effect == GT_APPEND)
		return gt_tracker_is_on();
	return gt_recorder_is_on() || gt_live_table_is_on();
}

void gt_guest_begin(struct gt_guest_call *g, enum gt_function_id function, const uint64_t *argv,
		    const void *caller)
{
	const struct gt_function *fn = &gt_functions[function];
	struct visit visit;
	uint64_t came_ns = 0;

	g->active = false;
	if (!is_wanted(fn) || gt_call_is_idle(function, argv))
		return;
	if (inside) {
		gt_recorder_lose();
		return;
	}
	step_in(&visit);
	g->watched = gt_tracker_is_on();
	g->ends = gt_function_ends(fn);
	if (g->ends || g->watched)
		came_ns = gt_now_ns();
	if (__builtin_expect(atomic_load_explicit(home, memory_order_relaxed) != AT_HOME, 0))
		move_in();
	g->active = true;
	g->caller = caller;
	g->call.function = function;
	g->call.argv = argv;
	g->frame = __builtin_frame_address(0);
	g->more_handles = NULL;
	if (fn->handle.from == GT_INS)
		copy_array(g, fn, argv);
	if (g->ends) {
		g->call.begun_ns = came_ns;
		/* where something ends is only asked of recordings */
		g->call.stack = 0;
		g->tracker_stack = 0;
		if (gt_recorder_is_on())
			take_stack(g, g->call.begun_ns);
		gt_call_endings(&g->call, note_entry, g);
		g->endings = &g->ending;
		g->ending_room = 1;
		g->ending_count = 0;
		g->ending_next = 0;
		if (gt_live_table_is_on())
			gt_call_endings(&g->call, take_away, g);
	}
	mark(g);
	/* last, so that what we took for ourselves is not the driver's */
	if (g->watched)
		gt_tracker_before(&g->watch, came_ns);
	step_out(&visit);
}

static void take_event(void *context, const struct gt_event *event)
{
	struct gt_guest_call *g = context;
	bool ends = gt_function_ends(&gt_functions[event->function]);
	const struct gt_ending *ending = NULL;
	enum gt_change change = GT_CHANGE_NONE;
	struct gt_ending replaced;

	if (gt_functions[event->function].effect != GT_APPEND)
		gt_recorder_event(event);
	if (event->failed)
		return;
	if (ends && g->ending_next < g->ending_count)
		ending = &g->endings[g->ending_next++];
	if (gt_live_table_is_on() && !ends) {
		struct gt_event tracked = *event;

		tracked.stack = g->tracker_stack;
		change = gt_live_table_apply(&tracked, &replaced);
		if (g->watched && replaced.change == GT_CHANGE_ENDED)
			gt_tracker_replaced(&g->watch, &replaced);
	}
	if (g->watched && (ending || !ends))
		gt_tracker_event(&g->watch, event, change, ending);
}

/* What a call has taken for itself. */
static void drop(struct gt_guest_call *g)
{
	if (g->ends && g->endings != &g->ending)
		free(g->endings);
	free(g->more_handles);
}

void gt_guest_end(struct gt_guest_call *g, uint64_t ret, const struct gt_call_door *door)
{
	struct visit visit;

	if (!g->active)
		return;
	unmark(g);
	/* forked inside the driver's call: the call is the parent's, and so is its trace */
	if (__builtin_expect(atomic_load_explicit(home, memory_order_relaxed) != AT_HOME, 0)) {
		drop(g);
		return;
	}
	step_in(&visit);
	if (g->watched)
		gt_tracker_after(&g->watch);
	g->call.ret = ret;
	g->call.ended_ns = gt_now_ns();
	g->call.tid = gt_thread_id();
	if (!g->ends && gt_functions[g->call.function].effect != GT_APPEND)
		take_stack(g, g->call.ended_ns);
	if (g->ends && !gt_call_succeeded(&g->call))
		for (size_t i = 0; i < g->ending_count; i++)
			gt_live_table_restore(&g->endings[i]);
	gt_call_events(&g->call, door, take_event, g);
	if (g->watched && g->ends && gt_call_succeeded(&g->call))
		while (g->ending_next < g->ending_count)
			gt_tracker_ended(&g->watch, &g->endings[g->ending_next++]);
	if (g->watched)
		gt_tracker_finish(&g->watch, &g->call, g->endings, g->ends ? g->ending_count : 0);
	if (g->ends)
		gt_recorder_leave(g->frame);
	drop(g);
	step_out(&visit);
	if (g->watched)
		gt_tracker_leave(&g->watch);
}
