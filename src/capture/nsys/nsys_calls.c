/* SPDX-License-Identifier: MIT */
/* nsys_calls.c - the call of the CUDA API that an event on memory was made in. */
#include "capture/nsys/nsys_calls.h"

#include <stdlib.h>

#include "base/bytes.h"
#include "base/mem.h"
#include "capture/nsys/nsys_kinds.h"
#include "capture/nsys/order.h"

#define TABLE "CUPTI_ACTIVITY_KIND_RUNTIME"

enum { EVENT_CLASS_BACKTRACE = 67, FIRST_SWEEP = 256 };

struct running {
	struct gt_nsys_call call;
	uint32_t next; /* in its hash chain: index + 1 */
};

struct gt_nsys_calls {
	const struct gt_database *database;
	sqlite3_stmt *rows;        /* NULL: none, or no more */
	struct gt_nsys_call ahead; /* read, but not begun yet */
	bool has_ahead;
	struct running *running;
	size_t count, room, sweep_at;
	uint32_t *heads; /* by hash: index + 1 */
	size_t mask;
	int64_t end;
};

static int read_ahead(struct gt_nsys_calls *c, struct gt_error *error)
{
	sqlite3_stmt *s = c->rows;
	int step = s ? sqlite3_step(s) : SQLITE_DONE;

	c->has_ahead = step == SQLITE_ROW;
	if (step == SQLITE_DONE)
		return 0;
	if (step != SQLITE_ROW)
		return gt_database_failed(c->database, error);
	c->ahead = (struct gt_nsys_call){
		.start = sqlite3_column_int64(s, 0),
		.end = sqlite3_column_int64(s, 1),
		.process = gt_nsys_process(sqlite3_column_int64(s, 3)),
		.tid = gt_nsys_tid(sqlite3_column_int64(s, 3)),
		.correlation = sqlite3_column_int64(s, 4),
		.name = sqlite3_column_int64(s, 5),
		.chain = sqlite3_column_int64(s, 6),
		.is_backtrace = sqlite3_column_int64(s, 2) == EVENT_CLASS_BACKTRACE,
	};
	return 0;
}

/* Only calls that can tell something: those with a chain, and those of the driver API. */
#define WANTED                                                                                     \
	"(eventClass = 1 OR (eventClass = 67 AND callchainId IS NOT NULL)) AND "                   \
	"globalTid IS NOT NULL AND correlationId IS NOT NULL"

int gt_nsys_calls_new(struct gt_nsys_calls **out, const struct gt_database *d,
		      struct gt_error *error)
{
	struct gt_nsys_calls *c = gt_alloc(sizeof *c);
	struct gt_nsys_order order = { 0 };
	int e = 0;

	c->database = d;
	c->end = INT64_MIN;
	c->sweep_at = FIRST_SWEEP;
	c->mask = FIRST_SWEEP * 2 - 1;
	c->heads = gt_alloc((c->mask + 1) * sizeof *c->heads);
	if (gt_database_has_table(d, TABLE)) {
		e = gt_nsys_order_of(&order, d,
				     "SELECT start, \"end\" FROM " TABLE " WHERE " WANTED, error);
		if (!e) {
			c->end = order.last_end;
			c->rows = gt_database_prepare(
				d,
				"SELECT start, \"end\", eventClass, globalTid, correlationId, "
				"nameId, callchainId FROM " TABLE " WHERE " WANTED " %s",
				order.out_of_order ? "ORDER BY start" : "");
			e = c->rows ? read_ahead(c, error) : gt_database_failed(d, error);
		}
	}
	if (e) {
		gt_nsys_calls_free(c);
		return e;
	}
	*out = c;
	return 0;
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

/* Lets go of calls that have ended. As many as have come since are looked at: cheap on average. */
static void sweep(struct gt_nsys_calls *c, int64_t time)
{
	size_t kept = 0, size;

	for (size_t i = 0; i < c->count; i++)
		if (c->running[i].call.end >= time)
			c->running[kept++] = c->running[i];
	c->count = kept;
	c->sweep_at = kept * 2 > FIRST_SWEEP ? kept * 2 : FIRST_SWEEP;
	for (size = FIRST_SWEEP * 2; size < c->sweep_at * 2;)
		size *= 2;
	free(c->heads);
	c->heads = gt_alloc(size * sizeof *c->heads);
	c->mask = size - 1;
	for (size_t i = 0; i < kept; i++)
		link_call(c, i);
}

static int take_begun(struct gt_nsys_calls *c, int64_t time, struct gt_error *error)
{
	while (c->has_ahead && c->ahead.start <= time) {
		int e;

		if (c->ahead.end >= time) {
			if (c->count == c->sweep_at)
				sweep(c, time);
			GT_GROW(c->running, c->count, c->room);
			c->running[c->count].call = c->ahead;
			link_call(c, c->count++);
		}
		e = read_ahead(c, error);
		if (e)
			return e;
	}
	return 0;
}

int gt_nsys_calls_find(struct gt_nsys_calls *c, uint64_t process, int64_t correlation, int64_t time,
		       struct gt_nsys_origin *origin, struct gt_error *error)
{
	int e = take_begun(c, time, error);

	*origin = (struct gt_nsys_origin){ NULL, NULL };
	if (e)
		return e;
	for (uint32_t i = *head_of(c, process, correlation); i; i = c->running[i - 1].next) {
		const struct gt_nsys_call *call = &c->running[i - 1].call;

		if (call->process != process || call->correlation != correlation ||
		    call->end < time)
			continue;
		if (call->is_backtrace)
			origin->backtrace = call;
		else
			origin->driver = call;
	}
	return 0;
}

int64_t gt_nsys_calls_end(const struct gt_nsys_calls *c)
{
	return c->end;
}
