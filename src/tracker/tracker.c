/* SPDX-License-Identifier: MIT */
/* tracker.c - the resource tracker: what each call cost the process, and what it left behind. */
#include "tracker/tracker.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/process.h"
#include "tracker/creation_sites.h"
#include "tracker/log.h"
#include "guest/recorder.h"
#include "guest/settings.h"
#include "guest/own_stack.h"

enum {
	THREADS_EVERY_NS = 1000 * 1000,
	/* shorter than what it takes to map memory and to touch it, or to unmap some */
	MOMENT_NS = 300,
	HEAP_AHEAD = 96 << 10,
	STACK_AHEAD = 64 << 10,
};

static bool on;
static _Atomic bool warned; /* of residue */
static _Atomic uint64_t calls_begun, calls_ended;

/* This thread's last call: the how manyth it was, when the program was back, what it knew. */
static __thread struct {
	uint64_t begun, left_ns;
	int64_t touched_kb;
} last_call __attribute__((tls_model("initial-exec")));

/* How many there are, and when that was read. */
static _Atomic int64_t threads;
static _Atomic uint64_t threads_read_ns;

/* What the living handles of each label have cost, and what dead ones left behind, in KB. */
static struct {
	_Atomic int64_t rss_kb, size_kb, data_kb;
	_Atomic int64_t left_anon_kb, left_size_kb;
} labels[GT_LABEL_COUNT];

bool gt_tracker_is_on(void)
{
	return on;
}

bool gt_tracker_has_warned(void)
{
	return atomic_load(&warned);
}

/* What first calls need of the program's own stack: a frame that is not for any thread. */
static __attribute__((noinline)) void touch_stack(void)
{
	volatile char stack[STACK_AHEAD];

	for (size_t i = 0; i < sizeof stack; i += 4096)
		stack[sizeof stack - 1 - i] = 0;
}

static void touch_heap(void)
{
	char *volatile heap = malloc(HEAP_AHEAD);

	if (heap)
		memset(heap, 0, HEAP_AHEAD);
	free(heap);
}

/* What this thread has for its stacks, ours and libunwind's; given back when it ends. */
static __thread struct {
	bool is_there;
	int64_t kb;
} own __attribute__((tls_model("initial-exec")));
static pthread_key_t thread_end;
static bool has_thread_end;

static void thread_ended(void *unused)
{
	(void)unused;
	gt_meter_exclude(-own.kb);
}

/* A later thread's first stack takes memory that must not look like the program's. */
static void warm_thread(void)
{
	int64_t before;

	own.is_there = true;
	if (!gt_settings_get()->stack_depth || !has_thread_end)
		return;
	/* all that it maps it touches, and what others touch meanwhile is not counted here */
	before = gt_meter_touched_kb();
	gt_unwind_warm();
	own.kb = gt_meter_touched_kb() - before;
	gt_meter_exclude(own.kb);
	pthread_setspecific(thread_end, &own);
}

/*
 * Whatever we take between two rows looks like the program's doing in the second one: the tables
 * are there before the first.
 */
static void warm(void)
{
	gt_live_table_warm();
	if (gt_settings_get()->stack_depth) {
		gt_unwind_warm();
		gt_creation_stacks_warm();
	}
	/* the first thread has its stacks before the first row */
	own.is_there = true;
	touch_heap();
	/* another thread's may be smaller */
	if (gt_thread_id() == (uint32_t)getpid())
		touch_stack();
}

void gt_tracker_start(void)
{
	if (!gt_settings_get()->tracker)
		return;
	has_thread_end = !pthread_key_create(&thread_end, thread_ended);
	gt_live_table_enable_costs();
	gt_log_start();
	warm();
	gt_csv_start();
	on = true;
}

void gt_tracker_restart(bool can_take)
{
	if (!on)
		return;
	for (int i = 0; i < GT_LABEL_COUNT; i++) {
		atomic_store(&labels[i].rss_kb, 0);
		atomic_store(&labels[i].size_kb, 0);
		atomic_store(&labels[i].data_kb, 0);
		atomic_store(&labels[i].left_anon_kb, 0);
		atomic_store(&labels[i].left_size_kb, 0);
	}
	atomic_store(&calls_ended, atomic_load(&calls_begun));
	atomic_store(&threads_read_ns, 0);
	atomic_store(&warned, false);
	/* the tracker has begun anew; the rest is as the parent had it */
	if (can_take)
		gt_live_table_warm();
	gt_meter_restart();
	gt_log_restart();
	gt_csv_restart();
}

/* By this thread; -1: there is no other. */
static int64_t touched_so_far(void)
{
	return atomic_load_explicit(&threads, memory_order_relaxed) > 1 ? gt_meter_touched_kb() :
									  -1;
}

void gt_tracker_leave(const struct gt_tracker_call *w)
{
	/* pages that were touched for the first time show as a change */
	last_call.touched_kb =
		memcmp(&w->before, &w->after, sizeof w->after) ? touched_so_far() : w->touched_kb;
	last_call.begun = w->begun;
	last_call.left_ns = gt_now_ns();
}

/*
 * The program has had no time to change since this thread's last call, and there was no other's.
 * A recording and a log of each call take memory for themselves at any time.
 */
static bool is_the_next_moment(const struct gt_tracker_call *w, uint64_t came_ns)
{
	return w->alone && w->begun == last_call.begun + 1 &&
	       came_ns - last_call.left_ns < MOMENT_NS && !gt_recorder_is_on() &&
	       !gt_log_wants(GT_LOG_DEBUG);
}

void gt_tracker_before(struct gt_tracker_call *w, uint64_t came_ns)
{
	if (__builtin_expect(!own.is_there, 0))
		warm_thread();
	w->change = (struct gt_counts){ 0 };
	w->handle = 0;
	w->size = 0;
	w->function = GT_FN_NONE;
	w->begun = atomic_fetch_add(&calls_begun, 1) + 1;
	w->alone = atomic_load(&calls_ended) == w->begun - 1;
	w->touched_kb = -1;
	/* what a call costs that is not alone cannot be told: another's reading will do */
	if (!w->alone && !gt_log_wants(GT_LOG_DEBUG)) {
		gt_meter_latest(&w->before);
		return;
	}
	if (is_the_next_moment(w, came_ns) && gt_meter_reuse(&w->before)) {
		w->touched_kb = last_call.touched_kb;
		return;
	}
	w->touched_kb = touched_so_far();
	gt_meter_read(&w->before);
}

/* Threads are counted now and then: one that began a moment ago may have done it. */
static bool has_company(void)
{
	int64_t now = gt_meter_threads();

	atomic_store_explicit(&threads, now, memory_order_relaxed);
	return now > 1;
}

void gt_tracker_after(struct gt_tracker_call *w)
{
	gt_meter_read(&w->after);
	w->alone = w->alone && atomic_load(&calls_begun) == w->begun;
	/* pages beyond those that this thread touched are another's */
	if (w->after.anon_kb > w->before.anon_kb &&
	    (w->touched_kb < 0 ?
		     has_company() :
		     w->after.anon_kb - w->before.anon_kb > gt_meter_touched_kb() - w->touched_kb))
		w->alone = false;
	atomic_fetch_add(&calls_ended, 1);
}

static enum gt_label label_of(enum gt_kind kind)
{
	return (enum gt_label)gt_kinds[kind].label;
}

static void count(struct gt_tracker_call *w, enum gt_kind kind, int64_t by, uint64_t bytes)
{
	enum gt_label label = label_of(kind);

	w->change.count[label] += by;
	if (label == GT_LABEL_MEMORY)
		w->change.bytes[gt_kinds[kind].memory] += by * (int64_t)bytes;
}

static bool is_nothing(const struct gt_cost *cost)
{
	return !cost->rss_kb && !cost->size_kb && !cost->data_kb && !cost->anon_kb &&
	       !cost->uncertain;
}

static void add_cost(enum gt_label label, const struct gt_cost *cost, int sign)
{
	atomic_fetch_add(&labels[label].rss_kb, sign * cost->rss_kb);
	atomic_fetch_add(&labels[label].size_kb, sign * cost->size_kb);
	atomic_fetch_add(&labels[label].data_kb, sign * cost->data_kb);
}

void gt_tracker_ended(struct gt_tracker_call *w, const struct gt_ending *ending)
{
	if (ending->change == GT_CHANGE_ENDED)
		count(w, gt_entry_kind(&ending->gone), -1, ending->gone.size);
}

void gt_tracker_event(struct gt_tracker_call *w, const struct gt_event *event,
		      enum gt_change change, const struct gt_ending *ending)
{
	const struct gt_function *fn = &gt_functions[event->function];

	if (!w->handle) {
		w->handle = event->handle;
		w->function = event->function;
		w->size = !ending                           ? event->size :
			  ending->change == GT_CHANGE_ENDED ? ending->gone.size :
							      0;
	}
	if (ending)
		gt_tracker_ended(w, ending);
	else if (change == GT_CHANGE_BORN || change == GT_CHANGE_REPLACED)
		count(w, (enum gt_kind)fn->kind, 1, event->size);
}

void gt_tracker_replaced(struct gt_tracker_call *w, const struct gt_ending *replaced)
{
	enum gt_kind kind = gt_entry_kind(&replaced->gone);

	count(w, kind, -1, replaced->gone.size);
	if (!is_nothing(&replaced->cost))
		add_cost(label_of(kind), &replaced->cost, -1);
}

/*
 * What a label's dead handles have left behind. Memory that was kept has both been mapped and been
 * touched, if not by the same call; a page touched for the first time in memory that was there
 * before is no leak, nor is code that was read in, nor address space that was reserved.
 */
static int64_t left_behind(int64_t anon_kb, int64_t size_kb)
{
	int64_t kb = anon_kb < size_kb ? anon_kb : size_kb;

	return kb > 0 ? kb : 0;
}

int64_t gt_tracker_residue_kb(enum gt_label label)
{
	return left_behind(atomic_load(&labels[label].left_anon_kb),
			   atomic_load(&labels[label].left_size_kb));
}

/*
 * Pages that the program touched go with the handle: the process seems to have got smaller by them.
 * That is no credit for what the driver kept, as long as no more was unmapped than was mapped.
 */
static int64_t without_touched(int64_t anon_kb, int64_t size_kb, uint64_t bytes)
{
	if (anon_kb >= 0 || size_kb < 0)
		return anon_kb;
	anon_kb += (int64_t)(bytes / 1024);
	return anon_kb < 0 ? 0 : anon_kb < size_kb ? anon_kb : size_kb;
}

/* The handle is gone: what its calls together left in the process is the driver's. */
static void settle(const struct gt_ending *ending, const struct gt_cost *last)
{
	enum gt_label label = label_of(gt_entry_kind(&ending->gone));
	int64_t size = ending->cost.size_kb + last->size_kb;
	int64_t anon =
		without_touched(ending->cost.anon_kb + last->anon_kb, size, ending->gone.size);
	int64_t anon_before, size_before, total;

	if (ending->cost.uncertain || last->uncertain)
		return;
	anon_before = atomic_fetch_add(&labels[label].left_anon_kb, anon);
	size_before = atomic_fetch_add(&labels[label].left_size_kb, size);
	total = left_behind(anon_before + anon, size_before + size);
	if (anon <= gt_settings_get()->warn_kb || total <= left_behind(anon_before, size_before))
		return;
	atomic_store(&warned, true);
	gt_log(GT_LOG_WARNING,
	       "MEMORY LEAK DETECTED: %s handle=0x%" PRIx64 " - After destroy: VmRSS=%+" PRId64
	       "KB, VmSize=%+" PRId64 "KB (Total %s leaks: %" PRId64 "KB)",
	       gt_labels[label], ending->gone.handle, anon, size, gt_labels[label], total);
}

/* Lines of the labels that have something alive: what that has cost. */
static size_t put_labels(char *text, size_t size, const struct gt_counts *now, const char *api)
{
	int64_t bytes = now->bytes[GT_MEMORY_DEVICE] + now->bytes[GT_MEMORY_SHARED] +
			now->bytes[GT_MEMORY_HOST];
	size_t used = 0;

	for (int i = 0; i < GT_LABEL_COUNT && used < size; i++) {
		char number[64];

		if (now->count[i] <= 0)
			continue;
		if (i == GT_LABEL_MEMORY)
			snprintf(number, sizeof number, "Total: %" PRId64 " bytes / %" PRId64 " KB",
				 bytes, bytes / 1024);
		else
			snprintf(number, sizeof number, "%" PRId64, now->count[i]);
		used += (size_t)snprintf(
			text + used, size - used,
			"\n    %s %s (%s): VmRSS=%" PRId64 "KB, VmSize=%" PRId64
			"KB, VmData=%" PRId64 "KB",
			api, gt_label_plurals[i], number, atomic_load(&labels[i].rss_kb),
			atomic_load(&labels[i].size_kb), atomic_load(&labels[i].data_kb));
	}
	return used < size ? used : size - 1;
}

static void log_call(const struct gt_tracker_call *w, const struct gt_call *call,
		     const struct gt_counts *now)
{
	const struct gt_function *fn = &gt_functions[w->function ? w->function : call->function];
	enum gt_label label = label_of((enum gt_kind)fn->kind);
	struct gt_meter delta = gt_meter_difference(&w->after, &w->before);
	char what[96] = "", size[48] = "", text[4096];

	if (fn->effect != GT_APPEND)
		snprintf(what, sizeof what, "%s Count=%" PRId64 ", ", gt_labels[label],
			 now->count[label]);
	if (label == GT_LABEL_MEMORY && fn->effect != GT_APPEND)
		snprintf(size, sizeof size, ", size=%" PRIu64, w->size);
	gt_log(GT_LOG_DEBUG,
	       "%s: %shandle=0x%" PRIx64 "%s, Delta: VmRSS=%+" PRId64 "KB, VmSize=%+" PRId64
	       "KB, VmData=%+" PRId64 "KB",
	       gt_function_names[call->function], what, w->handle, size, delta.rss_kb,
	       delta.size_kb, delta.data_kb);
	text[0] = '\0';
	put_labels(text, sizeof text, now, fn->api == GT_LEVELZERO ? "L0" : gt_api_names[fn->api]);
	gt_log(GT_LOG_DEBUG,
	       "\n  System Use After Call:\n    Total System: VmRSS=%" PRId64 "KB, VmSize=%" PRId64
	       "KB, VmData=%" PRId64 "KB, Threads=%" PRId64 "%s",
	       w->after.rss_kb, w->after.size_kb, w->after.data_kb, atomic_load(&threads), text);
}

static void log_failure(const struct gt_call *call)
{
	int32_t code = gt_call_code(call);

	if (code)
		gt_log(GT_LOG_DEBUG, "%s: failed with 0x%x, nothing changed",
		       gt_function_names[call->function], (unsigned)code);
	else
		gt_log(GT_LOG_DEBUG, "%s: failed, nothing changed",
		       gt_function_names[call->function]);
}

/* What a handle has cost is no longer a living one's; and what dies with it is gone too. */
static void forget(struct gt_tracker_call *w, const struct gt_ending *ending)
{
	size_t orphans = gt_live_table_end_owned(ending->gone.handle);

	if (gt_kinds[gt_entry_kind(&ending->gone)].habits & GT_TAKES) {
		size_t taken;
		struct gt_entry *list = gt_live_table_end_dependents(&ending->gone, &taken);

		for (size_t i = 0; i < taken; i++)
			count(w, gt_entry_kind(&list[i]), -1, list[i].size);
		free(list);
	}
	if (!is_nothing(&ending->cost))
		add_cost(label_of(gt_entry_kind(&ending->gone)), &ending->cost, -1);
	w->change.count[GT_LABEL_IPC_HANDLE] -= (int64_t)orphans;
}

/* At most once a millisecond: threads come and go more rarely than calls. */
static void count_threads(uint64_t now_ns)
{
	if (now_ns - atomic_load_explicit(&threads_read_ns, memory_order_relaxed) <
	    THREADS_EVERY_NS)
		return;
	atomic_store_explicit(&threads, gt_meter_threads(), memory_order_relaxed);
	atomic_store_explicit(&threads_read_ns, now_ns, memory_order_relaxed);
}

void gt_tracker_finish(struct gt_tracker_call *w, const struct gt_call *call,
		       const struct gt_ending *endings, size_t ending_count)
{
	struct gt_meter delta = gt_meter_difference(&w->after, &w->before);
	struct gt_cost cost = { .rss_kb = (int32_t)delta.rss_kb,
				.size_kb = (int32_t)delta.size_kb,
				.data_kb = (int32_t)delta.data_kb,
				.anon_kb = (int32_t)delta.anon_kb,
				.uncertain = !w->alone };
	const struct gt_function *fn = &gt_functions[call->function];
	struct gt_counts now;

	if (!gt_call_succeeded(call)) {
		/* a build that failed has made its log all the same */
		gt_csv_count(&w->change);
		if (gt_log_wants(GT_LOG_DEBUG))
			log_failure(call);
		return;
	}
	if ((fn->effect == GT_CREATE || fn->effect == GT_APPEND) && !is_nothing(&cost)) {
		gt_live_table_charge((enum gt_kind)fn->kind, w->handle, &cost);
		add_cost(label_of((enum gt_kind)fn->kind), &cost, 1);
	}
	for (size_t i = 0; i < ending_count; i++)
		if (endings[i].change == GT_CHANGE_ENDED)
			forget(w, &endings[i]);
	count_threads(call->ended_ns);
	if (gt_settings_get()->csv_extended)
		gt_meter_ask_device(call->ended_ns);
	gt_csv_row(gt_function_names[call->function], &w->after, atomic_load(&threads), &w->change,
		   &now, call->ended_ns);
	if (gt_log_wants(GT_LOG_DEBUG))
		log_call(w, call, &now);
	for (size_t i = 0; i < ending_count; i++)
		if (endings[i].change == GT_CHANGE_ENDED)
			settle(&endings[i], &cost);
}
