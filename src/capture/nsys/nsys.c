/* SPDX-License-Identifier: MIT */
/* nsys.c - reads the SQLite export of an Nsight Systems profile into traces. */
#include "capture/nsys/nsys.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "capture/nsys/nsys_kinds.h"
#include "capture/nsys/nsys_origins.h"
#include "capture/nsys/nsys_traces.h"

#define MEMORY "CUDA_GPU_MEMORY_USAGE_EVENTS"
#define POOLS  "CUDA_GPU_MEMORY_POOL_EVENTS"
#define CALLS  "CUPTI_ACTIVITY_KIND_RUNTIME"
#define FLAGS  "--cuda-memory-usage=true --cudabacktrace=memory:0"

enum { TICK_ROWS = 1 << 14 };
/* SQLite's steps between two progress reports while it sorts. */
enum { PROGRESS_STEPS = 1 << 20 };
/* The time of the export's zero if the export does not say: not 0, which means "now". */
#define BASE_NS (1ull << 40)

/* A table of events, read in order of time. */
struct rows {
	sqlite3_stmt *statement; /* NULL: there is no such table */
	int64_t start;           /* of the current row */
	bool has_row, is_pool;
};

struct reading {
	struct gt_nsys_import *import;
	struct gt_database database;
	struct gt_nsys_enums enums;
	struct gt_nsys_calls *calls;
	struct gt_nsys_stacks *stacks;
	struct gt_nsys_traces *traces;
	uint64_t base_ns;
	int64_t last; /* the latest start */
	uint64_t row_count;
};

/* Columns of a query for events, in this order. */
enum { START, PROCESS, DEVICE, CONTEXT, ADDRESS, BYTES, KIND, OPERATION, NAME, CORRELATION };

/* A column, or SQL's NULL if the table does not have it. */
static const char *column(const struct reading *r, const char *table, const char *name)
{
	return gt_database_has_column(&r->database, table, name) ? name : "NULL";
}

static int open_rows(struct reading *r, struct rows *rows, const char *table, bool is_pool,
		     struct gt_error *error)
{
	const struct gt_database *d = &r->database;
	struct gt_time_order order;
	char sql[128];
	int e;

	*rows = (struct rows){ .is_pool = is_pool };
	if (!gt_database_has_table(d, table))
		return 0;
	snprintf(sql, sizeof sql, "SELECT start, NULL FROM %s", table);
	e = gt_database_time_order(&order, d, sql, error);
	if (e)
		return e;
	r->import->out_of_order += order.out_of_order;
	if (order.rows && order.last > r->last)
		r->last = order.last;
	/* within one moment by correlation id: calls are numbered in order */
	rows->statement = gt_database_prepare(
		d, "SELECT start, globalPid, %s, %s, address, %s, %s, %s, %s, %s FROM %s %s%s%s",
		column(r, table, "deviceId"), column(r, table, "contextId"),
		is_pool ? "NULL" : column(r, table, "bytes"),
		is_pool ? "NULL" : column(r, table, "memKind"),
		is_pool ? "operationType" : "memoryOperationType",
		is_pool ? "NULL" : column(r, table, "name"), column(r, table, "correlationId"),
		table, order.out_of_order ? "ORDER BY start, " : "",
		order.out_of_order ? column(r, table, "correlationId") : "",
		order.out_of_order ? ", rowid" : "");
	return rows->statement ? 0 : gt_database_failed(d, error);
}

static int next_row(const struct reading *r, struct rows *rows, struct gt_error *error)
{
	int step = rows->statement ? sqlite3_step(rows->statement) : SQLITE_DONE;

	rows->has_row = step == SQLITE_ROW;
	if (rows->has_row)
		rows->start = sqlite3_column_int64(rows->statement, START);
	return step == SQLITE_ROW || step == SQLITE_DONE ? 0 :
							   gt_database_failed(&r->database, error);
}

static void read_enum(struct reading *r, enum gt_nsys_enum which, const char *table)
{
	sqlite3_stmt *s = gt_database_prepare(&r->database, "SELECT id, name FROM %s", table);

	while (s && sqlite3_step(s) == SQLITE_ROW)
		gt_nsys_enums_set(&r->enums, which, sqlite3_column_int64(s, 0),
				  (const char *)sqlite3_column_text(s, 1));
	sqlite3_finalize(s);
}

/* One text of a query; "" if it fails because a table is missing. */
static void read_text(const struct reading *r, char *out, size_t size, const char *sql)
{
	sqlite3_stmt *s = gt_database_prepare(&r->database, "%s", sql);
	const unsigned char *text =
		s && sqlite3_step(s) == SQLITE_ROW ? sqlite3_column_text(s, 0) : NULL;

	if (text)
		snprintf(out, size, "%s", (const char *)text);
	sqlite3_finalize(s);
}

static int64_t read_number(const struct reading *r, const char *sql)
{
	sqlite3_stmt *s = gt_database_prepare(&r->database, "%s", sql);
	int64_t number = s && sqlite3_step(s) == SQLITE_ROW ? sqlite3_column_int64(s, 0) : 0;

	sqlite3_finalize(s);
	return number;
}

/* The table of versions was renamed; the oldest exports have none. */
static void read_metadata(struct reading *r)
{
	static const char *const tables[] = { "EXPORT_META_DATA", "META_DATA_EXPORT" };
	struct gt_nsys_import *import = r->import;
	int64_t utc = read_number(r, "SELECT utcEpochNs FROM TARGET_INFO_SESSION_START_TIME");
	char sql[128];

	for (size_t i = 0; i < 2; i++) {
		snprintf(sql, sizeof sql,
			 "SELECT value FROM %s WHERE name = 'EXPORT_PRODUCT_VERSION'", tables[i]);
		read_text(r, import->product, sizeof import->product, sql);
		snprintf(sql, sizeof sql,
			 "SELECT value FROM %s WHERE name = 'EXPORT_SCHEMA_VERSION'", tables[i]);
		read_text(r, import->schema, sizeof import->schema, sql);
	}
	import->start_real_ns = utc > 0 && utc < INT64_MAX / 2 ? (uint64_t)utc : 0;
	r->base_ns = import->start_real_ns ? import->start_real_ns : BASE_NS;
	read_enum(r, GT_NSYS_ENUM_KIND, "ENUM_CUDA_MEM_KIND");
	read_enum(r, GT_NSYS_ENUM_OPERATION, "ENUM_CUDA_DEV_MEM_EVENT_OPER");
	read_enum(r, GT_NSYS_ENUM_POOL, "ENUM_CUDA_MEMPOOL_OPER");
}

/* Functions that allocate, by the start of their names. */
#define ALLOCATES                                                                                  \
	"(value LIKE 'cudaMalloc%' OR value LIKE 'cudaHostAlloc%' OR "                             \
	"value LIKE 'cuMemAlloc%' OR value LIKE 'cuMemHostAlloc%' OR "                             \
	"value LIKE 'cuMemCreate%' OR value LIKE 'cuArray%Create%')"

/* Why an export has no rows about memory, and what to do. */
static int explain_empty(const struct reading *r, struct gt_error *error)
{
	const struct gt_database *d = &r->database;
	int64_t calls;

	if (!gt_database_has_table(d, "StringIds") && !gt_database_has_table(d, CALLS) &&
	    !gt_database_has_table(d, MEMORY))
		return gt_error_set(error, -EINVAL,
				    "%s is no export of Nsight Systems: it has no table StringIds; "
				    "import takes what `nsys export --type sqlite` makes",
				    d->path);
	calls = read_number(r, "SELECT count(*) FROM " CALLS " WHERE eventClass <> 67 AND nameId "
			       "IN (SELECT id FROM StringIds WHERE " ALLOCATES ")");
	if (calls)
		return gt_error_set(error, -ENODATA,
				    "%s was made without memory tracking (%lld allocating calls, "
				    "no memory events): profile again with nsys profile " FLAGS,
				    d->path, (long long)calls);
	return gt_error_set(error, -ENODATA,
			    "%s: no device allocation recorded; if the program "
			    "does allocate, profile again with nsys profile " FLAGS,
			    d->path);
}

static void name_process(struct reading *r, struct gt_nsys_trace *trace, int64_t global)
{
	char sql[128], name[sizeof r->import->command] = "";

	snprintf(sql, sizeof sql, "SELECT name FROM PROCESSES WHERE globalPid = %lld",
		 (long long)global);
	read_text(r, name, sizeof name, sql);
	gt_writer_info(trace->writer, "program", name, strlen(name));
	gt_writer_info(trace->writer, "command", name, strlen(name));
	if (!*r->import->command)
		strcpy(r->import->command, name);
}

/* Converts a time to the traces' clock; a time long before the export's zero is garbage. */
static uint64_t time_of(const struct reading *r, int64_t time)
{
	return time < 0 && (uint64_t) - (time + 1) >= r->base_ns ? 0 : r->base_ns + (uint64_t)time;
}

static void count_event(struct gt_nsys_import *import, const struct gt_event *e, bool is_pool,
			enum gt_nsys_class class)
{
	if (is_pool) {
		import->pools++;
		return;
	}
	if (gt_functions[e->function].effect == GT_CREATE)
		import->allocations++;
	else
		import->frees++;
	*(class == GT_NSYS_VALID  ? &import->valid :
	  class == GT_NSYS_DRIVER ? &import->driver :
				    &import->invalid) += 1;
}

/* Reads a row as an event without its stack; false when the row is invalid. */
static bool read_event(const struct reading *r, const struct rows *rows, struct gt_event *e)
{
	sqlite3_stmt *s = rows->statement;
	int64_t bytes = sqlite3_column_int64(s, BYTES);
	int64_t operation = sqlite3_column_int64(s, OPERATION);

	*e = (struct gt_event){
		.time_ns = time_of(r, rows->start),
		.handle = (uint64_t)sqlite3_column_int64(s, ADDRESS),
		.size = (uint64_t)bytes,
		.function =
			(uint16_t)(rows->is_pool ? gt_nsys_pool_row(&r->enums, operation) :
						   gt_nsys_memory_row(&r->enums,
								      sqlite3_column_int64(s, KIND),
								      operation)),
	};
	/* no process has pid 0, which in a trace means the whole system */
	return e->function && bytes >= 0 && e->handle &&
	       gt_nsys_pid(sqlite3_column_int64(s, PROCESS)) &&
	       sqlite3_column_type(s, START) == SQLITE_INTEGER &&
	       sqlite3_column_type(s, PROCESS) == SQLITE_INTEGER;
}

/* Trimming a pool creates and destroys nothing. */
static bool is_trim(const struct reading *r, const struct rows *rows)
{
	return rows->is_pool &&
	       !gt_nsys_pool_row(&r->enums, sqlite3_column_int64(rows->statement, OPERATION));
}

static int import_row(struct reading *r, const struct rows *rows, struct gt_error *error)
{
	sqlite3_stmt *s = rows->statement;
	int64_t global = sqlite3_column_int64(s, PROCESS);
	const char *name = (const char *)sqlite3_column_text(s, NAME);
	struct gt_nsys_origin origin = { NULL, NULL };
	struct gt_nsys_trace *trace;
	enum gt_nsys_class class;
	struct gt_event event;
	bool is_new;
	int e;

	if (!read_event(r, rows, &event)) {
		r->import->skipped += !is_trim(r, rows);
		return 0;
	}
	e = gt_nsys_traces_get(r->traces, gt_nsys_process(global), gt_nsys_pid(global), &trace,
			       &is_new, error);
	if (e)
		return e;
	if (is_new)
		name_process(r, trace, global);
	if (sqlite3_column_type(s, CORRELATION) != SQLITE_NULL)
		e = gt_nsys_calls_find(r->calls, trace->process,
				       sqlite3_column_int64(s, CORRELATION), rows->start, &origin,
				       error);
	if (!e)
		e = gt_nsys_stack(r->stacks, trace->writer, trace->number, &origin, &event.stack,
				  &class, error);
	if (e)
		return e;
	if (sqlite3_column_type(s, DEVICE) != SQLITE_NULL)
		event.place = gt_nsys_trace_place(trace, sqlite3_column_int64(s, DEVICE));
	if (gt_functions[event.function].effect == GT_CREATE) {
		event.owner = (uint64_t)sqlite3_column_int64(s, CONTEXT);
		if (name && *name)
			gt_writer_name(trace->writer, event.time_ns, event.handle, name);
	}
	gt_nsys_trace_event(trace,
			    origin.backtrace ? origin.backtrace->tid :
			    origin.driver    ? origin.driver->tid :
					       0,
			    &event);
	count_event(r->import, &event, rows->is_pool, class);
	return 0;
}

static int import_rows(struct reading *r, struct rows *memory, struct rows *pools,
		       struct gt_error *error)
{
	int e = next_row(r, memory, error);

	if (!e)
		e = next_row(r, pools, error);
	while (!e && (memory->has_row || pools->has_row)) {
		struct rows *first =
			!memory->has_row || (pools->has_row && pools->start < memory->start) ?
				pools :
				memory;

		e = import_row(r, first, error);
		if (!e)
			e = next_row(r, first, error);
		if (++r->row_count % TICK_ROWS == 0 && r->import->tick)
			r->import->tick(r->row_count);
	}
	return e;
}

static int read_all(struct reading *r, struct gt_error *error)
{
	struct gt_nsys_import *import = r->import;
	struct rows memory = { 0 }, pools = { 0 };
	int64_t end;
	int e = open_rows(r, &memory, MEMORY, false, error);

	if (!e)
		e = open_rows(r, &pools, POOLS, true, error);
	if (!e && r->last == INT64_MIN)
		e = explain_empty(r, error);
	if (!e)
		e = gt_nsys_calls_new(&r->calls, &r->database, error);
	if (!e)
		e = gt_nsys_stacks_new(&r->stacks, &r->database, error);
	if (!e)
		e = import_rows(r, &memory, &pools, error);
	if (!e) {
		/* the export has no process ends: all processes last as long as the profile */
		end = gt_nsys_calls_end(r->calls) > r->last ? gt_nsys_calls_end(r->calls) : r->last;
		import->processes = gt_nsys_traces_count(r->traces);
		import->duration_ns = end > 0 ? (uint64_t)end : 0;
		e = gt_nsys_traces_end(r->traces, time_of(r, end), error);
	}
	if (!e && !import->allocations && !import->frees && !import->pools)
		e = explain_empty(r, error);
	sqlite3_finalize(memory.statement);
	sqlite3_finalize(pools.statement);
	return e;
}

static int show_progress(void *context)
{
	const struct reading *r = context;

	r->import->tick(r->row_count);
	return 0;
}

int gt_nsys_run(struct gt_nsys_import *import, struct gt_error *error)
{
	struct reading r = { .import = import, .last = INT64_MIN };
	int e = gt_database_open(&r.database, import->file, error);

	if (e)
		return e;
	if (import->tick)
		sqlite3_progress_handler(r.database.db, PROGRESS_STEPS, show_progress, &r);
	gt_nsys_enums_init(&r.enums);
	/* reports a damaged schema now, rather than later as missing tables */
	e = gt_database_run(&r.database, "SELECT count(*) FROM sqlite_master", error);
	if (!e) {
		read_metadata(&r);
		r.traces = gt_nsys_traces_new(import->folder, r.base_ns, import->start_real_ns);
		e = read_all(&r, error);
		gt_nsys_traces_free(r.traces);
	}
	if (r.calls)
		gt_nsys_calls_free(r.calls);
	if (r.stacks)
		gt_nsys_stacks_free(r.stacks);
	gt_database_close(&r.database);
	return e;
}
