/* SPDX-License-Identifier: MIT */
/* nsys_stacks.c - the stack of an event, or at least the function that was called. */
#include "capture/nsys/nsys_stacks.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/bytes.h"
#include "base/containers.h"
#include "base/mem.h"
#include "trace/layout.h"

enum { CACHED_CHAINS = 1 << 14, WAYS = 4 };

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
	struct gt_nsys_names *names;
	sqlite3_stmt *frames_of;  /* NULL: the export has none */
	struct gt_intern *frames; /* frame_key -> number … */
	uint64_t *addresses;      /* … -> the frame in its trace */
	size_t address_count, address_room;
	struct cached_chain *chains; /* by hash, WAYS each: a cache of bounded size */
};

static int prepare_chains(struct gt_nsys_stacks *s, struct gt_error *error)
{
	static const char *const needed[] = { "id", "symbol", "stackDepth", NULL };
	const struct gt_database *d = s->database;
	const char *table = "CUDA_CALLCHAINS", *module, *address;
	char columns[128];
	int e;

	if (!gt_database_has_table(d, table))
		return 0;
	module = gt_database_column(d, table, "module");
	address = gt_database_column(d, table, "originalIP");
	snprintf(columns, sizeof columns, "id, symbol, %s AS module, %s AS originalIP, stackDepth",
		 module, address);
	e = gt_database_needs(d, table, needed, error);
	if (!e)
		e = gt_database_index(d, table, "gt_chains", columns, &table, error);
	if (!e)
		e = gt_database_query(&s->frames_of, d, error,
				      "SELECT symbol, %s, %s FROM %s WHERE id = ? "
				      "ORDER BY stackDepth",
				      module, address, table);
	return e;
}

int gt_nsys_stacks_new(struct gt_nsys_stacks **out, const struct gt_database *d,
		       struct gt_nsys_names *names, struct gt_error *error)
{
	struct gt_nsys_stacks *s = gt_alloc(sizeof *s);
	int e;

	s->database = d;
	s->names = names;
	s->frames = gt_intern_new();
	s->chains = gt_alloc(CACHED_CHAINS * sizeof *s->chains);
	e = prepare_chains(s, error);
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
	gt_intern_free(s->frames);
	free(s->addresses);
	free(s->chains);
	free(s);
}

static uint64_t new_frame(struct gt_nsys_stacks *s, struct gt_writer *w,
			  const struct frame_key *key)
{
	char *function = gt_strdup(gt_nsys_string(s->names, key->symbol)), address[32];
	const char *module = gt_nsys_string(s->names, key->module);
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

/* The place of a chain in the cache: its own, or the one that it takes from another. */
static struct cached_chain *cached_at(struct gt_nsys_stacks *s, int64_t chain, uint32_t trace)
{
	uint64_t hash = gt_mix64((uint64_t)chain ^ (uint64_t)trace << 48);
	struct cached_chain *set = &s->chains[hash % (CACHED_CHAINS / WAYS) * WAYS];

	for (size_t i = 0; i < WAYS; i++)
		if (!set[i].is_valid || (set[i].chain == chain && set[i].trace == trace))
			return &set[i];
	return &set[(hash >> 40) % WAYS];
}

static int chain_stack(struct gt_nsys_stacks *s, struct gt_writer *w, uint32_t trace, int64_t chain,
		       uint32_t *stack, struct gt_error *error)
{
	struct cached_chain *cached = cached_at(s, chain, trace);
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

/* A stack of one frame, the function that was called; 0 if it has no name. */
static uint32_t name_stack(struct gt_nsys_stacks *s, struct gt_writer *w,
			   const struct gt_nsys_call *call)
{
	const char *name = gt_nsys_string(s->names, call->name);
	struct gt_text_frame frame = { .function = *name ? name : "(driver)" };
	char *base = NULL;
	uint64_t number;

	if (call->class != GT_NSYS_CALL_DRIVER) {
		frame.function = base = gt_strndup(name, gt_nsys_base_length(name));
		frame.module = GT_CALL_ONLY;
	}
	number = *frame.function ? gt_writer_text_frame(w, &frame) : 0;
	free(base);
	return number ? gt_writer_stack(w, &number, 1) : 0;
}

int gt_nsys_stack(struct gt_nsys_stacks *s, struct gt_writer *w, uint32_t trace,
		  const struct gt_nsys_origin *origin, uint32_t *stack, enum gt_nsys_class *class,
		  struct gt_error *error)
{
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
		*stack = name_stack(s, w, origin->driver);
		*class = *stack ? GT_NSYS_DRIVER : GT_NSYS_INVALID;
	} else if (origin->runtime) {
		*stack = name_stack(s, w, origin->runtime);
	}
	return 0;
}
