/* SPDX-License-Identifier: MIT */
/* nsys_counts.c - an export without memory events: how often each function was called. */
#include "capture/nsys/nsys_counts.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/containers.h"
#include "base/mem.h"
#include "capture/nsys/nsys_kinds.h"
#include "capture/nsys/nsys_ranges.h"

#define CALLS "CUPTI_ACTIVITY_KIND_RUNTIME"

enum { PHASES_MOST = 1000 }; /* with their functions: `info` is no place for more */

/* The runtime loads the program's own code, and keeps the primary context, by itself. */
static bool is_told_by_calls(enum gt_function_id row)
{
	return row && row != GT_FN_nsysCall && gt_functions[row].effect != GT_APPEND &&
	       gt_functions[row].kind != GT_LIBRARY && gt_functions[row].kind != GT_PRIMARY_CONTEXT;
}

static void put_count(FILE *out, enum gt_function_id row, const char *name, uint64_t calls,
		      uint64_t failed)
{
	/* cudaFree frees managed memory, too */
	int kind = gt_functions[row].kind == GT_SHARED_MEMORY ? GT_DEVICE_MEMORY :
								gt_functions[row].kind;

	fprintf(out, "%.*s|%s|%s|%" PRIu64 "|%" PRIu64 ";", (int)gt_nsys_base_length(name), name,
		gt_functions[row].effect == GT_CREATE ? "create" : "release", gt_kinds[kind].name,
		calls, failed);
}

/* Gives what was written, or NULL if that is nothing. */
static char *finish(FILE *out, char **text)
{
	gt_memstream_close(out);
	if (!**text) {
		free(*text);
		*text = NULL;
	}
	return *text;
}

static int count_all(const struct gt_database *d, struct gt_nsys_names *names, char **calls,
		     struct gt_error *error)
{
	const char *result = gt_database_column(d, CALLS, "returnValue");
	sqlite3_stmt *s;
	size_t size;
	FILE *out;
	int e = gt_database_query(
		&s, d, error,
		"SELECT nameId, count(*), total(%s IS NOT NULL AND %s <> 0) FROM " CALLS
		" WHERE %s IS NOT 67 GROUP BY nameId ORDER BY count(*) DESC",
		result, result, gt_database_column(d, CALLS, "eventClass"));

	if (e)
		return e;
	out = gt_memstream(calls, &size);
	while (sqlite3_step(s) == SQLITE_ROW) {
		int64_t id = sqlite3_column_int64(s, 0);
		enum gt_function_id row = gt_nsys_function(names, id);

		if (is_told_by_calls(row))
			put_count(out, row, gt_nsys_string(names, id),
				  (uint64_t)sqlite3_column_int64(s, 1),
				  (uint64_t)sqlite3_column_int64(s, 2));
	}
	sqlite3_finalize(s);
	finish(out, calls);
	return 0;
}

/* What is counted: the function of a name, called in a phase. No padding, as it is interned. */
struct counted_key {
	int64_t name;
	uint64_t phase;
};

struct counted {
	uint64_t calls, failed;
};

struct tally {
	struct gt_intern *phases; /* texts */
	struct gt_intern *keys;   /* struct counted_key -> index in `list` */
	struct counted *list;
	size_t count, room;
};

static void add_call(struct tally *t, const char *phase, int64_t name, bool failed)
{
	struct counted_key key = { .name = name };
	uint32_t number;

	key.phase = gt_intern(t->phases, phase, strlen(phase) + 1);
	if (gt_intern_count(t->keys) >= PHASES_MOST &&
	    gt_intern_find(t->keys, &key, sizeof key) == GT_NOT_INTERNED)
		return;
	number = gt_intern(t->keys, &key, sizeof key);
	if (number == t->count) {
		GT_GROW(t->list, t->count, t->room);
		t->list[t->count++] = (struct counted){ 0 };
	}
	t->list[number].calls++;
	t->list[number].failed += failed;
}

/* The phase as a field: signs that separate fields give way. */
static void put_phase(FILE *out, const char *phase)
{
	for (; *phase; phase++)
		putc((unsigned char)*phase < ' ' || *phase == ';' ? ',' :
		     *phase == '|'                                ? '/' :
								    *phase,
		     out);
}

static void put_tally(FILE *out, const struct tally *t, struct gt_nsys_names *names)
{
	size_t size;

	for (size_t i = 0; i < t->count; i++) {
		const struct counted_key *key = gt_intern_get(t->keys, (uint32_t)i, &size);
		const char *phase = gt_intern_get(t->phases, (uint32_t)key->phase, &size);

		put_phase(out, *phase ? phase : "(no phase)");
		putc('|', out);
		put_count(out, gt_nsys_function(names, key->name), gt_nsys_string(names, key->name),
			  t->list[i].calls, t->list[i].failed);
	}
}

static int count_rows(const struct gt_database *d, struct gt_nsys_names *names,
		      struct gt_nsys_ranges *ranges, struct tally *t, struct gt_error *error)
{
	sqlite3_stmt *s;
	int e = gt_database_query(&s, d, error,
				  "SELECT nameId, start, globalTid, %s FROM " CALLS
				  " WHERE %s IS NOT 67 ORDER BY CAST(start AS INTEGER)",
				  gt_database_column(d, CALLS, "returnValue"),
				  gt_database_column(d, CALLS, "eventClass"));

	while (!e && sqlite3_step(s) == SQLITE_ROW) {
		int64_t id = sqlite3_column_int64(s, 0), global = sqlite3_column_int64(s, 2);
		const struct gt_nsys_moment moment = { .process = gt_nsys_process(global),
						       .tid = gt_nsys_tid(global),
						       .time = sqlite3_column_int64(s, 1) };
		const char *phase;

		if (!is_told_by_calls(gt_nsys_function(names, id)))
			continue;
		e = gt_nsys_ranges_text(ranges, &moment, &phase, error);
		if (!e)
			add_call(t, phase, id, sqlite3_column_int64(s, 3));
	}
	sqlite3_finalize(s);
	return e;
}

static int count_by_phase(const struct gt_database *d, struct gt_nsys_names *names, char **by_phase,
			  struct gt_error *error)
{
	struct tally t = { .phases = gt_intern_new(), .keys = gt_intern_new() };
	struct gt_nsys_ranges *ranges;
	size_t size;
	FILE *out;
	int e = gt_nsys_ranges_new(&ranges, d, names, true, error);

	if (!e) {
		e = count_rows(d, names, ranges, &t, error);
		if (!e && gt_nsys_ranges_count(ranges)) {
			out = gt_memstream(by_phase, &size);
			put_tally(out, &t, names);
			finish(out, by_phase);
		}
		gt_nsys_ranges_free(ranges);
	}
	gt_intern_free(t.phases);
	gt_intern_free(t.keys);
	free(t.list);
	return e;
}

int gt_nsys_count_calls(const struct gt_database *d, struct gt_nsys_names *names, char **calls,
			char **by_phase, struct gt_error *error)
{
	int e;

	if (!gt_database_has_column(d, CALLS, "nameId"))
		return 0;
	e = count_all(d, names, calls, error);
	if (!e && *calls && gt_database_has_table(d, "NVTX_EVENTS"))
		e = count_by_phase(d, names, by_phase, error);
	return e;
}
