/* SPDX-License-Identifier: MIT */
/* nsys_calls.c - the CUDA calls of an export: in which one an event was made, and which failed. */
#include "capture/nsys/nsys_calls.h"

#include <errno.h>
#include <stdlib.h>

#include "api/results.h"
#include "base/bytes.h"
#include "base/mem.h"
#include "capture/nsys/nsys_kinds.h"

#define TABLE "CUPTI_ACTIVITY_KIND_RUNTIME"

enum { EVENT_CLASS_DRIVER = 1, EVENT_CLASS_BACKTRACE = 67, FIRST_SWEEP = 256 };
/* Failed calls that may still get their stack, or turn out to be part of another. */
enum { FAILED_WAITING = 64 };

struct running {
	struct gt_nsys_call call;
	uint32_t next; /* in its hash chain: index + 1 */
};

/* The hash table is its own because calls are dropped when they have ended. */
struct gt_nsys_calls {
	const struct gt_database *database;
	struct gt_nsys_names *names;
	sqlite3_stmt *rows;        /* NULL: none, or no more */
	struct gt_nsys_call ahead; /* read, but not begun yet */
	bool has_ahead, sorted;
	struct running *running;
	size_t count, room, sweep_at;
	uint32_t *heads; /* by hash: index + 1 */
	size_t mask;
	struct gt_nsys_call failed[FAILED_WAITING]; /* a ring, in order of time */
	uint64_t failed_first, failed_next;
	uint64_t given; /* failed calls before this one have been returned */
	int64_t end;
	uint64_t read;
};

static enum gt_nsys_call_class class_of(int64_t event_class)
{
	return event_class == EVENT_CLASS_BACKTRACE ? GT_NSYS_CALL_BACKTRACE :
	       event_class == EVENT_CLASS_DRIVER    ? GT_NSYS_CALL_DRIVER :
						      GT_NSYS_CALL_RUNTIME;
}

/* Columns of the query, in this order. */
enum { START, END, CLASS, THREAD, CORRELATION, NAME, RESULT, CHAIN };

static int read_ahead(struct gt_nsys_calls *c, struct gt_error *error)
{
	sqlite3_stmt *s = c->rows;
	int64_t last = c->has_ahead ? c->ahead.start : INT64_MIN, thread;
	int step = s ? sqlite3_step(s) : SQLITE_DONE;

	c->has_ahead = step == SQLITE_ROW;
	if (step == SQLITE_DONE)
		return 0;
	if (step != SQLITE_ROW)
		return gt_database_failed(c->database, error);
	thread = sqlite3_column_int64(s, THREAD);
	c->ahead = (struct gt_nsys_call){
		.start = sqlite3_column_int64(s, START),
		.end = sqlite3_column_int64(s, END),
		.process = gt_nsys_process(thread),
		.tid = gt_nsys_tid(thread),
		.correlation = sqlite3_column_int64(s, CORRELATION),
		.name = sqlite3_column_int64(s, NAME),
		.result = (int32_t)sqlite3_column_int64(s, RESULT),
		.chain = sqlite3_column_int64(s, CHAIN),
		.has_chain = sqlite3_column_type(s, CHAIN) != SQLITE_NULL,
		.class = class_of(sqlite3_column_int64(s, CLASS)),
	};
	c->end = c->ahead.end > c->end ? c->ahead.end : c->end;
	c->read++;
	return c->ahead.start < last && !c->sorted ? -EAGAIN : 0;
}

static int open_rows(struct gt_nsys_calls *c, struct gt_error *error)
{
	const struct gt_database *d = c->database;

	return gt_database_query(
		&c->rows, d, error,
		"SELECT start, \"end\", %s, globalTid, %s, %s, %s, %s FROM " TABLE
		" WHERE globalTid IS NOT NULL%s",
		gt_database_column(d, TABLE, "eventClass"),
		gt_database_column(d, TABLE, "correlationId"),
		gt_database_column(d, TABLE, "nameId"), gt_database_column(d, TABLE, "returnValue"),
		gt_database_column(d, TABLE, "callchainId"),
		!c->sorted                      ? "" :
		gt_database_has_rowid(d, TABLE) ? " ORDER BY CAST(start AS INTEGER), rowid" :
						  " ORDER BY CAST(start AS INTEGER)");
}

int gt_nsys_calls_new(struct gt_nsys_calls **out, const struct gt_database *d,
		      struct gt_nsys_names *names, bool sorted, struct gt_error *error)
{
	static const char *const needed[] = { "start", "end", "globalTid", NULL };
	struct gt_nsys_calls *c = gt_alloc(sizeof *c);
	int e = 0;

	*out = NULL;
	c->database = d;
	c->names = names;
	c->sorted = sorted;
	c->end = INT64_MIN;
	c->sweep_at = FIRST_SWEEP;
	c->mask = FIRST_SWEEP * 2 - 1;
	c->heads = gt_alloc((c->mask + 1) * sizeof *c->heads);
	if (gt_database_has_table(d, TABLE)) {
		e = gt_database_needs(d, TABLE, needed, error);
		if (!e)
			e = open_rows(c, error);
	}
	if (!e)
		e = read_ahead(c, error);
	if (e)
		gt_nsys_calls_free(c);
	else
		*out = c;
	return e;
}

void gt_nsys_calls_free(struct gt_nsys_calls *c)
{
	sqlite3_finalize(c->rows);
	free(c->running);
	free(c->heads);
	free(c);
}

static uint32_t *head_of(const struct gt_nsys_calls *c, uint64_t process, int64_t correlation)
{
	return &c->heads[gt_mix64(gt_mix64(process) ^ (uint64_t)correlation) & c->mask];
}

static void link_call(struct gt_nsys_calls *c, size_t i)
{
	uint32_t *head = head_of(c, c->running[i].call.process, c->running[i].call.correlation);

	c->running[i].next = *head;
	*head = (uint32_t)i + 1;
}

/* Drops calls that have ended. Runs when their number has doubled, which is cheap on average. */
static void sweep(struct gt_nsys_calls *c, int64_t time)
{
	size_t running_count = 0, size;

	for (size_t i = 0; i < c->count; i++)
		if (c->running[i].call.end >= time)
			c->running[running_count++] = c->running[i];
	c->count = running_count;
	c->sweep_at = running_count * 2 > FIRST_SWEEP ? running_count * 2 : FIRST_SWEEP;
	for (size = FIRST_SWEEP * 2; size < c->sweep_at * 2;)
		size *= 2;
	free(c->heads);
	c->heads = gt_alloc(size * sizeof *c->heads);
	c->mask = size - 1;
	for (size_t i = 0; i < running_count; i++)
		link_call(c, i);
}

static void add_running(struct gt_nsys_calls *c, int64_t time)
{
	if (c->count == c->sweep_at)
		sweep(c, time);
	GT_GROW(c->running, c->count, c->room);
	c->running[c->count] = (struct running){ .call = c->ahead };
	link_call(c, c->count++);
}

static struct gt_nsys_call *failed_at(struct gt_nsys_calls *c, uint64_t number)
{
	return &c->failed[number % FAILED_WAITING];
}

static bool is_within(const struct gt_nsys_call *inner, const struct gt_nsys_call *outer)
{
	return inner->process == outer->process && inner->tid == outer->tid &&
	       inner->start >= outer->start && inner->end <= outer->end;
}

/* A failed call of the driver inside one of the runtime is the same failure. */
static bool is_known(struct gt_nsys_calls *c, const struct gt_nsys_call *call)
{
	for (uint64_t i = c->failed_next; i > c->failed_first; i--)
		if (is_within(call, failed_at(c, i - 1)))
			return true;
	return false;
}

/* True for a failure that says something about resources. */
static bool is_counted(struct gt_nsys_calls *c, const struct gt_nsys_call *call)
{
	enum gt_function_id row = gt_nsys_function(c->names, call->name);

	return row && (row != GT_FN_nsysCall || gt_result_is_out_of_memory(GT_CUDA, call->result));
}

/* A call with a stack may belong to one that failed. */
static void add_chain(struct gt_nsys_calls *c)
{
	for (uint64_t i = c->failed_next; i > c->failed_first; i--) {
		struct gt_nsys_call *failed = failed_at(c, i - 1);

		if (failed->correlation == c->ahead.correlation &&
		    failed->process == c->ahead.process && !failed->has_chain &&
		    failed->start <= c->ahead.end && failed->end >= c->ahead.start) {
			failed->chain = c->ahead.chain;
			failed->has_chain = true;
		}
	}
}

/* Notes the call that comes next if it failed, or knows the stack of one that did. */
static void look_at_failure(struct gt_nsys_calls *c)
{
	if (c->ahead.class == GT_NSYS_CALL_BACKTRACE) {
		if (c->failed_next > c->failed_first && c->ahead.has_chain)
			add_chain(c);
		return;
	}
	if (!c->ahead.result || is_known(c, &c->ahead) || !is_counted(c, &c->ahead))
		return;
	/* those that were returned make room; the caller takes all others first */
	if (c->failed_next - c->failed_first == FAILED_WAITING)
		c->failed_first++;
	*failed_at(c, c->failed_next++) = c->ahead;
}

static bool is_full(const struct gt_nsys_calls *c)
{
	return c->failed_next - c->given == FAILED_WAITING;
}

/* Reads the calls that have begun by `time`; stops early when failed ones have to be taken. */
static int advance(struct gt_nsys_calls *c, int64_t time, bool takes_failed, struct gt_error *error)
{
	while (c->has_ahead && c->ahead.start <= time && !(takes_failed && is_full(c))) {
		int e;

		look_at_failure(c);
		if (c->ahead.end >= time &&
		    (c->ahead.class != GT_NSYS_CALL_BACKTRACE || c->ahead.has_chain))
			add_running(c, time);
		e = read_ahead(c, error);
		if (e)
			return e;
	}
	return 0;
}

int gt_nsys_calls_failed(struct gt_nsys_calls *c, int64_t time, struct gt_nsys_call *call,
			 enum gt_function_id *row, struct gt_error *error)
{
	int e = advance(c, time, true, error);

	if (e)
		return e;
	if (c->given < c->failed_first)
		c->given = c->failed_first;
	if (c->given == c->failed_next)
		return 0;
	*call = *failed_at(c, c->given++);
	*row = gt_nsys_function(c->names, call->name);
	return 1;
}

static void add_origin(struct gt_nsys_origin *origin, const struct gt_nsys_call *call)
{
	if (call->class == GT_NSYS_CALL_BACKTRACE)
		origin->backtrace = call;
	else if (call->class == GT_NSYS_CALL_DRIVER)
		origin->driver = call;
	else
		origin->runtime = call;
}

static bool is_running(const struct gt_nsys_call *call, const struct gt_nsys_wanted *w)
{
	return call->process == w->process && call->start <= w->time && call->end >= w->time;
}

/* The thread of the only call that does what the event did; NULL: there is none, or several. */
static const struct gt_nsys_call *only_call(struct gt_nsys_calls *c, const struct gt_nsys_wanted *w)
{
	const struct gt_nsys_call *found = NULL;

	for (size_t i = 0; i < c->count; i++) {
		const struct gt_nsys_call *call = &c->running[i].call;
		enum gt_function_id row;

		if (!is_running(call, w) || call->class == GT_NSYS_CALL_BACKTRACE)
			continue;
		row = gt_nsys_function(c->names, call->name);
		if (!(w->allocates ? gt_nsys_allocates(row) : gt_nsys_frees(row)))
			continue;
		/* the runtime's function and the driver's within it are one call */
		if (found && found->tid != call->tid)
			return NULL;
		if (!found || is_within(found, call))
			found = call;
	}
	return found;
}

/* All calls of a thread that are parts of one. */
static void find_by_time(struct gt_nsys_calls *c, const struct gt_nsys_wanted *w,
			 struct gt_nsys_origin *origin)
{
	const struct gt_nsys_call *whole = only_call(c, w);

	for (size_t i = 0; whole && i < c->count; i++) {
		const struct gt_nsys_call *call = &c->running[i].call;

		if (call->tid == whole->tid && is_running(call, w) &&
		    (call == whole || call->correlation == whole->correlation))
			add_origin(origin, call);
	}
}

int gt_nsys_calls_find(struct gt_nsys_calls *c, const struct gt_nsys_wanted *w,
		       struct gt_nsys_origin *origin, struct gt_error *error)
{
	int e = advance(c, w->time, false, error);

	*origin = (struct gt_nsys_origin){ NULL, NULL, NULL };
	if (e)
		return e;
	if (!w->correlation) {
		find_by_time(c, w, origin);
		return 0;
	}
	for (uint32_t i = *head_of(c, w->process, w->correlation); i; i = c->running[i - 1].next) {
		const struct gt_nsys_call *call = &c->running[i - 1].call;

		if (call->correlation == w->correlation && is_running(call, w))
			add_origin(origin, call);
	}
	return 0;
}

int64_t gt_nsys_calls_end(const struct gt_nsys_calls *c)
{
	return c->end;
}

uint64_t gt_nsys_calls_count(const struct gt_nsys_calls *c)
{
	return c->read;
}
