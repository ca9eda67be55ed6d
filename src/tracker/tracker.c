/* SPDX-License-Identifier: MIT */
/* tracker.c - the resource tracker: how much memory each call cost, and what stays behind. */
#include "tracker/tracker.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/process.h"
#include "base/table_memory.h"
#include "base/thread_key.h"
#include "tracker/creation_sites.h"
#include "tracker/log.h"
#include "tracker/residue_sums.h"
#include "guest/heap.h"
#include "guest/recorder.h"
#include "guest/settings.h"
#include "guest/own_stack.h"

enum {
	THREADS_EVERY_NS = 1000 * 1000,
	/* less time than it takes to map and touch memory, or to unmap some */
	MOMENT_NS = 300,
	HEAP_AHEAD = 96 << 10,
	STACK_AHEAD = 64 << 10,
};

static bool on;
static _Atomic bool warned; /* of residue */
static _Atomic uint64_t calls_begun, calls_ended;

/* This thread's last call: its number, when it returned, and the memory touched by then. */
static __thread struct {
	uint64_t begun, returned_ns;
	int64_t touched_kb;
} last_call __attribute__((tls_model("initial-exec")));

/* The number of threads, and when it was read. */
static _Atomic int64_t threads;
static _Atomic uint64_t threads_read_ns;

/* By label: the cost of living handles. */
static struct {
	_Atomic int64_t rss_kb, size_kb, data_kb;
} labels[GT_LABEL_COUNT];

bool gt_tracker_is_on(void)
{
	return on;
}

bool gt_tracker_has_warned(void)
{
	return atomic_load(&warned);
}

/* Touches the stack that the first calls need; its frame may be too big for some threads. */
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
	gt_heap_touch(HEAP_AHEAD);
}

/* Memory for this thread's stacks, freed when it ends. */
static __thread struct {
	bool is_counted;
	int64_t kb;
} thread_memory __attribute__((tls_model("initial-exec")));
static pthread_key_t thread_end;
static bool has_thread_end;

static void thread_ended(void *unused)
{
	(void)unused;
	gt_meter_exclude(-thread_memory.kb);
}

/* A new thread's first stack allocates memory that must not be taken for the program's. */
void gt_tracker_warm_thread(void)
{
	int64_t before;

	if (__builtin_expect(thread_memory.is_counted, 1))
		return;
	thread_memory.is_counted = true;
	if (!has_thread_end)
		return;
	/* we touch all that we map, and memory that others touch meanwhile is not counted here */
	before = gt_meter_touched_kb();
	if (gt_settings_get()->stack_depth)
		gt_unwind_warm();
	gt_stack_is_interrupted();
	thread_memory.kb = gt_meter_touched_kb() - before;
	gt_meter_exclude(thread_memory.kb);
	pthread_setspecific(thread_end, &thread_memory);
}

/*
 * Memory that we allocate between two rows looks like the program's in the second: so we allocate
 * our tables before the first.
 */
static void warm(void)
{
	gt_live_table_warm();
	if (gt_settings_get()->stack_depth) {
		gt_unwind_warm();
		gt_creation_stacks_warm();
	}
	/* the first thread's stacks are allocated before the first row */
	gt_stack_is_interrupted();
	thread_memory.is_counted = true;
	touch_heap();
	/* another thread's stack may be smaller */
	if (gt_thread_id() == (uint32_t)getpid())
		touch_stack();
}

void gt_tracker_start(void)
{
	if (!gt_settings_get()->tracker)
		return;
	has_thread_end = gt_thread_key_create(&thread_end, thread_ended);
	gt_live_table_enable_costs();
	gt_log_start();
	gt_malloc_use_start();
	warm();
	gt_csv_start();
	on = true;
}

void gt_tracker_restart(bool can_allocate)
{
	if (!on)
		return;
	for (int i = 0; i < GT_LABEL_COUNT; i++) {
		atomic_store(&labels[i].rss_kb, 0);
		atomic_store(&labels[i].size_kb, 0);
		atomic_store(&labels[i].data_kb, 0);
	}
	gt_residue_restart();
	atomic_store(&calls_ended, atomic_load(&calls_begun));
	atomic_store(&threads_read_ns, 0);
	atomic_store(&warned, false);
	/* the live table is new; our other memory is the parent's, already allocated */
	if (can_allocate)
		gt_live_table_warm();
	gt_malloc_use_restart(can_allocate);
	gt_meter_restart();
	gt_log_restart();
	gt_csv_restart();
}

/* Memory this thread has touched; -1: it is the only thread. */
static int64_t touched_so_far(void)
{
	return atomic_load_explicit(&threads, memory_order_relaxed) > 1 ? gt_meter_touched_kb() :
									  -1;
}

void gt_tracker_leave(const struct gt_tracker_call *t, const struct gt_tracker_result *r)
{
	/* newly touched pages show as a change of the reading */
	last_call.touched_kb =
		memcmp(&t->before, &r->after, sizeof r->after) ? touched_so_far() : t->touched_kb;
	last_call.begun = t->begun;
	last_call.returned_ns = gt_now_ns();
}

/*
 * True when the program has had no time to allocate since this thread's last call, and no other
 * thread made a call. A recording and a log of each call allocate memory of their own at any time.
 */
static bool follows_at_once(const struct gt_tracker_call *t, uint64_t called_ns)
{
	return t->alone && t->begun == last_call.begun + 1 &&
	       called_ns - last_call.returned_ns < MOMENT_NS && !gt_recorder_is_on() &&
	       !gt_log_wants(GT_LOG_DEBUG);
}

/* After the other readings: what it allocates itself, at its first use, is not the driver's. */
static void read_heap_before(struct gt_tracker_call *t, uint64_t called_ns)
{
	t->era = gt_malloc_use_era(called_ns);
	if (t->era && !gt_malloc_use_read(&t->free_before))
		t->alone = false;
}

void gt_tracker_before(struct gt_tracker_call *t, uint64_t called_ns)
{
	t->begun = atomic_fetch_add(&calls_begun, 1) + 1;
	t->alone = atomic_load(&calls_ended) == t->begun - 1;
	t->touched_kb = -1;
	t->era = 0;
	/* a call that is not alone cannot be measured: another thread's reading will do */
	if (!t->alone && !gt_log_wants(GT_LOG_DEBUG)) {
		gt_meter_latest(&t->before);
		return;
	}
	if (t->alone)
		read_heap_before(t, called_ns);
	if (follows_at_once(t, called_ns) && gt_meter_reuse(&t->before)) {
		t->touched_kb = last_call.touched_kb;
		return;
	}
	t->touched_kb = touched_so_far();
	gt_meter_read(&t->before);
}

/* Threads are counted only now and then: a new one may have touched the memory. */
static bool has_other_threads(void)
{
	int64_t now = gt_meter_threads();

	atomic_store_explicit(&threads, now, memory_order_relaxed);
	return now > 1;
}

void gt_tracker_after(struct gt_tracker_call *t, struct gt_tracker_result *r)
{
	bool has_grown;

	gt_meter_read(&r->after);
	has_grown = r->after.anon_kb > t->before.anon_kb;
	t->alone = t->alone && atomic_load(&calls_begun) == t->begun;
	/* pages that this thread did not touch are another's */
	if (has_grown && t->alone &&
	    (t->touched_kb < 0 ?
		     has_other_threads() :
		     r->after.anon_kb - t->before.anon_kb > gt_meter_touched_kb() - t->touched_kb))
		t->alone = false;
	/* growth that may be another thread's does not say that calls make the process grow */
	if (has_grown && t->alone)
		gt_malloc_use_watch();
	if (t->era && t->alone)
		t->alone = gt_malloc_use_read_again(&r->free_after);
	atomic_fetch_add(&calls_ended, 1);
	r->counts = (struct gt_counts){ 0 };
	r->handle = 0;
	r->size = 0;
	r->function = GT_FN_NONE;
}

static enum gt_label label_of(enum gt_kind kind)
{
	return (enum gt_label)gt_kinds[kind].label;
}

static void count(struct gt_tracker_result *r, enum gt_kind kind, int32_t by, uint64_t bytes)
{
	enum gt_label label = label_of(kind);

	r->counts.count[label] += by;
	if (label == GT_LABEL_MEMORY)
		r->counts.bytes[gt_kinds[kind].memory] += by * (int64_t)bytes;
}

static bool is_zero(const struct gt_cost *cost)
{
	return !cost->rss_kb && !cost->size_kb && !cost->data_kb && !cost->anon_kb &&
	       !cost->free_16 && !cost->uncertain;
}

static void add_cost(enum gt_label label, const struct gt_cost *cost, int sign)
{
	atomic_fetch_add(&labels[label].rss_kb, sign * cost->rss_kb);
	atomic_fetch_add(&labels[label].size_kb, sign * cost->size_kb);
	atomic_fetch_add(&labels[label].data_kb, sign * cost->data_kb);
}

void gt_tracker_ended(struct gt_tracker_result *r, const struct gt_ending *ending)
{
	if (ending->change == GT_CHANGE_ENDED)
		count(r, gt_entry_kind(&ending->gone), -1, ending->gone.size);
}

void gt_tracker_event(struct gt_tracker_result *r, const struct gt_event *event,
		      enum gt_change change, const struct gt_ending *ending)
{
	const struct gt_function *fn = &gt_functions[event->function];

	if (!r->handle) {
		r->handle = event->handle;
		r->function = event->function;
		r->size = !ending                           ? event->size :
			  ending->change == GT_CHANGE_ENDED ? ending->gone.size :
							      0;
	}
	if (ending)
		gt_tracker_ended(r, ending);
	else if (change == GT_CHANGE_BORN || change == GT_CHANGE_REPLACED)
		count(r, (enum gt_kind)fn->kind, 1, event->size);
}

void gt_tracker_replaced(struct gt_tracker_result *r, const struct gt_ending *replaced)
{
	enum gt_kind kind = gt_entry_kind(&replaced->gone);

	count(r, kind, -1, replaced->gone.size);
	if (!is_zero(&replaced->cost))
		add_cost(label_of(kind), &replaced->cost, -1);
}

static void warn_of_residue(const struct gt_ending *ending)
{
	enum gt_label label = label_of(gt_entry_kind(&ending->gone));
	const struct gt_left *left = &ending->left;

	if (left->kept_kb <= gt_settings_get()->warn_kb || !left->has_grown)
		return;
	atomic_store(&warned, true);
	gt_log(GT_LOG_WARNING,
	       "MEMORY LEAK DETECTED: %s handle=0x%" PRIx64 " - After destroy: VmRSS=%+" PRId64
	       "KB, VmSize=%+" PRId64 "KB (Total %s leaks: %" PRId64 "KB)",
	       gt_labels[label], ending->gone.handle, left->kept_kb, left->size_kb,
	       gt_labels[label], left->label_kb);
}

/* Adds a line for each label with living handles: how many, and their cost. */
static void log_labels(const struct gt_counts *now, const char *api)
{
	int64_t bytes = now->bytes[GT_MEMORY_DEVICE] + now->bytes[GT_MEMORY_SHARED] +
			now->bytes[GT_MEMORY_HOST];

	for (int i = 0; i < GT_LABEL_COUNT; i++) {
		if (now->count[i] <= 0)
			continue;
		gt_log_add("\n    %s %s (", api, gt_label_plurals[i]);
		if (i == GT_LABEL_MEMORY)
			gt_log_add("Total: %" PRId64 " bytes / %" PRId64 " KB", bytes,
				   bytes / 1024);
		else
			gt_log_add("%d", now->count[i]);
		gt_log_add("): VmRSS=%" PRId64 "KB, VmSize=%" PRId64 "KB, VmData=%" PRId64 "KB",
			   atomic_load(&labels[i].rss_kb), atomic_load(&labels[i].size_kb),
			   atomic_load(&labels[i].data_kb));
	}
}

static void log_call(const struct gt_tracker_call *t, const struct gt_tracker_result *r,
		     const struct gt_call *call)
{
	const struct gt_function *fn = &gt_functions[r->function ? r->function : call->function];
	enum gt_label label = label_of((enum gt_kind)fn->kind);
	struct gt_meter delta = gt_meter_difference(&r->after, &t->before);

	gt_log_open(GT_LOG_DEBUG);
	gt_log_add("%s: ", gt_function_names[call->function]);
	if (fn->effect != GT_APPEND)
		gt_log_add("%s Count=%d, ", gt_labels[label], r->counts.count[label]);
	gt_log_add("handle=0x%" PRIx64, r->handle);
	if (label == GT_LABEL_MEMORY && fn->effect != GT_APPEND)
		gt_log_add(", size=%" PRIu64, r->size);
	gt_log_add(", Delta: VmRSS=%+" PRId64 "KB, VmSize=%+" PRId64 "KB, VmData=%+" PRId64 "KB",
		   delta.rss_kb, delta.size_kb, delta.data_kb);
	gt_log_close();
	gt_log_open(GT_LOG_DEBUG);
	gt_log_add("\n  System Use After Call:\n    Total System: VmRSS=%" PRId64
		   "KB, VmSize=%" PRId64 "KB, VmData=%" PRId64 "KB, Threads=%" PRId64,
		   r->after.rss_kb, r->after.size_kb, r->after.data_kb, atomic_load(&threads));
	log_labels(&r->counts, fn->api == GT_LEVELZERO ? "L0" : gt_api_names[fn->api]);
	gt_log_close();
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

/* Takes a destroyed handle's cost off the living ones, and ends what dies with it. */
static void end_handle(struct gt_tracker_result *r, const struct gt_ending *ending)
{
	size_t orphans = gt_live_table_end_owned(ending->gone.handle);

	if (gt_kinds[gt_entry_kind(&ending->gone)].habits & GT_TAKES) {
		size_t taken;
		struct gt_entry *list = gt_live_table_end_dependents(&ending->gone, &taken);

		for (size_t i = 0; i < taken; i++)
			count(r, gt_entry_kind(&list[i]), -1, list[i].size);
		gt_table_free(list);
	}
	if (!is_zero(&ending->cost))
		add_cost(label_of(gt_entry_kind(&ending->gone)), &ending->cost, -1);
	r->counts.count[GT_LABEL_IPC_HANDLE] -= (int32_t)orphans;
}

/* At most once a millisecond: threads start and end less often than calls. */
static void count_threads(uint64_t now_ns)
{
	if (now_ns - atomic_load_explicit(&threads_read_ns, memory_order_relaxed) <
	    THREADS_EVERY_NS)
		return;
	atomic_store_explicit(&threads, gt_meter_threads(), memory_order_relaxed);
	atomic_store_explicit(&threads_read_ns, now_ns, memory_order_relaxed);
}

static struct gt_cost cost_of_call(const struct gt_tracker_call *t,
				   const struct gt_tracker_result *r)
{
	struct gt_meter delta = gt_meter_difference(&r->after, &t->before);
	struct gt_cost cost = { .rss_kb = (int32_t)delta.rss_kb,
				.size_kb = (int32_t)delta.size_kb,
				.data_kb = (int32_t)delta.data_kb,
				.anon_kb = (int32_t)delta.anon_kb,
				.uncertain = !t->alone,
				.crowded = t->touched_kb >= 0 };

	if (t->era && t->alone) {
		cost.era = t->era;
		cost.free_16 = (int32_t)((r->free_after - t->free_before) / 16);
	}
	return cost;
}

void gt_tracker_finish(const struct gt_tracker_call *t, struct gt_tracker_result *r,
		       const struct gt_call *call, struct gt_ending *endings, size_t ending_count)
{
	struct gt_cost cost = cost_of_call(t, r), last = cost;
	const struct gt_function *fn = &gt_functions[call->function];

	if (!gt_call_succeeded(call)) {
		/* a failed call may create something too: a module build creates its log */
		gt_csv_count(&r->counts);
		if (gt_log_wants(GT_LOG_DEBUG))
			log_failure(call);
		return;
	}
	if (fn->effect != GT_CREATE)
		cost.era = 0;
	if ((fn->effect == GT_CREATE || fn->effect == GT_APPEND) && (!is_zero(&cost) || cost.era)) {
		gt_live_table_charge((enum gt_kind)fn->kind, r->handle, &cost);
		add_cost(label_of((enum gt_kind)fn->kind), &cost, 1);
	}
	for (size_t i = 0; i < ending_count; i++)
		if (endings[i].change == GT_CHANGE_ENDED) {
			end_handle(r, &endings[i]);
			/* before its row, whose last column includes it */
			gt_residue_add(&endings[i], &last);
			/* a call that ends several has been counted with the first */
			last = (struct gt_cost){ .uncertain = cost.uncertain, .era = last.era };
		}
	count_threads(call->ended_ns);
	if (gt_settings_get()->csv_extended)
		gt_meter_ask_device(call->ended_ns);
	gt_csv_row(gt_function_names[call->function], &r->after, atomic_load(&threads), &r->counts,
		   call->ended_ns);
	if (gt_log_wants(GT_LOG_DEBUG))
		log_call(t, r, call);
	for (size_t i = 0; i < ending_count; i++)
		if (endings[i].change == GT_CHANGE_ENDED)
			warn_of_residue(&endings[i]);
}
