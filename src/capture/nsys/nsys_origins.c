/* SPDX-License-Identifier: MIT */
/* nsys_origins.c - the CUDA call that an event on memory was made in, and its stack. */
#include "capture/nsys/nsys_origins.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/bytes.h"
#include "base/containers.h"
#include "base/mem.h"
#include "capture/nsys/nsys_kinds.h"
#include "trace/layout.h"

#define TABLE "CUPTI_ACTIVITY_KIND_RUNTIME"

enum { EVENT_CLASS_BACKTRACE = 67, FIRST_SWEEP = 256 };

struct running {
	struct gt_nsys_call call;
	uint32_t next; /* in its hash chain: index + 1 */
};

/* The hash table is its own because calls are dropped when they have ended. */
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

/* Only calls that say something: those with a chain, and those of the driver API. */
#define WANTED                                                                                     \
	"(eventClass = 1 OR (eventClass = 67 AND callchainId IS NOT NULL)) AND "                   \
	"globalTid IS NOT NULL AND correlationId IS NOT NULL"

int gt_nsys_calls_new(struct gt_nsys_calls **out, const struct gt_database *d,
		      struct gt_error *error)
{
	struct gt_nsys_calls *c = gt_alloc(sizeof *c);
	struct gt_time_order order = { 0 };
	int e = 0;

	c->database = d;
	c->end = INT64_MIN;
	c->sweep_at = FIRST_SWEEP;
	c->mask = FIRST_SWEEP * 2 - 1;
	c->heads = gt_alloc((c->mask + 1) * sizeof *c->heads);
	if (gt_database_has_table(d, TABLE)) {
		e = gt_database_time_order(
			&order, d, "SELECT start, \"end\" FROM " TABLE " WHERE " WANTED, error);
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

static int add_begun(struct gt_nsys_calls *c, int64_t time, struct gt_error *error)
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
	int e = add_begun(c, time, error);

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

enum { CACHED_CHAINS = 1 << 14 };

/* A chain that is in a trace; many exports have a chain for each call, some share them. */
struct cached_chain {
	int64_t chain;
	uint32_t trace, stack;
	bool is_valid;
};

/* A frame in the export's numbers. No padding, as its bytes are interned. */
struct frame_key {
	int64_t symbol, module, address;
	uint64_t trace;
};

struct gt_nsys_stacks {
	const struct gt_database *database;
	sqlite3_stmt *frames_of, *string_of; /* NULL: the export has none */
	struct gt_intern *frames;            /* frame_key -> number … */
	uint64_t *addresses;                 /* … -> the frame in its trace */
	size_t address_count, address_room;
	struct cached_chain *chains; /* by hash, one each: a cache of bounded size */
};

/* Rows are looked up by id: a table without an index gets an indexed copy, in a file. */
static int index_table(const struct gt_database *d, const char *table, const char *copy,
		       const char *columns, const char **name, struct gt_error *error)
{
	char sql[512];

	*name = table;
	if (gt_database_has_index(d, table, "id"))
		return 0;
	*name = copy;
	snprintf(sql, sizeof sql,
		 "CREATE TEMP TABLE %s AS SELECT %s FROM %s;CREATE INDEX temp.%s_by_id ON %s (id)",
		 copy, columns, table, copy, copy);
	return gt_database_run(d, sql, error);
}

static int prepare_chains(struct gt_nsys_stacks *s, struct gt_error *error)
{
	const char *name;
	int e;

	if (!gt_database_has_table(s->database, "CUDA_CALLCHAINS"))
		return 0;
	e = index_table(s->database, "CUDA_CALLCHAINS", "gt_chains",
			"id, symbol, module, originalIP, stackDepth", &name, error);
	if (e)
		return e;
	s->frames_of = gt_database_prepare(s->database,
					   "SELECT symbol, module, originalIP FROM %s "
					   "WHERE id = ? ORDER BY stackDepth",
					   name);
	return s->frames_of ? 0 : gt_database_failed(s->database, error);
}

static int prepare_strings(struct gt_nsys_stacks *s, struct gt_error *error)
{
	const char *name;
	int e;

	if (!gt_database_has_table(s->database, "StringIds"))
		return 0;
	e = index_table(s->database, "StringIds", "gt_strings", "id, value", &name, error);
	if (e)
		return e;
	s->string_of = gt_database_prepare(s->database, "SELECT value FROM %s WHERE id = ?", name);
	return s->string_of ? 0 : gt_database_failed(s->database, error);
}

int gt_nsys_stacks_new(struct gt_nsys_stacks **out, const struct gt_database *d,
		       struct gt_error *error)
{
	struct gt_nsys_stacks *s = gt_alloc(sizeof *s);
	int e;

	s->database = d;
	s->frames = gt_intern_new();
	s->chains = gt_alloc(CACHED_CHAINS * sizeof *s->chains);
	e = prepare_chains(s, error);
	if (!e)
		e = prepare_strings(s, error);
	if (e) {
		gt_nsys_stacks_free(s);
		return e;
	}
	*out = s;
	return 0;
}

void gt_nsys_stacks_free(struct gt_nsys_stacks *s)
{
	sqlite3_finalize(s->frames_of);
	sqlite3_finalize(s->string_of);
	gt_intern_free(s->frames);
	free(s->addresses);
	free(s->chains);
	free(s);
}

/* A string of the export; "" if missing. Valid until the next call. */
static const char *string_of(struct gt_nsys_stacks *s, int64_t id)
{
	const char *text = NULL;

	if (!s->string_of)
		return "";
	sqlite3_reset(s->string_of);
	sqlite3_bind_int64(s->string_of, 1, id);
	if (sqlite3_step(s->string_of) == SQLITE_ROW)
		text = (const char *)sqlite3_column_text(s->string_of, 0);
	return text ? text : "";
}

static uint64_t new_frame(struct gt_nsys_stacks *s, struct gt_writer *w,
			  const struct frame_key *key)
{
	char *function = gt_strdup(string_of(s, key->symbol)), address[32];
	const char *module = string_of(s, key->module);
	uint64_t frame;

	snprintf(address, sizeof address, "0x%" PRIx64, (uint64_t)key->address);
	/* a frame of a stack has a module: a name alone marks a call without a stack */
	frame = gt_writer_text_frame(
		w, &(struct gt_text_frame){ .function = *function ? function : address,
					    .module = *module ? module : "[unknown]" });
	free(function);
	return frame;
}

static uint64_t frame_of(struct gt_nsys_stacks *s, struct gt_writer *w, const struct frame_key *key)
{
	uint32_t number = gt_intern(s->frames, key, sizeof *key);

	if (number == s->address_count) {
		GT_GROW(s->addresses, s->address_count, s->address_room);
		s->addresses[s->address_count++] = new_frame(s, w, key);
	}
	return s->addresses[number];
}

/* The stack of a chain; 0 if it has no frames. */
static int read_chain(struct gt_nsys_stacks *s, struct gt_writer *w, uint32_t trace, int64_t chain,
		      uint32_t *stack, struct gt_error *error)
{
	uint64_t frames[GT_STACK_FRAMES_MAX];
	size_t count = 0;
	int step;

	sqlite3_reset(s->frames_of);
	sqlite3_bind_int64(s->frames_of, 1, chain);
	while ((step = sqlite3_step(s->frames_of)) == SQLITE_ROW && count < GT_STACK_FRAMES_MAX) {
		struct frame_key key = { .symbol = sqlite3_column_int64(s->frames_of, 0),
					 .module = sqlite3_column_int64(s->frames_of, 1),
					 .trace = trace };

		if (sqlite3_column_type(s->frames_of, 0) == SQLITE_NULL)
			key.address = sqlite3_column_int64(s->frames_of, 2);
		frames[count] = frame_of(s, w, &key);
		count += frames[count] != 0;
	}
	if (step != SQLITE_DONE && step != SQLITE_ROW)
		return gt_database_failed(s->database, error);
	*stack = gt_writer_stack(w, frames, count);
	return 0;
}

static int chain_stack(struct gt_nsys_stacks *s, struct gt_writer *w, uint32_t trace, int64_t chain,
		       uint32_t *stack, struct gt_error *error)
{
	struct cached_chain *cached =
		&s->chains[gt_mix64((uint64_t)chain ^ (uint64_t)trace << 48) % CACHED_CHAINS];
	int e;

	if (cached->is_valid && cached->chain == chain && cached->trace == trace) {
		*stack = cached->stack;
		return 0;
	}
	e = read_chain(s, w, trace, chain, stack, error);
	if (!e)
		*cached = (struct cached_chain){ chain, trace, *stack, true };
	return e;
}

int gt_nsys_stack(struct gt_nsys_stacks *s, struct gt_writer *w, uint32_t trace,
		  const struct gt_nsys_origin *origin, uint32_t *stack, enum gt_nsys_class *class,
		  struct gt_error *error)
{
	uint64_t frame;
	int e;

	*stack = 0;
	*class = GT_NSYS_VALID;
	if (origin->backtrace && s->frames_of) {
		e = chain_stack(s, w, trace, origin->backtrace->chain, stack, error);
		if (e || *stack)
			return e;
	}
	*class = GT_NSYS_INVALID;
	if (origin->driver) {
		const char *name = string_of(s, origin->driver->name);

		frame = gt_writer_text_frame(
			w, &(struct gt_text_frame){ .function = *name ? name : "(driver)" });
		*stack = frame ? gt_writer_stack(w, &frame, 1) : 0;
		*class = *stack ? GT_NSYS_DRIVER : GT_NSYS_INVALID;
	}
	return 0;
}
