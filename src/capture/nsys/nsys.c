/* SPDX-License-Identifier: MIT */
/* nsys.c - reads the SQLite export of an Nsight Systems profile into traces. */
#include "capture/nsys/nsys.h"

#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "capture/nsys/nsys_counts.h"
#include "capture/nsys/nsys_kinds.h"
#include "capture/nsys/nsys_paging.h"
#include "capture/nsys/nsys_ranges.h"
#include "capture/nsys/nsys_stacks.h"
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
	struct gt_nsys_names *names;
	struct gt_nsys_calls *calls;
	struct gt_nsys_stacks *stacks;
	struct gt_nsys_ranges *ranges;
	struct gt_nsys_traces *traces;
	uint64_t base_ns;
	bool sorted;  /* SQLite sorts the rows */
	int64_t last; /* the latest start */
	uint64_t row_count;
};

/* Columns of a query for events, in this order. */
enum { START, PROCESS, DEVICE, CONTEXT, ADDRESS, BYTES, KIND, OPERATION, NAME, CORRELATION };

static int open_rows(struct reading *r, struct rows *rows, const char *table, bool is_pool,
		     struct gt_error *error)
{
	const struct gt_database *d = &r->database;
	const char *operation = is_pool ? "operationType" : "memoryOperationType";
	const char *const needed[] = { "start", "globalPid", "address", operation, NULL };
	struct gt_time_order order;
	char sql[128];
	int e;

	*rows = (struct rows){ .is_pool = is_pool, .start = INT64_MIN };
	if (!gt_database_has_table(d, table))
		return 0;
	e = gt_database_needs(d, table, needed, error);
	if (e)
		return e;
	if (r->sorted) {
		snprintf(sql, sizeof sql, "SELECT start, NULL FROM %s", table);
		e = gt_database_time_order(&order, d, sql, error);
		if (e)
			return e;
		r->import->out_of_order += order.out_of_order;
	}
	/* within one moment by correlation id: calls are numbered in order */
	return gt_database_query(
		&rows->statement, d, error,
		"SELECT start, globalPid, %s, %s, address, %s, %s, %s, %s, %s FROM %s %s%s%s",
		gt_database_column(d, table, "deviceId"), gt_database_column(d, table, "contextId"),
		is_pool ? "NULL" : gt_database_column(d, table, "bytes"),
		is_pool ? "NULL" : gt_database_column(d, table, "memKind"), operation,
		is_pool ? "NULL" : gt_database_column(d, table, "name"),
		gt_database_column(d, table, "correlationId"), table,
		r->sorted ? "ORDER BY CAST(start AS INTEGER), " : "",
		r->sorted ? gt_database_column(d, table, "correlationId") : "",
		r->sorted && gt_database_has_rowid(d, table) ? ", rowid" : "");
}

static int next_row(struct reading *r, struct rows *rows, struct gt_error *error)
{
	int step = rows->statement ? sqlite3_step(rows->statement) : SQLITE_DONE;
	int64_t last = rows->start;

	rows->has_row = step == SQLITE_ROW;
	if (!rows->has_row)
		return step == SQLITE_DONE ? 0 : gt_database_failed(&r->database, error);
	rows->start = sqlite3_column_int64(rows->statement, START);
	r->last = rows->start > r->last ? rows->start : r->last;
	return rows->start < last && !r->sorted ? -EAGAIN : 0;
}

static void read_enum(struct reading *r, enum gt_nsys_enum which, const char *table)
{
	sqlite3_stmt *s = gt_database_prepare(&r->database, "SELECT id, name FROM %s", table);

	while (s && sqlite3_step(s) == SQLITE_ROW)
		gt_nsys_enums_set(&r->enums, which, sqlite3_column_int64(s, 0),
				  (const char *)sqlite3_column_text(s, 1));
	sqlite3_finalize(s);
}

static void read_enums(struct reading *r)
{
	gt_nsys_enums_init(&r->enums);
	read_enum(r, GT_NSYS_ENUM_KIND, "ENUM_CUDA_MEM_KIND");
	read_enum(r, GT_NSYS_ENUM_OPERATION, "ENUM_CUDA_DEV_MEM_EVENT_OPER");
	read_enum(r, GT_NSYS_ENUM_POOL, "ENUM_CUDA_MEMPOOL_OPER");
}

/* Why an export has nothing to import, and what to do. */
static int explain_empty(const struct reading *r, struct gt_error *error)
{
	const struct gt_database *d = &r->database;

	if (!gt_database_has_table(d, "StringIds") && !gt_database_has_table(d, CALLS) &&
	    !gt_database_has_table(d, MEMORY))
		return gt_error_set(error, -EINVAL,
				    "%s is no export of Nsight Systems: it has no table StringIds; "
				    "import takes what `nsys export --type sqlite` makes",
				    d->path);
	if (r->import->skipped)
		return gt_error_set(
			error, -EINVAL,
			"%s cannot be imported: none of the %llu rows of its table " MEMORY
			" is valid; export the profile again with `nsys export "
			"--type sqlite`",
			d->path, (unsigned long long)r->import->skipped);
	if (r->import->profile.tracking == GT_NSYS_TRACKING_ON)
		return gt_error_set(
			error, -ENODATA,
			"%s: no device allocation recorded: memory tracking was on, and "
			"the program allocated nothing",
			d->path);
	return gt_error_set(error, -ENODATA,
			    "%s: no device allocation recorded%s; if the program "
			    "does allocate, profile again with nsys profile " FLAGS,
			    d->path,
			    r->import->profile.tracking == GT_NSYS_TRACKING_OFF ?
				    ", memory tracking was off" :
				    "");
}

static void name_process(struct reading *r, struct gt_nsys_trace *trace, int64_t global)
{
	char sql[128], name[512] = "";

	snprintf(sql, sizeof sql, "SELECT name FROM PROCESSES WHERE globalPid = %lld",
		 (long long)global);
	gt_nsys_read_text(&r->database, name, sizeof name, sql);
	gt_writer_info(trace->writer, "program", name, strlen(name));
	gt_writer_info(trace->writer, "command", name, strlen(name));
}

static int trace_of(struct reading *r, int64_t global, struct gt_nsys_trace **trace,
		    struct gt_error *error)
{
	bool is_new;
	int e = gt_nsys_traces_get(r->traces, gt_nsys_process(global), gt_nsys_pid(global), trace,
				   &is_new, error);

	if (!e && is_new)
		name_process(r, *trace, global);
	return e;
}

/* Converts a time to the traces' clock; a time long before the export's zero is garbage. */
static uint64_t time_of(const struct reading *r, int64_t time)
{
	return time < 0 && (uint64_t) - (time + 1) >= r->base_ns ? 0 : r->base_ns + (uint64_t)time;
}

/* The place of a device of the process; 0 for none. */
static uint16_t place_of(const struct reading *r, struct gt_nsys_trace *trace, int64_t device)
{
	const struct gt_nsys_gpu *gpu =
		gt_nsys_trace_has_place(trace, device) ?
			NULL :
			gt_nsys_profile_gpu(&r->import->profile, &r->database, trace->pid, device);

	return gt_nsys_trace_place(trace, device, gpu ? gpu->name : "");
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
	import->named += class == GT_NSYS_INVALID && e->stack;
}

/* True for a number that a column of type REAL holds without loss. */
static bool is_whole(double number)
{
	return fabs(number) <= 0x1p53 && number == (double)(int64_t)number;
}

/* A number of a row; false if it is other text or, unless it is optional, missing. */
static bool read_any(sqlite3_stmt *s, int column, bool is_optional, int64_t *number)
{
	int type = sqlite3_column_type(s, column);
	const char *text;
	char *end;

	*number = 0;
	if (type == SQLITE_FLOAT && is_whole(sqlite3_column_double(s, column)))
		type = SQLITE_INTEGER;
	if (type == SQLITE_INTEGER)
		*number = sqlite3_column_int64(s, column);
	if (type != SQLITE_TEXT)
		return type == SQLITE_INTEGER || (type == SQLITE_NULL && is_optional);
	text = (const char *)sqlite3_column_text(s, column);
	errno = 0;
	*number = strtoll(text, &end, 10);
	return *text && !*end && !errno;
}

static bool read_number(sqlite3_stmt *s, int column, int64_t *number)
{
	return read_any(s, column, false, number);
}

/* One that may be missing: then it is 0. */
static bool read_optional(sqlite3_stmt *s, int column, int64_t *number)
{
	return read_any(s, column, true, number);
}

/* A row of a table of events. */
struct row {
	int64_t start, process, device, context, address, bytes, kind, operation, correlation;
};

static bool read_row(const struct rows *rows, struct row *row)
{
	sqlite3_stmt *s = rows->statement;

	return read_number(s, START, &row->start) && read_number(s, PROCESS, &row->process) &&
	       read_optional(s, DEVICE, &row->device) && read_optional(s, CONTEXT, &row->context) &&
	       read_number(s, ADDRESS, &row->address) && read_optional(s, BYTES, &row->bytes) &&
	       read_optional(s, KIND, &row->kind) && read_number(s, OPERATION, &row->operation) &&
	       read_optional(s, CORRELATION, &row->correlation);
}

/* Makes an event of a row, without its stack; false when the row is invalid. */
static bool make_event(const struct reading *r, const struct rows *rows, const struct row *row,
		       struct gt_event *e)
{
	*e = (struct gt_event){
		.time_ns = time_of(r, row->start),
		.handle = (uint64_t)row->address,
		.size = (uint64_t)row->bytes,
		.function = (uint16_t)(rows->is_pool ? gt_nsys_pool_row(&r->enums, row->operation) :
						       gt_nsys_memory_row(&r->enums, row->kind,
									  row->operation)),
	};
	/* no process has pid 0, which in a trace means the whole system */
	return e->function && row->bytes >= 0 && e->handle && gt_nsys_pid(row->process);
}

/* Trimming a pool creates and destroys nothing. */
static bool is_trim(const struct reading *r, const struct rows *rows, const struct row *row)
{
	return rows->is_pool && !gt_nsys_pool_row(&r->enums, row->operation);
}

static uint32_t thread_of(const struct gt_nsys_origin *origin)
{
	const struct gt_nsys_call *call = origin->backtrace ? origin->backtrace :
					  origin->runtime   ? origin->runtime :
							      origin->driver;

	return call ? call->tid : 0;
}

/* When the call began and how long it took; NULL, or a call without an end: unknown. */
static void set_call(const struct reading *r, struct gt_event *event,
		     const struct gt_nsys_call *call)
{
	if (!call || call->end <= call->start)
		return;
	event->start_ns = time_of(r, call->start);
	event->duration_ns = (uint64_t)call->end - (uint64_t)call->start;
}

/* The call that an event was made in, and its stack. */
static int find_origin(struct reading *r, struct gt_nsys_trace *trace, const struct row *row,
		       struct gt_event *event, struct gt_nsys_origin *origin,
		       enum gt_nsys_class *class, struct gt_error *error)
{
	const struct gt_function *fn = &gt_functions[event->function];
	const struct gt_nsys_wanted wanted = { .process = trace->process,
					       .correlation = row->correlation,
					       .time = row->start,
					       .allocates = fn->effect == GT_CREATE };
	int e = 0;

	*origin = (struct gt_nsys_origin){ NULL, NULL, NULL };
	/* a static variable has no call */
	if (row->correlation || !(gt_kinds[fn->kind].habits & GT_LASTING))
		e = gt_nsys_calls_find(r->calls, &wanted, origin, error);
	set_call(r, event, gt_nsys_origin_whole(origin));
	return e ? e :
		   gt_nsys_stack(r->stacks, trace->writer, trace->number, origin, &event->stack,
				 class, error);
}

static int find_phase(struct reading *r, struct gt_nsys_trace *trace, uint32_t tid, int64_t time,
		      uint32_t *phase, struct gt_error *error)
{
	const struct gt_nsys_moment moment = { .process = trace->process,
					       .tid = tid,
					       .time = time };
	int e = gt_nsys_ranges_phase(r->ranges, &moment, trace, phase, error);

	r->import->in_phase += !!*phase;
	return e;
}

static int import_row(struct reading *r, const struct rows *rows, struct gt_error *error)
{
	const char *name = (const char *)sqlite3_column_text(rows->statement, NAME);
	struct gt_nsys_origin origin;
	struct gt_nsys_trace *trace;
	enum gt_nsys_class class;
	struct gt_event event;
	struct row row = { 0 };
	int e;

	if (!read_row(rows, &row) || !make_event(r, rows, &row, &event)) {
		r->import->skipped += !is_trim(r, rows, &row);
		return 0;
	}
	e = trace_of(r, row.process, &trace, error);
	if (!e)
		e = find_origin(r, trace, &row, &event, &origin, &class, error);
	if (!e)
		e = find_phase(r, trace, thread_of(&origin), row.start, &event.phase, error);
	if (e)
		return e;
	if (sqlite3_column_type(rows->statement, DEVICE) != SQLITE_NULL)
		event.place = place_of(r, trace, row.device);
	if (gt_functions[event.function].effect == GT_CREATE) {
		event.owner = (uint64_t)row.context;
		if (name && *name)
			gt_writer_name(trace->writer, event.time_ns, event.handle, name);
	}
	gt_nsys_trace_event(trace, thread_of(&origin), &event);
	count_event(r->import, &event, rows->is_pool, class);
	return 0;
}

static int import_failed(struct reading *r, const struct gt_nsys_call *call,
			 enum gt_function_id row, struct gt_error *error)
{
	int64_t global = (int64_t)(call->process << 24);
	struct gt_nsys_origin origin = { .backtrace = call->has_chain ? call : NULL,
					 .driver = call->class == GT_NSYS_CALL_DRIVER ? call : NULL,
					 .runtime = call };
	struct gt_event event = { .time_ns = time_of(r, call->start),
				  .function = (uint16_t)row,
				  .result = call->result,
				  .failed = true };
	struct gt_nsys_trace *trace;
	enum gt_nsys_class class;
	int e;

	if (!gt_nsys_pid(global))
		return 0;
	set_call(r, &event, call);
	e = trace_of(r, global, &trace, error);
	if (!e)
		e = gt_nsys_stack(r->stacks, trace->writer, trace->number, &origin, &event.stack,
				  &class, error);
	if (!e)
		e = find_phase(r, trace, call->tid, call->start, &event.phase, error);
	if (e)
		return e;
	gt_nsys_trace_event(trace, call->tid, &event);
	r->import->failed++;
	return 0;
}

/* The calls that failed before `time`. */
static int import_failures(struct reading *r, int64_t time, struct gt_error *error)
{
	struct gt_nsys_call call;
	enum gt_function_id row;
	int e;

	while ((e = gt_nsys_calls_failed(r->calls, time, &call, &row, error)) > 0) {
		e = import_failed(r, &call, row, error);
		if (e)
			return e;
	}
	return e;
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

		e = import_failures(r, first->start, error);
		if (!e)
			e = import_row(r, first, error);
		if (!e)
			e = next_row(r, first, error);
		if (++r->row_count % TICK_ROWS == 0 && r->import->tick)
			r->import->tick(r->row_count);
		if (r->import->stop && *r->import->stop)
			return -EINTR;
	}
	return e ? e : import_failures(r, INT64_MAX, error);
}

/* What became of the pages of unified memory. Old exports do not say of which process. */
static int import_paging(struct reading *r, struct gt_error *error)
{
	struct gt_paging paging;
	sqlite3_stmt *rows;
	int64_t global, start;
	int e = gt_nsys_paging_open(&rows, &r->database, error);

	while (!e && rows) {
		struct gt_nsys_trace *trace = gt_nsys_traces_only(r->traces);

		e = gt_nsys_paging_next(rows, &r->database, &paging, &global, &start,
					&r->import->skipped, error);
		if (e <= 0)
			break;
		e = gt_nsys_pid(global) ? trace_of(r, global, &trace, error) : 0;
		if (!e && trace) {
			paging.time_ns = time_of(r, start);
			gt_nsys_trace_paging(trace, &paging);
			r->import->paging++;
		}
	}
	sqlite3_finalize(rows);
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
	if (!e)
		e = gt_nsys_calls_new(&r->calls, &r->database, r->names, r->sorted, error);
	if (!e)
		e = gt_nsys_stacks_new(&r->stacks, &r->database, r->names, error);
	if (!e)
		e = gt_nsys_ranges_new(&r->ranges, &r->database, r->names, r->sorted, error);
	if (!e)
		e = import_rows(r, &memory, &pools, error);
	if (!e)
		e = import_paging(r, error);
	if (!e && !import->allocations && !import->frees && !import->pools)
		e = gt_nsys_count_calls(&r->database, r->names, &import->calls,
					&import->calls_by_phase, error);
	if (!e && !import->allocations && !import->frees && !import->pools && !import->failed &&
	    !import->calls && !import->paging)
		e = explain_empty(r, error);
	if (!e) {
		/* the export has no process ends: all processes last as long as the profile */
		end = gt_nsys_calls_end(r->calls) > r->last ? gt_nsys_calls_end(r->calls) : r->last;
		end = end > (int64_t)import->profile.duration_ns ?
			      end :
			      (int64_t)import->profile.duration_ns;
		import->processes = gt_nsys_traces_count(r->traces);
		import->duration_ns = end > 0 ? (uint64_t)end : 0;
		e = gt_nsys_traces_end(r->traces, time_of(r, end), error);
	}
	sqlite3_finalize(memory.statement);
	sqlite3_finalize(pools.statement);
	return e;
}

/* Reads everything once; what it made stays only if it succeeds. */
static int try_to_read(struct reading *r, bool sorted, struct gt_error *error)
{
	struct gt_nsys_import *import = r->import, before = *import;
	int e;

	r->sorted = sorted;
	r->last = INT64_MIN;
	r->traces = gt_nsys_traces_new(import->folder, r->base_ns, import->profile.start_real_ns);
	e = gt_nsys_traces_devices(r->traces, &import->profile, &r->database, error);
	if (!e)
		e = read_all(r, error);
	if (e) {
		gt_nsys_traces_remove(r->traces);
		free(import->calls);
		free(import->calls_by_phase);
		*import = before;
	}
	gt_nsys_traces_free(r->traces);
	if (r->calls)
		gt_nsys_calls_free(r->calls);
	if (r->stacks)
		gt_nsys_stacks_free(r->stacks);
	if (r->ranges)
		gt_nsys_ranges_free(r->ranges);
	r->calls = NULL;
	r->stacks = NULL;
	r->ranges = NULL;
	return e;
}

static int show_progress(void *context)
{
	const struct reading *r = context;

	if (r->import->tick)
		r->import->tick(r->row_count);
	return r->import->stop && *r->import->stop;
}

/* A view may take forever, and have rows that are not in the profile: nsys makes none. */
static int refuse_views(const struct gt_database *d, struct gt_error *error)
{
	static const char *const names[] = { MEMORY, POOLS, CALLS, "CUDA_CALLCHAINS", "StringIds" };

	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (gt_database_has_view(d, names[i]))
			return gt_error_set(error, -EINVAL,
					    "%s cannot be imported: its %s is a view, not a table; "
					    "export the profile again with `nsys export --type "
					    "sqlite`",
					    d->path, names[i]);
	return 0;
}

int gt_nsys_run(struct gt_nsys_import *import, struct gt_error *error)
{
	struct reading r = { .import = import };
	int e = gt_database_open(&r.database, import->file, error);

	if (e)
		return e;
	sqlite3_progress_handler(r.database.db, PROGRESS_STEPS, show_progress, &r);
	/* reports a damaged schema now, rather than later as missing tables */
	e = gt_database_run(&r.database, "SELECT count(*) FROM sqlite_master", error);
	if (!e)
		e = refuse_views(&r.database, error);
	if (!e)
		e = gt_nsys_traces_fit(&r.database, MEMORY, error);
	if (!e)
		e = gt_nsys_names_new(&r.names, &r.database, error);
	if (!e) {
		gt_nsys_profile_read(&import->profile, &r.database);
		r.base_ns = import->profile.start_real_ns ? import->profile.start_real_ns : BASE_NS;
		read_enums(&r);
		/* most exports are in order: to sort one that is takes longer than to read it */
		e = try_to_read(&r, false, error);
		if (e == -EAGAIN)
			e = try_to_read(&r, true, error);
	}
	if (r.names)
		gt_nsys_names_free(r.names);
	gt_database_close(&r.database);
	if (import->stop && *import->stop)
		return gt_error_set(error, -EINTR, "the import was interrupted");
	return e;
}
